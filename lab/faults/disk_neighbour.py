from kit import load
from kit.fault import Fault as Base, Proof
from kit.groups import Group

NOBODY = 65534
READER = """
import mmap, os, random, sys
buffer = mmap.mmap(-1, 1 << 20)
file = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
size = os.fstat(file).st_size
while True:
    os.preadv(file, [buffer], random.randrange(max(1, size - (1 << 20)) >> 20) << 20)
"""


class Fault(Base):
    family = "contention"
    title = "another user's program reads from the same slow disk"
    causes = ("contention.storage",)
    owner = "nobody"
    needs = ("cgroup.blkio",)
    job = {"direct": True}
    least = 10_000_000

    def prepare(self, lab):
        # One disk of 30 MB/s for all: the machine's own is too fast to fight over.
        self.disk = Group("disk", "blkio")
        self.disk.read_limit(lab.disk, 30_000_000)
        lab.shared_groups = self.disk.paths()

    def start(self, lab):
        for _ in range(3):
            lab.spawn([load.python(), "-c", READER, lab.work / "data" / "records.bin"], user=NOBODY, group=self.disk)

    def stop(self, lab):
        lab.end_others()

    def proof(self, lab):
        return Proof("bytes that the other user's programs read", sum(load.read_bytes(p.pid) for p in lab.others))
