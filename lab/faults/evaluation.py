from kit.fault import Fault as Base, Proof


class Fault(Base):
    family = "workload"
    title = "an evaluation every few steps"
    causes = ("workload.evaluation",)
    felt_every = ("evaluation_every",)
    least = 1

    def start(self, lab):
        lab.job.set(evaluation_every=self.random.randint(8, 14), evaluation_ms=450)

    def stop(self, lab):
        lab.job.unset("evaluation_every", "evaluation_ms")

    def proof(self, lab):
        return Proof("seconds that rank 0's device spent in evaluation", lab.job.device(0)["evaluation_ns"] / 1e9)
