from kit import load
from kit.fault import Fault as Base, Proof


class Fault(Base):
    family = "preprocessing"
    title = "no loader worker: the training thread loads"
    causes = ("input.loading_in_main_thread",)
    job = {"workers": 0, "transform_ms": 40}
    fixed = {"workers": 2}
    least = 1_000_000

    def proof(self, lab):
        return Proof("bytes that the training threads read", sum(load.read_chars(lab.job.pids(r)[0]) for r in range(2)))
