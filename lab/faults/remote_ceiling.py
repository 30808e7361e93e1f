from kit.fault import Fault as Base, Proof
from kit.slow_mount import SlowMount


class Fault(Base):
    family = "storage"
    title = "the file server behind the data set delivers fewer bytes per second"
    causes = ("storage.throughput_ceiling", "storage.latency")
    needs = ("fuse",)
    least = 5

    def prepare(self, lab):
        self.mount = SlowMount(lab)

    def start(self, lab):
        self.mount.set(bytes_per_second=self.random.uniform(2.5e6, 4e6))

    def stop(self, lab):
        self.mount.set()

    def proof(self, lab):
        return Proof("milliseconds that a read of the mount takes", self.mount.probe())
