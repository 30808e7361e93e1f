import os

from kit import load
from kit.fault import Fault as Base, Proof
from kit.groups import Group


class Fault(Base):
    family = "storage"
    title = "the page cache does not keep the data set any more, and the disk below is slow"
    causes = ("storage.cold_cache", "storage.throughput_ceiling")
    needs = ("cgroup.blkio",)
    least = 20_000_000

    def prepare(self, lab):
        # One slow disk all the time: as long as the cache holds the set nobody feels it.
        self.disk = Group("disk", "blkio")
        self.disk.read_limit(lab.disk, int(self.random.uniform(6e6, 9e6)))
        lab.shared_groups = self.disk.paths()

    def _records(self, lab):
        return os.open(lab.work / "data" / "records.bin", os.O_RDONLY)

    def start(self, lab):
        lab.job.set(drop=1)
        records = self._records(lab)
        os.posix_fadvise(records, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(records)

    def stop(self, lab):
        lab.job.unset("drop")
        records = self._records(lab)
        while os.read(records, 1 << 22):
            continue
        os.close(records)

    def proof(self, lab):
        return Proof("bytes that the workers read from the disk", sum(map(load.read_bytes, load.workers(lab))))
