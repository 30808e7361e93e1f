import os
import signal
import threading

from kit.fault import Fault as Base, Proof


class Fault(Base):
    family = "workers"
    title = "the training process of one rank is stopped several times in each step (SIGSTOP)"
    running, stopped = 0.03, 0.03
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
            while not self.ending.wait(self.running):
                os.kill(pid, signal.SIGSTOP)
                self.stops += 1
                self.ending.wait(self.stopped)
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
