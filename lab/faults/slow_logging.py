from kit import load
from kit.fault import Fault as Base, Proof


class Fault(Base):
    family = "workload"
    title = "the training thread writes log lines and waits until each is on the disk"
    causes = ("workload.logging_stall",)
    place = ("rank/0",)
    least = 1_000_000

    def start(self, lab):
        lab.job.set(log_lines=self.random.randint(15, 25))

    def stop(self, lab):
        lab.job.unset("log_lines")

    def proof(self, lab):
        return Proof("bytes that rank 0 wrote", load.written_bytes(lab.job.pids(0)[0]))
