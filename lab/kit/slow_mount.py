"""The data set behind lab-slowfs: a mount whose server may get slow."""
import pathlib
import subprocess
import time

from kit.fault import Fault, Proof
from kit.job import program


class SlowMount:
    def __init__(self, lab):
        self.source, self.point, self.control = lab.work / "data", lab.work / "remote", lab.work / "slow"
        for folder in (self.source, self.point):
            folder.mkdir(exist_ok=True)
        self.set()
        self.process = subprocess.Popen([program("lab-slowfs"), self.source, self.control, self.point], stderr=subprocess.DEVNULL)
        lab.others_to_the_end.append(self.process)
        until = time.monotonic() + 10
        while not self.point.is_mount():
            if time.monotonic() > until:
                raise RuntimeError("lab-slowfs did not mount")
            time.sleep(0.05)
        lab.data = self.point

    def set(self, read_ms=0.0, open_ms=0.0, bytes_per_second=0.0):
        new = pathlib.Path(str(self.control) + ".new")
        new.write_text(f"{read_ms} {open_ms} {bytes_per_second}\n")
        new.rename(self.control)

    def probe(self):
        """How long opening a file of the data set and reading a little of it takes now."""
        path = next(p for p in self.point.rglob("*.*") if p.is_file() and p.suffix != ".new")
        begin = time.monotonic()
        with open(path, "rb", buffering=0) as file:
            file.read(4096)
        return 1e3 * (time.monotonic() - begin)


class SlowMountFault(Fault):
    """A fault of the file server; `start` says which."""
    family = "storage"
    needs = ("fuse",)
    least = 5

    def prepare(self, lab):
        self.mount = SlowMount(lab)

    def stop(self, lab):
        self.mount.set()

    def proof(self, lab):
        return Proof("milliseconds that a read of the mount takes", self.mount.probe())
