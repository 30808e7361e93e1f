"""The job under `firstwait run`: on this machine, or one `firstwait run` on each of the lab's hosts."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

from kit import device

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("FIRSTWAIT_LAB_BUILD", ROOT / "build/release"))


def program(name):
    named = os.environ.get("FIRSTWAIT") if name == "firstwait" else None
    return pathlib.Path(named).resolve() if named else BUILD / "bin" / name


def torch_python():
    """A Python that has PyTorch, or None."""
    for python in dict.fromkeys((sys.executable, "/usr/bin/python3")):
        if pathlib.Path(python).exists() and subprocess.run([python, "-c", "import torch.distributed"], capture_output=True).returncode == 0:
            return python
    return None


class Job:
    """`options` are those of lab-job; `knobs` what it is told while it runs."""

    def __init__(self, work, bundle, options, groups=(), hosts=None, name="lab", of="lab-job"):
        self.work, self.bundle, self.hosts, self.name = pathlib.Path(work), pathlib.Path(bundle), hosts, name
        self.options = dict({"data": self.work / "data", "ranks": 2, "port": 20000 + os.getpid() % 12000}, **options)
        self.emulated = of == "lab-job"  # its devices show themselves
        self.program = [program("lab-job")] if self.emulated else [torch_python(), ROOT / "lab/job/torch_ddp.py"]
        self.state = self.work / f"state-{name}"
        self.devices = self.work / f"devices-{name}"
        self.checkpoints = self.options.pop("checkpoints", self.work / f"checkpoints-{name}")
        self.groups, self.knobs, self.was_set, self.started = groups, {}, {}, []
        self.ranks = int(self.options["ranks"])

    def _words(self, more=(), devices=None):
        words = [*self.program, "--checkpoints", self.checkpoints, "--state", self.state, "--control", self.state / "control",
                 "--devices", devices or self.devices]
        for key, value in self.options.items():
            if value is False or value is None:
                continue
            words += ["--" + key.replace("_", "-")] + ([] if value is True else [value])
        if self.groups:
            words += ["--groups", ",".join(self.groups)]
        return [str(w) for w in [*words, *more]]

    def make_data(self):
        subprocess.run(self._words(["--make"]), check=True)

    def start(self):
        shutil.rmtree(self.state, ignore_errors=True)
        self.state.mkdir(parents=True)
        self._write_knobs()
        watched = [program("firstwait"), "run", "--name", self.name, "--report", self.work / "own-report"]
        log = open(self.work / f"log-{self.name}", "a")
        if self.hosts is None:
            device.make(self.devices, self.ranks if self.emulated else 0)
            commands = [(self.devices, [*watched, "--out", self.bundle, "--", *self._words()])]
        else:
            listed, commands = ",".join(self.hosts.addresses()), []
            for i, host in enumerate(self.hosts.names):
                own = self.devices / host
                device.make(own, 1)
                words = self._words(["--addresses", listed, "--rank", i], own)
                commands.append((own, self.hosts.inside(i, [*watched, "--out", self.bundle / host, "--", *words])))
        for own, command in commands:
            self.started.append(subprocess.Popen([str(w) for w in command], stdout=log, stderr=log, start_new_session=True,
                                                 env=device.environment(self.work, own, program("libfake_nvml.so"))))
        log.close()
        self.wait_for(lambda: len(list(self.state.glob("rank-*[0-9]"))) == self.ranks, 30, "the ranks did not start")

    def wait_for(self, condition, seconds, what):
        until = time.monotonic() + seconds
        while not condition():
            if any(p.poll() is not None for p in self.started):
                raise RuntimeError("the job ended: " + (self.work / f"log-{self.name}").read_text()[-500:])
            if time.monotonic() > until:
                raise RuntimeError(what)
            time.sleep(0.1)

    def set(self, **knobs):
        self.knobs.update(knobs)
        self.was_set.update(knobs)
        self._write_knobs()

    def set_for(self, rank, **knobs):
        self.set(**{f"{key}@{rank}": value for key, value in knobs.items()})

    def unset(self, *names):
        for name in names:
            self.knobs.pop(name, None)
        self._write_knobs()

    def _write_knobs(self):
        new = self.state / "control.new"
        new.write_text("".join(f"{key} {value}\n" for key, value in self.knobs.items()))
        new.rename(self.state / "control")

    def pids(self, rank):
        """The trainer first, then its loader workers."""
        return [int(word) for word in (self.state / f"rank-{rank}").read_text().split()]

    def device(self, rank):
        """What the rank's emulated accelerator says of itself."""
        return device.read(self.devices / str(rank) if self.hosts is None else self.devices / self.hosts.names[rank] / "0")

    def busy_seconds(self, rank):
        return self.device(rank)["busy_ns"] / 1e9

    def step_files(self):
        return [self.bundle / "steps.jsonl"] if self.hosts is None else \
            [self.bundle / host / "steps.jsonl" for host in self.hosts.names]

    def steps(self, rank=0):
        """(start, duration, step number) of a rank's steps until now."""
        rows = []
        for path in self.step_files():
            if not path.exists():
                continue
            for line in path.read_text().splitlines():
                try:
                    row = json.loads(line)
                except ValueError:
                    continue  # being written
                if row["rank"] == rank and row.get("kind") != "warmup":
                    rows.append((row["start"], row["duration"], row["step"]))
        return sorted(rows)

    def check(self):
        for p in self.started:
            if p.poll() is not None:
                raise RuntimeError("the job ended: " + (self.work / f"log-{self.name}").read_text()[-500:])

    def stop(self):
        if any(p.poll() is None for p in self.started):
            self.set(stop=1)
        for p in self.started:
            try:
                p.wait(timeout=20)
            except subprocess.TimeoutExpired:
                os.killpg(p.pid, signal.SIGTERM)
                p.wait(timeout=10)
        self.started = []
