
from kit import load
from kit.fault import Fault as Base, Proof

NOBODY = 65534


class Fault(Base):
    family = "contention"
    title = "programs of another user take the processors"
    causes = ("contention.cpu",)
    owner = "nobody"
    job = {"transform_ms": 36}
    needs = ("root",)
    least = 5

    def start(self, lab):
        for _ in range(4 * load.processors()):
            lab.spawn(load.spin(), user=NOBODY)

    def stop(self, lab):
        lab.end_others()

    def proof(self, lab):
        return Proof("seconds of processor time of the other user's programs", sum(load.cpu_seconds(p.pid) for p in lab.others))
