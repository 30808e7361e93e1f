from kit import load
from kit.fault import Fault as Base, Proof


class Fault(Base):
    family = "storage"
    title = "a memory limit that the data set's pages do not fit into: they are reclaimed and read again"
    causes = ("input.memory_pressure",)
    needs = ("cgroup.memory", "cgroup.blkio")
    groups = ("memory", "blkio")
    job = {"mapped": True, "records": 512}
    least = 100

    def start(self, lab):
        for group in lab.groups:
            group.read_limit(lab.disk, 5_000_000)  # a disk, not the memory of a host below
            group.memory_limit(28 << 20)

    def stop(self, lab):
        for group in lab.groups:
            group.memory_limit(None)
            group.read_limit(lab.disk, None)

    def proof(self, lab):
        return Proof("times the limit was reached", sum(g.memory_reclaims() for g in lab.groups))
