import os

from kit import load
from kit.fault import Fault as Base, Proof


class Fault(Base):
    family = "preprocessing"
    title = "all processes of the job are pinned to one processor"
    causes = ("input.cpu_entitlement",)
    needs = ("two processors",)
    job = {"transform_ms": 36}
    least = 1

    def _pin(self, lab, processors):
        for rank in range(lab.job.ranks):
            for pid in lab.job.pids(rank):
                for thread in os.listdir(f"/proc/{pid}/task"):
                    os.sched_setaffinity(int(thread), processors)

    def start(self, lab):
        self._pin(lab, {min(os.sched_getaffinity(0))})

    def stop(self, lab):
        if lab.job and lab.job.started:
            self._pin(lab, os.sched_getaffinity(0))

    def proof(self, lab):
        pinned = sum(1 for pid in load.workers(lab) if len(os.sched_getaffinity(pid)) == 1)
        return Proof("workers with one processor in their mask", pinned)
