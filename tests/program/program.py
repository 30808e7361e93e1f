"""Runs the program as a user does and reads its JSON."""
import gzip
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = os.environ.get("FIRSTWAIT", str(ROOT / "build/release/bin/firstwait"))
if not os.path.isabs(PROGRAM):
    PROGRAM = str(ROOT / PROGRAM)
SHARED = pathlib.Path(os.environ.get("FIRSTWAIT_SHARED", str(ROOT.parent / "shared"))) / "data"


def run(*arguments, timeout=120, check=None):
    """The finished process; `check` is the exit code to expect."""
    result = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, timeout=timeout)
    if check is not None and result.returncode != check:
        raise AssertionError(f"{arguments}: exit {result.returncode}, expected {check}\n{result.stderr.decode(errors='replace')}")
    return result


def report(*inputs, options=()):
    return json.loads(run("diagnose", *inputs, "--format", "json", *options, check=0).stdout)


def comparison(before, after):
    return json.loads(run("compare", before, after, "--format", "json", check=0).stdout)


def causes(result, least=0.0):
    return [f["cause"] for f in result["findings"] if f["confidence"] >= least]


def finding(result, cause):
    return next((f for f in result["findings"] if f["cause"] == cause), None)


def ledger(result):
    return {row["phase"]: row for row in result["ledger"]}


def shared(relative):
    """A real file, or the test is skipped: a user's checkout has none."""
    path = SHARED / relative
    if not path.exists():
        raise unittest.SkipTest(f"{relative} is not on this machine")
    return path


def text_of(path):
    data = pathlib.Path(path).read_bytes()
    return (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode()


class Case(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def assert_ledger_sums(self, result):
        """The ledger sums to the step time, unexplained included."""
        total = sum(row["seconds_per_step"] for row in result["ledger"])
        self.assertAlmostEqual(total, result["step_time"]["current_s"], delta=1e-6 * max(1.0, total))
        self.assertIn("unexplained", [row["phase"] for row in result["ledger"]])
