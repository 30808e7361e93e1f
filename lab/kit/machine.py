"""What the lab leaves on the machine while it runs, and how it goes away again: also what an earlier lab left that was killed.

Everything the lab makes bears the name `fwlab-PID-…`, so that the next start finds what belongs to nobody any more. Nothing else
on the machine is touched, and nothing in the root network namespace."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

PREFIX = "fwlab-"
GROUPS = pathlib.Path("/sys/fs/cgroup")
WORK = pathlib.Path(os.environ.get("FIRSTWAIT_LAB_WORK", "/var/tmp"))


def run(*words, check=True, **more):
    result = subprocess.run([str(w) for w in words], capture_output=True, text=True, **more)
    if check and result.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, words))}: {result.stderr.strip() or result.returncode}")
    return result.stdout


def write(path, text):
    with open(path, "w") as file:
        file.write(str(text))


def owner_of(name):
    match = re.match(PREFIX + r"(\d+)", name)
    return int(match.group(1)) if match else None


def alive(pid):
    try:
        os.kill(pid, 0)
        return True
    except ProcessLookupError:
        return False
    except PermissionError:
        return True


def _abandoned(name, own):
    pid = owner_of(name)
    return pid is not None and (pid == own or (own is None and not alive(pid)))


def _end_processes(pids):
    for pid in pids:
        for number in (signal.SIGCONT, signal.SIGKILL):
            try:
                os.kill(pid, number)
            except (ProcessLookupError, PermissionError):
                pass


def _group_folders():
    for hierarchy in [GROUPS, *GROUPS.iterdir()] if GROUPS.is_dir() else []:
        if hierarchy.is_dir() and (hierarchy / "cgroup.procs").exists():
            yield from (folder for folder in hierarchy.glob(PREFIX + "*") if folder.is_dir())


def _remove_group(folder):
    for inner in sorted((p for p in folder.rglob("*") if p.is_dir()), reverse=True):
        _remove_group(inner)
    for _ in range(50):
        try:
            _end_processes(map(int, (folder / "cgroup.procs").read_text().split()))
            folder.rmdir()
            return
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.05)


def clean(own=None):
    """Removes what the process `own` made; without it, what was left by labs that are gone. Returns what was removed."""
    removed = []
    for folder in _group_folders():
        if _abandoned(folder.name, own):
            _remove_group(folder)
            removed.append(str(folder))
    if shutil.which("ip") and os.geteuid() == 0:
        for line in run("ip", "netns", "list", check=False).splitlines():
            name = line.split()[0] if line.split() else ""
            if _abandoned(name, own):
                _end_processes(map(int, run("ip", "netns", "pids", name, check=False).split()))
                run("ip", "netns", "del", name, check=False)
                removed.append("namespace " + name)
    for folder in WORK.glob(PREFIX + "*"):
        if not _abandoned(folder.name, own):
            continue
        for line in pathlib.Path("/proc/mounts").read_text().splitlines():
            point = line.split()[1]
            if point.startswith(str(folder) + "/"):
                run("umount", "-l", point, check=False)
        _end_processes(_running_in(folder))
        shutil.rmtree(folder, ignore_errors=True)
        removed.append(str(folder))
    return removed


def _running_in(folder):
    """Processes that name the folder on their command line, where no group held them."""
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if any(w.startswith(str(folder) + "/") for w in words):
            yield int(entry.name)
