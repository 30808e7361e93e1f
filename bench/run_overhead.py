#!/usr/bin/env python3
"""What the hooks of `firstwait run` cost a real PyTorch training on the CPU.

Usage: bench/run_overhead.py PROGRAM [PAIRS], PROGRAM being the firstwait to run under (build/bench/bin/firstwait).

Within one process the hooks are taken away and put back in pairs of blocks, in random order within each pair. Reported are the
change in throughput with its 95 % interval (bootstrap over pairs; wall time, so it widens on a busy machine), and the hooks' own
processor time: measured on the same loop with tensors so small that the hooks show, and set against the processor time of a real
step."""
import os
import random
import statistics
import sys
import time


def under_firstwait():
    program = os.path.abspath(sys.argv[1])
    out = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"run-overhead-{os.getpid()}")
    os.execv(program, [program, "run", "--out", out, "--report", os.devnull, "--", sys.executable, __file__, *sys.argv[1:]])


def training(width, batch):
    """One step after the other; twelve layers, a loader in the training thread, as many hooks whatever the width."""
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset
    data = TensorDataset(torch.randn(batch * 64, width), torch.randint(0, 10, (batch * 64,)))
    loader = DataLoader(data, batch_size=batch, shuffle=True)
    layers = [m for _ in range(6) for m in (nn.Linear(width, width), nn.ReLU())]
    model = nn.Sequential(*layers, nn.Linear(width, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loss_of = nn.CrossEntropyLoss()
    while True:
        for values, labels in loader:
            optimizer.zero_grad()
            loss_of(model(values), labels).backward()
            optimizer.step()
            yield


def pairs(steps, count, block, clock, switch):
    """For each pair of blocks the time of a step with the hooks and without, and the order by chance."""
    result = []
    for _ in range(count):
        times = {}
        for on in random.sample((True, False), 2):
            switch(on)
            next(steps)  # the first step behind the switch refills caches
            start = clock()
            for _ in range(block):
                next(steps)
            times[on] = (clock() - start) / block
        result.append((times[True], times[False]))
    switch(True)
    return result


def quarter(blocks, which):
    return statistics.quantiles([b[which] for b in blocks], n=4)[0]


def interval(changes, rounds=2000):
    means = sorted(statistics.median(random.choices(changes, k=len(changes))) for _ in range(rounds))
    return means[int(0.025 * rounds)], means[int(0.975 * rounds)]


def main():
    if "FIRSTWAIT_DIR" not in os.environ:
        under_firstwait()
    import torch
    from firstwait.hooks import state
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 400
    random.seed(1)
    torch.manual_seed(1)
    torch.set_num_threads(1)
    real, tiny = training(512, 256), training(2, 2)
    for _ in range(20):
        next(real), next(tiny)
    wall = pairs(real, count, 4, time.perf_counter, state.switch)
    changes = [off / on - 1 for on, off in wall]  # of throughput
    low, high = interval(changes)
    print(f"throughput with hooks: {statistics.median(changes):+.3%} [{low:+.3%}, {high:+.3%}], {2 * count} blocks of 4 steps, "
          f"{statistics.median(off for _, off in wall) * 1e3:.2f} ms a step")
    cpu = pairs(tiny, count // 2, 100, time.thread_time, state.switch)
    # Others on the machine only ever add: the fastest quarter of the blocks tells what the code takes.
    cost = quarter(cpu, 0) - quarter(cpu, 1)
    rounds = sorted(quarter(again, 0) - quarter(again, 1)
                    for again in (random.choices(cpu, k=len(cpu)) for _ in range(500)))
    low, high = rounds[12], rounds[487]
    start = time.process_time()
    for _ in range(100):
        next(real)
    step = (time.process_time() - start) / 100
    print(f"the hooks' own processor time: {cost * 1e6:.1f} us a step [{low * 1e6:.1f}, {high * 1e6:.1f}], "
          f"{cost / step:.3%} of a step of {step * 1e3:.2f} ms   goal: 0.4 %")


if __name__ == "__main__":
    main()
