from kit.fault import Fault as Base, Proof


class Fault(Base):
    family = "preprocessing"
    title = "a CPU quota on one rank's control group"
    causes = ("input.cpu_entitlement",)
    place = ("rank/1",)
    needs = ("cgroup.cpu",)
    groups = ("cpu",)
    job = {"transform_ms": 40}
    least = 20

    def start(self, lab):
        lab.groups[1].cpu_quota(self.random.uniform(0.16, 0.22))

    def stop(self, lab):
        if lab.groups:
            lab.groups[1].cpu_quota(None)

    def proof(self, lab):
        return Proof("nr_throttled", lab.groups[1].throttled_periods())
