from kit.slow_mount import SlowMountFault


class Fault(SlowMountFault):
    title = "the file server behind the data set takes longer for every read"
    causes = ("storage.latency",)

    def start(self, lab):
        self.mount.set(read_ms=self.random.uniform(40, 60))
