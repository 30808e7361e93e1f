from faults import evaluation, slow_device
from kit.fault import Fault as Base, Proof


class Fault(Base):
    family = "two"
    title = "one rank's device gets hot and evaluations become frequent, at once"
    causes = ("gpu.thermal_throttle", "workload.evaluation")
    job = {"ranks": 3, "workers": 1}
    least = 1

    def __init__(self, random):
        super().__init__(random)
        self.parts = [slow_device.Fault(random), evaluation.Fault(random)]
        self.first = None

    def start(self, lab):
        for part in self.parts:
            part.start(lab)

    def stop(self, lab):
        for part in self.parts:
            part.stop(lab)

    def proof(self, lab):
        now = [part.proof(lab).value for part in self.parts]
        self.first = self.first or now
        moved = min((n - f) / part.least for n, f, part in zip(now, self.first, self.parts))
        return Proof("times the least of each fault's own counter", moved)
