"""A small training with evaluation and checkpoints; options by the environment. Knows nothing of Firstwait."""
import os
import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset

WORKERS = int(os.environ.get("WORKERS", "0"))
STEPS = int(os.environ.get("STEPS", "20"))
SLEEP = float(os.environ.get("SLEEP", "0"))
START = os.environ.get("START", "fork")


class Numbers(Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if SLEEP:
            time.sleep(SLEEP)
        return torch.randn(32), index % 4


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    options = {"multiprocessing_context": START} if WORKERS else {}
    train = DataLoader(Numbers(STEPS * 8), batch_size=8, num_workers=WORKERS, **options)
    check = DataLoader(Numbers(32), batch_size=8)
    model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4))
    frozen = torch.nn.Linear(32, 4).eval()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        model.train()
        for values, labels in train:
            optimizer.zero_grad()
            with torch.no_grad():
                frozen(values)
            loss = torch.nn.functional.cross_entropy(model(values), labels)
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            for values, _ in check:
                time.sleep(0.002)
                model(values)
        if len(sys.argv) > 1:
            torch.save(model, sys.argv[1])
    print("trained", next(model.parameters()).dtype)


if __name__ == "__main__":
    main()
