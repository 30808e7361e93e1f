#!/usr/bin/env python3
"""A small image-classification job whose input pipeline decides its speed. Used to record the demo's traces.

Each sample is a JPEG that is decoded, resized and augmented in Python, as many real jobs do; the network is small. With
--workers 0 the training thread does that itself; with workers it only waits when they fall behind.
"""
import argparse
import io
import os
import random
import tempfile

import numpy
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset


class Jpegs(Dataset):
    """Random JPEG files in a folder, written on first use."""

    def __init__(self, folder, count, side):
        self.paths = [os.path.join(folder, f"{i:04d}.jpg") for i in range(count)]
        rng = numpy.random.default_rng(1)
        for path in self.paths:
            if not os.path.exists(path):
                coarse = rng.integers(0, 255, (side // 16, side // 16, 3), dtype=numpy.uint8)
                Image.fromarray(coarse).resize((side, side), Image.BICUBIC).save(path, quality=90)

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        with open(self.paths[index], "rb") as file:
            image = Image.open(io.BytesIO(file.read())).convert("RGB")
        image = image.resize((96, 96), Image.BICUBIC)
        if random.random() < 0.5:
            image = image.transpose(Image.FLIP_LEFT_RIGHT)
        pixels = torch.from_numpy(numpy.asarray(image, dtype=numpy.float32).transpose(2, 0, 1).copy())
        return (pixels - 127.5) / 64.0, index % 10


def network():
    layers = torch.nn
    return layers.Sequential(
        layers.Conv2d(3, 16, 5, stride=2), layers.ReLU(), layers.Conv2d(16, 32, 3, stride=2), layers.ReLU(),
        layers.Conv2d(32, 64, 3, stride=2), layers.ReLU(), layers.AdaptiveAvgPool2d(4), layers.Flatten(),
        layers.Linear(1024, 256), layers.ReLU(), layers.Linear(256, 10))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--trace", required=True, help="where the profiler's trace goes")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    random.seed(1)
    with tempfile.TemporaryDirectory() as folder:
        data = Jpegs(folder, 256, 384)
        loader = DataLoader(data, batch_size=args.batch, shuffle=True, num_workers=args.workers,
                            persistent_workers=args.workers > 0, drop_last=True)
        model = network()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
        loss_of = torch.nn.CrossEntropyLoss()

        def steps(count):
            done = 0
            while done < count:
                for images, labels in loader:
                    optimizer.zero_grad()
                    loss = loss_of(model(images), labels)
                    loss.backward()
                    optimizer.step()
                    done += 1
                    if done == count:
                        return

        steps(args.warmup)
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
            steps(args.steps)
        profile.export_chrome_trace(args.trace)


if __name__ == "__main__":
    main()
