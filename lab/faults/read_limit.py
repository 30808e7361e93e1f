from kit import load
from kit.fault import Fault as Base, Proof


class Fault(Base):
    family = "storage"
    title = "a limit on the bytes per second that the job may read from the disk"
    causes = ("storage.throughput_ceiling",)
    needs = ("cgroup.blkio",)
    groups = ("blkio",)
    job = {"direct": True}
    least = 2

    def start(self, lab):
        limit = int(self.random.uniform(3.0e6, 4.0e6))
        for group in lab.groups:
            group.read_limit(lab.disk, limit)

    def stop(self, lab):
        for group in lab.groups:
            group.read_limit(lab.disk, None)

    def proof(self, lab):
        return Proof("seconds in which tasks waited for the disk (pressure)", load.pressure("io"))
