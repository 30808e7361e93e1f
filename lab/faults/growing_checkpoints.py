import threading

from kit.fault import Fault as Base, Proof
from kit.load import written_bytes


class Fault(Base):
    family = "workload"
    title = "checkpoints grow with every save"
    causes = ("workload.checkpoint_growth", "workload.checkpoint_stall")
    job = {"checkpoint_every": 10, "checkpoint_mb": 10}
    least = 100_000_000

    def __init__(self, random):
        super().__init__(random)
        self.ending, self.thread = threading.Event(), None

    def start(self, lab):
        def run():
            size = 10
            while not self.ending.wait(0.7):
                size *= 1.18
                lab.job.set(checkpoint_mb=min(size, 800))
        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()

    def stop(self, lab):
        self.ending.set()
        if self.thread:
            self.thread.join()
            self.thread = None
            lab.job.unset("checkpoint_mb")

    def proof(self, lab):
        return Proof("bytes that rank 0 wrote", written_bytes(lab.job.pids(0)[0]))
