"""The demo's runs as they were recorded: bundles and the measured step times, for machines where the lab cannot run."""
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import tarfile

from kit.job import ROOT
from kit.machine import PREFIX, WORK

LAB = f"{WORK}/{PREFIX}"
PLACE = pathlib.Path(__file__).resolve().parent.parent / "recording"


class Recorded:
    """Stands in for the live runs."""

    def __init__(self, place=PLACE):
        self.place = place
        self.told = json.loads((place / "story.json").read_text())

    def folder(self, name):
        return self.place / f"{name}.fwb"

    def slow(self):
        return self.told["slow"]

    def run(self, name, **_options):
        return self.told["seconds"][name]


def exists():
    return (PLACE / "story.json").exists()


def _anonymous(text):
    """Without this machine's folders and what else it has mounted."""
    kept = [line for line in text.splitlines(keepends=True) if "mountpoint=" not in line or LAB in line]
    return re.sub(re.escape(LAB) + r"\d+-work", "/data", "".join(kept)).replace(str(ROOT), "/opt/firstwait")


def _packed(folder):
    """A bundle as one file; folders by other names."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            data = _anonymous(path.read_text()).encode()
            member = tarfile.TarInfo(path.relative_to(folder).as_posix())
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return packed.getvalue()


def keep(live, names, place=PLACE):
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    for name in names:
        with open(place / f"{name}.fwb", "wb") as file:
            subprocess.run(["zstd", "-19", "-q"], input=_packed(live.folder(name)), stdout=file, check=True)
    (place / "story.json").write_text(json.dumps(live.told, indent=1) + "\n")
    return sum(os.path.getsize(p) for p in place.iterdir())
