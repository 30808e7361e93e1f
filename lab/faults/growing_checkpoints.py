from kit.fault import Proof, Repeating
from kit.load import written_bytes


class Fault(Repeating):
    family = "workload"
    title = "checkpoints grow with every save"
    causes = ("workload.checkpoint_growth", "workload.checkpoint_stall")
    job = {"checkpoint_every": 10, "checkpoint_mb": 10}
    felt_every = ("checkpoint_every",)
    least = 100_000_000

    size = 10

    def turn(self, lab):
        if not self.ending.wait(0.7):
            self.size *= 1.18
            lab.job.set(checkpoint_mb=min(self.size, 800))

    def undo(self, lab):
        lab.job.unset("checkpoint_mb")

    def proof(self, lab):
        return Proof("bytes that rank 0 wrote", written_bytes(lab.job.pids(0)[0]))
