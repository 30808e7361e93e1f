from kit import load
from kit.fault import Fault as Base, Proof


class Fault(Base):
    family = "preprocessing"
    title = "real PyTorch: the data set's transforms get so heavy that all processors are busy with them"
    causes = ("input.cpu_saturated",)
    needs = ("torch",)
    program = "torch"
    job = {"ranks": 2, "workers": 2, "transform_ms": 5}
    least = 5

    def start(self, lab):
        lab.job.set(transform_ms=60 * load.processors())

    def stop(self, lab):
        lab.job.unset("transform_ms")

    def proof(self, lab):
        return Proof("seconds of processor time of the loader workers", load.workers_cpu(lab))
