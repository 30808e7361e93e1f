"""What a fault is. Each lies in a file of its own in lab/faults, as a class `Fault`; its name is that of the file."""
import collections
import threading

# A counter of the kernel, or another fact that the fault cannot leave as it was.
Proof = collections.namedtuple("Proof", "name value")


class Void(Exception):
    """The fault did not take effect: the scenario says nothing. A proof may raise it too."""


class Fault:
    family = ""          # of the seven steps of the checklist
    title = ""           # what is done
    causes = ()          # any of these as the first finding is right; none: nothing may be accused
    place = ()           # any of these among its places is right; none: the job as a whole
    needs = ()           # names in kit.probe
    hosts = 0            # 0: this machine; else so many namespaces
    groups = ()          # controllers of the ranks' control groups
    program = "lab-job"  # or "torch": lab/job/torch_ddp.py
    job = {}             # options of lab-job beyond the usual
    fixed = None         # a fault from the start: the options that mend it, for a second run
    felt_every = ()      # options and knobs that say every how many steps it acts
    sizes = ()           # numbers of ranks at which the throughput is measured first, without Firstwait's say
    owner = None         # whose fault it is, where it is somebody else's
    least = 1            # by which the proof must grow while the fault is there

    def __init__(self, random):
        self.random = random

    def prepare(self, lab):
        """Before the job starts."""

    def start(self, lab):
        """Makes the fault."""

    def stop(self, lab):
        """Takes it away; may run although `start` did not."""

    def proof(self, lab):
        """A Proof: read before the fault and at its end."""
        raise NotImplementedError


class Repeating(Fault):
    """A fault that acts again and again, in a thread of its own, until it is taken away."""

    def __init__(self, random):
        super().__init__(random)
        self.ending, self.thread = threading.Event(), None

    def turn(self, lab):
        """Acts once; waits with self.ending.wait, which says true when it is over."""
        raise NotImplementedError

    def undo(self, lab):
        """After the last turn."""

    def start(self, lab):
        def run():
            while not self.ending.is_set():
                self.turn(lab)
        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()

    def stop(self, lab):
        self.ending.set()
        if self.thread:
            self.thread.join()
            self.thread = None
            self.undo(lab)
