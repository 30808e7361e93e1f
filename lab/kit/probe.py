"""What this machine permits. A scenario that needs more is skipped, with the reason that stands here."""
import os
import pathlib
import shutil
import subprocess

from kit.groups import hierarchy
from kit.machine import WORK


def _root():
    return None if os.geteuid() == 0 else "needs root"


def _program(name):
    return None if shutil.which(name) else f"{name} is not installed"


def _group(controller):
    found = hierarchy(controller)
    if found is None:
        return f"no control group controller {controller}"
    return None if os.access(found[0], os.W_OK) else f"{found[0]} cannot be written"


def _namespaces():
    missing = _root() or _program("ip") or _program("unshare")
    if missing:
        return missing
    tried = subprocess.run(["unshare", "--net", "--mount", "--uts", "true"], capture_output=True, text=True)
    return None if tried.returncode == 0 else "no namespaces: " + tried.stderr.strip()


def _disk():
    return None if disk_of(WORK) else f"{WORK} is on no block device"


def disk_of(path):
    """MAJOR:MINOR of the whole disk under a path, or None."""
    number = os.stat(path).st_dev
    at = pathlib.Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    if not at.exists():
        return None
    if (at / "partition").exists():
        at = at.resolve().parent
    return (at / "dev").read_text().strip()


def _qdisc(kind):
    missing = _namespaces() or _program("tc")
    if missing:
        return missing
    tried = subprocess.run(["unshare", "--net", "sh", "-c", f"ip link set lo up; tc qdisc add dev lo root {kind}"],
                           capture_output=True, text=True)
    return None if tried.returncode == 0 else f"no queueing discipline {kind.split()[0]}: {tried.stderr.strip()}"


def _loss():
    if _qdisc("netem loss 1%") is None:
        return None
    missing = _namespaces() or _program("iptables")
    if missing:
        return missing
    tried = subprocess.run(["unshare", "--net", "iptables", "-A", "INPUT", "-m", "statistic", "--mode", "random",
                            "--probability", "0.01", "-j", "DROP"], capture_output=True, text=True)
    return None if tried.returncode == 0 else "neither netem nor iptables drops packets: " + tried.stderr.strip()


def _fuse():
    if _root():
        return _root()
    if not os.path.exists("/dev/fuse"):
        return "no /dev/fuse"
    from kit.job import program
    return None if program("lab-slowfs").exists() else "lab-slowfs was not built (libfuse3-dev)"


def _processors(least):
    have = len(os.sched_getaffinity(0))
    return None if have >= least else f"needs {least} processors, {have} are allowed"


def _torch():
    from kit.job import torch_python
    return None if torch_python() else "no Python here has PyTorch (python3-torch)"


NEEDS = {
    "root": _root,
    "cgroup.cpu": lambda: _root() or _group("cpu"),
    "cgroup.memory": lambda: _root() or _group("memory"),
    "cgroup.blkio": lambda: _root() or _group("blkio") or _disk(),
    "namespaces": _namespaces,
    "loss": _loss,
    "tbf": lambda: _qdisc("tbf rate 100mbit burst 32k latency 50ms"),
    "fuse": _fuse,
    "torch": _torch,
    "two processors": lambda: _processors(2),
}
_known = {}


def missing(needs):
    """Why these cannot all be had here, or None."""
    for need in needs:
        if need not in _known:
            _known[need] = NEEDS[need]()
        if _known[need]:
            return _known[need]
    return None
