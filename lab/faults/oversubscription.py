from kit import load
from kit.fault import Fault as Base, Proof


class Fault(Base):
    family = "preprocessing"
    title = "every loader worker computes with far more threads than there are processors"
    causes = ("input.thread_oversubscription",)
    job = {"transform_ms": 8, "ranks": 2, "workers": 2}
    least = 5

    def start(self, lab):
        lab.job.set(transform_threads=8 * load.processors())

    def stop(self, lab):
        lab.job.unset("transform_threads")

    def proof(self, lab):
        return Proof("seconds of processor time of the loader workers", load.workers_cpu(lab))
