from kit import load
from kit.fault import Fault as Base, Proof


class Fault(Base):
    family = "storage"
    title = "a limit on the reads per second of the job, which reads small records"
    causes = ("storage.iops_ceiling",)
    needs = ("cgroup.blkio",)
    groups = ("blkio",)
    job = {"direct": True, "record_bytes": 8192, "batch": 16, "records": 4096}
    least = 2

    def start(self, lab):
        for group in lab.groups:
            group.read_limit(lab.disk, None, int(self.random.uniform(55, 80)))

    def stop(self, lab):
        for group in lab.groups:
            group.read_limit(lab.disk, None)

    def proof(self, lab):
        return Proof("seconds in which tasks waited for the disk (pressure)", load.pressure("io"))
