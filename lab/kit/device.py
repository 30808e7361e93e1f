"""The job's emulated accelerators: a file for each, and the library through which the agent sees them as it sees NVIDIA's."""
import os
import struct

# As in job/device_state.h.
FIELDS = ("busy_ns", "busy_since_ns", "hot_ns", "evaluation_ns", "sm_clock_mhz", "max_sm_clock_mhz", "reasons", "temperature_c",
          "slowdown_temperature_c", "idle_mw", "busy_mw", "limit_mw", "memory_bytes", "memory_used_bytes", "pid")
LAYOUT = struct.Struct(f"{len(FIELDS)}q")


def make(folder, count):
    """The machine has its devices before a job runs on them."""
    folder.mkdir(parents=True, exist_ok=True)
    for i in range(count):
        (folder / str(i)).write_bytes(bytes(LAYOUT.size))


def read(path):
    return dict(zip(FIELDS, LAYOUT.unpack(path.read_bytes()[:LAYOUT.size])))


def environment(work, folder, library):
    """What a program that looks for NVIDIA's library needs in order to find this one. Without it there is no GPU to see."""
    here = dict(os.environ)
    if not library.exists():
        return here
    place = work / "nvml"
    place.mkdir(exist_ok=True)
    link = place / "libnvidia-ml.so.1"
    if not link.is_symlink():
        link.symlink_to(library)
    here["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, [str(place), here.get("LD_LIBRARY_PATH")]))
    here["LAB_DEVICES"] = str(folder)
    return here
