from kit import load
from kit.fault import Fault as Base, Proof


class Fault(Base):
    family = "workload"
    title = "the disk that checkpoints go to gets slow"
    causes = ("workload.checkpoint_stall", "storage.throughput_ceiling")
    place = ("rank/0",)
    needs = ("cgroup.blkio",)
    groups = ("blkio",)
    job = {"checkpoint_every": 20, "checkpoint_mb": 24}
    felt_every = ("checkpoint_every",)
    least = 2

    def start(self, lab):
        for group in lab.groups:
            group.write_limit(lab.disk, int(self.random.uniform(18e6, 26e6)))

    def stop(self, lab):
        for group in lab.groups:
            group.write_limit(lab.disk, None)

    def proof(self, lab):
        return Proof("seconds in which tasks waited for the disk (pressure)", load.pressure("io"))
