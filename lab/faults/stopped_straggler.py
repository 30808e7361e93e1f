import os
import signal
import threading

from kit import load
from kit.fault import Fault as Base, Proof


class Fault(Base):
    family = "workers"
    title = "the training process of one rank is stopped again and again (SIGSTOP)"
    causes = ("sync.straggler", "gpu.slow_device")
    place = ("rank/1",)
    job = {"ranks": 3, "workers": 1}
    least = 20

    def __init__(self, random):
        super().__init__(random)
        self.stops, self.ending, self.thread = 0, threading.Event(), None

    def start(self, lab):
        pid = lab.job.pids(1)[0]

        def run():
            while not self.ending.wait(0.1):
                os.kill(pid, signal.SIGSTOP)
                self.stops += 1
                self.ending.wait(0.15)
                os.kill(pid, signal.SIGCONT)
        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()

    def stop(self, lab):
        self.ending.set()
        if self.thread:
            self.thread.join()
            self.thread = None

    def proof(self, lab):
        return Proof("times the process was stopped", self.stops)
