from kit.slow_mount import SlowMountFault


class Fault(SlowMountFault):
    title = "the file server behind the data set delivers fewer bytes per second"
    causes = ("storage.throughput_ceiling", "storage.latency")

    def start(self, lab):
        self.mount.set(bytes_per_second=self.random.uniform(2.5e6, 4e6))
