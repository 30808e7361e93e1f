from kit import load
from kit.fault import Fault as Base, Proof


class Fault(Base):
    family = "control"
    title = "the same read limit, but the data set is in the page cache: no effect"
    needs = ("cgroup.blkio",)
    groups = ("blkio",)
    job = {"direct": False}

    def start(self, lab):
        for group in lab.groups:
            group.read_limit(lab.disk, 3_500_000)
        self.limited = True

    def stop(self, lab):
        for group in lab.groups:
            group.read_limit(lab.disk, None)

    def proof(self, lab):
        return Proof("a read limit is set", 1 if getattr(self, "limited", False) else 0)
