from kit.fault import Fault as Base, Proof
from kit.slow_mount import SlowMount


class Fault(Base):
    family = "storage"
    title = "many small files, and a server that got slow at opening them"
    causes = ("storage.metadata", "storage.latency")
    needs = ("fuse",)
    job = {"layout": "files", "records": 4096, "record_bytes": 8192, "batch": 16}
    least = 5

    def prepare(self, lab):
        self.mount = SlowMount(lab)

    def start(self, lab):
        self.mount.set(open_ms=self.random.uniform(25, 35))

    def stop(self, lab):
        self.mount.set()

    def proof(self, lab):
        return Proof("milliseconds that a read of the mount takes", self.mount.probe())
