from kit.fault import Fault as Base, Proof
from kit.slow_mount import SlowMount


class Fault(Base):
    family = "storage"
    title = "the file server behind the data set takes longer for every read"
    causes = ("storage.latency",)
    needs = ("fuse",)
    least = 5

    def prepare(self, lab):
        self.mount = SlowMount(lab)

    def start(self, lab):
        self.mount.set(read_ms=self.random.uniform(40, 60))

    def stop(self, lab):
        self.mount.set()

    def proof(self, lab):
        return Proof("milliseconds that a read of the mount takes", self.mount.probe())
