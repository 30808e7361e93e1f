from faults import slow_device


class Fault(slow_device.Fault):
    title = "the same work takes longer on one rank's emulated accelerator, whose clock and heat are as they should be"
    causes = ("gpu.slow_device", "sync.straggler")

    def start(self, lab):
        lab.job.set_for(2, compute_ms=60 * self.random.uniform(1.35, 1.7))

    def stop(self, lab):
        lab.job.unset("compute_ms@2")
