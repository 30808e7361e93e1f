import os

from faults import warm_cache
from kit import load
from kit.fault import Proof


class Fault(warm_cache.Fault):
    family = "storage"
    title = "the page cache does not keep the data set any more, and the disk below is slow"
    causes = ("storage.cold_cache", "storage.throughput_ceiling")
    least = 20_000_000

    def _records(self, lab):
        return os.open(lab.work / "data" / "records.bin", os.O_RDONLY)

    def start(self, lab):
        super().start(lab)
        lab.job.set(drop=1)
        records = self._records(lab)
        os.posix_fadvise(records, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(records)

    def stop(self, lab):
        super().stop(lab)
        lab.job.unset("drop")
        records = self._records(lab)
        while os.read(records, 1 << 22):
            continue
        os.close(records)

    def proof(self, lab):
        return Proof("bytes that the workers read from the disk", sum(map(load.read_bytes, load.workers(lab))))
