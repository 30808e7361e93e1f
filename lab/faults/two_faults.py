from faults import evaluation, slow_device
from kit.fault import Fault as Base, Proof


class Fault(Base):
    family = "two"
    title = "one rank's device gets slower and evaluations become frequent, at once"
    causes = ("gpu.slow_device", "sync.straggler", "workload.evaluation")
    job = {"ranks": 3, "workers": 1}
    least = 2

    def __init__(self, random):
        super().__init__(random)
        self.parts = [slow_device.Fault(random), evaluation.Fault(random)]

    def start(self, lab):
        for part in self.parts:
            part.start(lab)

    def stop(self, lab):
        for part in self.parts:
            part.stop(lab)

    def proof(self, lab):
        return Proof("faults that are on", sum(part.proof(lab).value for part in self.parts))
