"""A realism check: what lab-job is, in real PyTorch. DistributedDataParallel over gloo, a DataLoader with worker processes, hooks and
all; only the accelerator is a timed wait inside the model. Knows nothing of Firstwait. Its options are lab-job's as far as it has them."""
import argparse
import os
import pathlib
import signal
import subprocess
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
RECORD = 64 << 10


def arguments():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for name, kind, usual in (("ranks", int, 2), ("port", int, 29500), ("records", int, 512), ("batch", int, 4), ("workers", int, 1),
                              ("transform-ms", float, 6), ("compute-ms", float, 60), ("data", pathlib.Path, None),
                              ("state", pathlib.Path, None), ("control", pathlib.Path, None)):
        parser.add_argument("--" + name, type=kind, default=usual)
    parser.add_argument("--make", action="store_true")
    return parser.parse_known_args()[0]


def make(options):
    options.data.mkdir(parents=True, exist_ok=True)
    with open(options.data / "torch.bin", "wb") as file:
        for _ in range(options.records):
            file.write(os.urandom(RECORD))


def launch(options):
    """torchrun is not in Debian's package."""
    shared = dict(os.environ, WORLD_SIZE=str(options.ranks), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(options.port))
    ranks = [subprocess.Popen([sys.executable, *sys.argv], env=dict(shared, RANK=str(r), LOCAL_RANK=str(r)))
             for r in range(options.ranks)]
    signal.signal(signal.SIGTERM, lambda *_: [r.kill() for r in ranks])
    return max(r.wait() for r in ranks)


class Knobs:
    def __init__(self, options):
        self.path, self.seen, self.values = options.control, None, {}
        self.usual = {"transform_ms": options.transform_ms, "compute_ms": options.compute_ms}

    def __getitem__(self, name):
        changed = self.path.stat().st_mtime_ns
        if changed != self.seen:
            self.seen = changed
            self.values = {words[0]: float(words[1]) for words in map(str.split, self.path.read_text().splitlines())}
        return self.values.get(name, self.usual.get(name, 0))


def train(options):
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.utils.data import DataLoader, Dataset

    class Records(Dataset):
        def __init__(self):
            self.knobs, self.file = Knobs(options), None

        def __len__(self):
            return 10_000_000  # one epoch: the job ends when it is told to

        def __getitem__(self, index):
            if self.file is None:
                self.file = os.open(options.data / "torch.bin", os.O_RDONLY)
            record = os.pread(self.file, RECORD, index * 37 % options.records * RECORD)
            values = torch.frombuffer(bytearray(record), dtype=torch.uint8).float()
            until = time.thread_time() + self.knobs["transform_ms"] / 1e3 / options.batch
            while time.thread_time() < until:
                values = values.mul_(1.01).clamp_(0, 255)
            return values.reshape(64, -1).mean(1), index % 10

    class Accelerator(nn.Module):
        def forward(self, x):
            time.sleep(knobs["compute_ms"] / 1e3)
            return x

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    knobs = Knobs(options)
    model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(64, 512), nn.ReLU(), Accelerator(), nn.Linear(512, 10)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batches = iter(DataLoader(Records(), batch_size=options.batch, num_workers=options.workers, persistent_workers=options.workers > 0))
    own = options.state / f"rank-{dist.get_rank()}"
    new = own.with_suffix(".new")
    new.write_text(" ".join(str(pid) for pid in (os.getpid(), *(w.pid for w in batches._workers))))
    new.rename(own)
    ending = torch.zeros(1)
    while True:
        values, labels = next(batches)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(values), labels).backward()
        optimizer.step()
        ending.fill_(knobs["stop"])
        dist.all_reduce(ending)  # all ranks end with the same step
        if ending.item() > 0:
            return


if __name__ == "__main__":
    told = arguments()
    if told.make:
        make(told)
    elif "RANK" in os.environ:
        train(told)
    else:
        sys.exit(launch(told))
