from kit.fault import Fault as Base, Proof

HOT = (0x20, 0x48)  # NVML: software thermal slowdown; hardware slowdown for heat


class Fault(Base):
    family = "physical"
    title = "the emulated accelerator of one rank gets hot, and its clock is held down"
    causes = ("gpu.thermal_throttle",)
    place = ("rank/2",)
    job = {"ranks": 3, "workers": 1}
    least = 1

    def start(self, lab):
        lab.job.set_for(2, device_clock=1 / self.random.uniform(1.35, 1.7), device_reasons=self.random.choice(HOT))

    def stop(self, lab):
        lab.job.unset("device_clock@2", "device_reasons@2")

    def proof(self, lab):
        # In the same steps.
        return Proof("seconds that rank 2's device was busy beyond rank 0's", lab.job.busy_seconds(2) - lab.job.busy_seconds(0))
