from kit.fault import Fault as Base, Proof


class Fault(Base):
    family = "physical"
    title = "the emulated accelerator of one rank gets slower"
    causes = ("gpu.slow_device", "sync.straggler")
    place = ("rank/2",)
    job = {"ranks": 3, "workers": 1}
    least = 1

    def start(self, lab):
        self.factor = self.random.uniform(1.35, 1.7)
        lab.job.set_for(2, compute_ms=60 * self.factor)

    def stop(self, lab):
        lab.job.unset("compute_ms@2")

    def proof(self, lab):
        return Proof("rank 2's device is slower", 1 if "compute_ms@2" in lab.job.knobs else 0)
