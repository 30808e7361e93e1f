"""Control groups, version 1 or 2, whichever holds the controller."""
import os

from kit.machine import GROUPS, PREFIX, write


def hierarchy(controller):
    """(folder, version), or None where this controller cannot be had."""
    if (GROUPS / controller / "cgroup.procs").exists():
        return GROUPS / controller, 1
    top = GROUPS / "cgroup.controllers"
    if top.exists() and controller.replace("blkio", "io") in top.read_text().split():
        return GROUPS, 2
    return None


class Group:
    """A control group in the hierarchies of the controllers named."""

    def __init__(self, name, *controllers):
        self.folders, self.versions = {}, {}
        for controller in controllers:
            found = hierarchy(controller)
            if found is None:
                raise RuntimeError(f"no control group for {controller}")
            folder, version = found
            if version == 2:
                try:
                    write(folder / "cgroup.subtree_control", "+" + controller.replace("blkio", "io"))
                except OSError:
                    pass  # it may be there already
            path = folder / f"{PREFIX}{os.getpid()}-{name}"
            path.mkdir(exist_ok=True)
            self.folders[controller], self.versions[controller] = path, version

    def paths(self):
        return sorted({str(p) for p in self.folders.values()})

    def enter(self, pid):
        for path in self.paths():
            write(path + "/cgroup.procs", pid)

    def file(self, controller, name_1, name_2):
        return self.folders[controller] / (name_1 if self.versions[controller] == 1 else name_2)

    def cpu_quota(self, cores):
        period = 100_000
        quota = int(cores * period) if cores else None
        if self.versions["cpu"] == 1:
            write(self.folders["cpu"] / "cpu.cfs_quota_us", quota or -1)
        else:
            write(self.folders["cpu"] / "cpu.max", f"{quota or 'max'} {period}")

    def throttled_periods(self):
        for line in (self.folders["cpu"] / "cpu.stat").read_text().splitlines():
            if line.startswith("nr_throttled"):
                return int(line.split()[1])
        return 0

    def read_limit(self, device, bytes_per_second, reads_per_second=None):
        """None lifts the limit."""
        if self.versions["blkio"] == 1:
            write(self.folders["blkio"] / "blkio.throttle.read_bps_device", f"{device} {bytes_per_second or 0}")
            write(self.folders["blkio"] / "blkio.throttle.read_iops_device", f"{device} {reads_per_second or 0}")
        else:
            write(self.folders["blkio"] / "io.max",
                  f"{device} rbps={bytes_per_second or 'max'} riops={reads_per_second or 'max'}")

    def write_limit(self, device, bytes_per_second):
        if self.versions["blkio"] == 1:
            write(self.folders["blkio"] / "blkio.throttle.write_bps_device", f"{device} {bytes_per_second or 0}")
        else:
            write(self.folders["blkio"] / "io.max", f"{device} wbps={bytes_per_second or 'max'}")

    def memory_limit(self, size):
        write(self.file("memory", "memory.limit_in_bytes", "memory.high"), size or ("-1" if self.versions["memory"] == 1 else "max"))

    def memory_reclaims(self):
        if self.versions["memory"] == 1:
            return int((self.folders["memory"] / "memory.failcnt").read_text())
        for line in (self.folders["memory"] / "memory.events").read_text().splitlines():
            if line.startswith("high "):
                return int(line.split()[1])
        return 0
