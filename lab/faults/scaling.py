import math

from kit import load
from kit.fault import Fault as Base, Proof

CPU_MS = 18 * load.processors()  # of each batch: two ranks use about 60 % of the processors, eight would need 240 %


class Fault(Base):
    family = "preprocessing"
    title = "2, 4 and 8 ranks on the same processors, which are enough for 2"
    causes = ("input.cpu_saturated", "workload.scaling_limit")
    job = {"ranks": 8, "workers": math.ceil(CPU_MS / 50), "transform_ms": CPU_MS}
    sizes = (2, 4)
    fixed = {"transform_ms": 2}
    least = 5

    def proof(self, lab):
        return Proof("seconds in which tasks waited for a processor (pressure)", load.pressure("cpu"))
