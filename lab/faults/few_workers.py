from kit import load
from kit.fault import Fault as Base, Proof


class Fault(Base):
    family = "preprocessing"
    title = "one loader worker where the job needs more, and a processor is free"
    causes = ("input.loader_underprovisioned",)
    needs = ("two processors",)
    job = {"ranks": 1, "workers": 1, "transform_ms": 110, "compute_ms": 60}
    fixed = {"workers": 2}
    least = 10

    def proof(self, lab):
        return Proof("seconds of processor time of the only worker", load.workers_cpu(lab))
