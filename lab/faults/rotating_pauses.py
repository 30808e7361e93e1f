from kit import load
from kit.fault import Fault as Base, Proof


class Fault(Base):
    family = "workload"
    title = "garbage collection stops one rank after the other"
    causes = ("workload.gc_pause", "sync.rotating_straggler")
    job = {"ranks": 3, "workers": 1, "transform_ms": 3}
    felt_every = ("gc_every",)
    least = 2

    def start(self, lab):
        lab.job.set(gc_ms=self.random.uniform(80, 120), gc_every=3)

    def stop(self, lab):
        lab.job.unset("gc_ms", "gc_every")

    def proof(self, lab):
        return Proof("seconds of processor time of the training threads", sum(load.cpu_seconds(lab.job.pids(r)[0]) for r in range(3)))
