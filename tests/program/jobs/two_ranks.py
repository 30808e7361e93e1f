"""Data-parallel training over gloo; one rank has the fault that is asked for. Knows nothing of Firstwait."""
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, Dataset

FAULT, STEPS = sys.argv[1], int(sys.argv[2])


class Numbers(Dataset):
    def __init__(self, slow):
        self.slow = slow

    def __len__(self):
        return STEPS * 8

    def __getitem__(self, index):
        if self.slow:
            time.sleep(0.012)
        return torch.randn(64), index % 10


class Slow(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x.clone()

    @staticmethod
    def backward(context, gradient):
        time.sleep(0.08)
        return gradient


class Net(nn.Module):
    def __init__(self, slow):
        super().__init__()
        self.first, self.second, self.slow = nn.Linear(64, 256), nn.Linear(256, 10), slow

    def forward(self, x):
        x = torch.relu(self.first(x))
        return self.second(Slow.apply(x) if self.slow else x)


def main():
    dist.init_process_group("gloo")
    late = dist.get_rank() == 1
    torch.set_num_threads(1)
    model = nn.parallel.DistributedDataParallel(Net(late and FAULT == "backward"))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for values, labels in DataLoader(Numbers(late and FAULT == "loader"), batch_size=8, num_workers=1):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(values), labels).backward()
        optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    if "RANK" in os.environ:
        main()
    else:  # its own launcher: torchrun is not in Debian's package
        import socket
        import subprocess
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        base = dict(os.environ, WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
        ranks = [subprocess.Popen([sys.executable, *sys.argv], env=dict(base, RANK=str(r), LOCAL_RANK=str(r))) for r in (0, 1)]
        sys.exit(max(r.wait() for r in ranks))
