"""What a fault is. Each lies in a file of its own in lab/faults, as a class `Fault`; its name is that of the file."""
import collections

# A counter of the kernel, or another fact that the fault cannot leave as it was.
Proof = collections.namedtuple("Proof", "name value")


class Fault:
    family = ""          # of the seven steps of the checklist
    title = ""           # what is done
    causes = ()          # any of these as the first finding is right; none: nothing may be accused
    place = ()           # any of these among its places is right; none: the job as a whole
    needs = ()           # names in kit.probe
    hosts = 0            # 0: this machine; else so many namespaces
    groups = ()          # controllers of the ranks' control groups
    job = {}             # options of lab-job beyond the usual
    fixed = None         # a fault from the start: the options that mend it, for a second run
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
