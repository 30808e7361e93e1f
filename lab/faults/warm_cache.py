from kit import load
from kit.fault import Fault as Base, Proof, Void


class Fault(Base):
    family = "control"
    title = "the same read limit, but the data set is in the page cache: no effect"
    needs = ("cgroup.blkio",)
    groups = ("blkio",)
    job = {"direct": False}
    least = 50_000_000
    first = None

    def start(self, lab):
        for group in lab.groups:
            group.read_limit(lab.disk, 3_500_000)

    def stop(self, lab):
        for group in lab.groups:
            group.read_limit(lab.disk, None)

    def proof(self, lab):
        read, disk = (sum(map(count, load.workers(lab))) for count in (load.read_chars, load.read_bytes))
        self.first = (read, disk) if self.first is None else self.first
        if disk - self.first[1] > 0.02 * (read - self.first[0]):  # the kernel drops a page now and then
            raise Void(f"{disk - self.first[1]} bytes came from the disk: the data set is not in the page cache")
        return Proof("bytes that the workers read while the disk gave hardly any", read)
