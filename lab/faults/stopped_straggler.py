import os
import signal

from kit.fault import Proof, Repeating


class Fault(Repeating):
    family = "workers"
    title = "the training process of one rank is stopped several times in each step (SIGSTOP)"
    running, stopped = 0.03, 0.03
    causes = ("sync.straggler", "gpu.slow_device")
    place = ("rank/1",)
    job = {"ranks": 3, "workers": 1}
    least = 20

    stops = 0

    def start(self, lab):
        self.pid = lab.job.pids(1)[0]
        super().start(lab)

    def turn(self, lab):
        if self.ending.wait(self.running):
            return
        os.kill(self.pid, signal.SIGSTOP)
        self.stops += 1
        self.ending.wait(self.stopped)
        os.kill(self.pid, signal.SIGCONT)

    def proof(self, lab):
        return Proof("times the process was stopped", self.stops)
