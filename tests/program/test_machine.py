"""What the program tells of a machine and of a process that already runs, as an ordinary user."""
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from program import PROGRAM, run

PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable  # root's own is closed to others
NOBODY = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}


class Machine(unittest.TestCase):
    def setUp(self):
        # A folder and a program that everybody may use.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="firstwait-machine-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.folder.chmod(0o777)
        self.program = self.folder / "firstwait"
        shutil.copy(pathlib.Path(PROGRAM).resolve(), self.program)
        self.program.chmod(0o755)

    def as_user(self, *arguments, **options):
        return subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True, timeout=120, cwd=self.folder,
                              **NOBODY, **options)

    def test_doctor_says_what_is_missing_and_what_exporters_leave_out(self):
        result = self.as_user("doctor")
        self.assertEqual(result.returncode, 0, result.stderr)
        for text in ("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "DCGM_FI_DEV_PCIE_LINK_GEN", "--collector.mountstats", "--collector.qdisc"):
            self.assertIn(text, result.stdout)
        if os.geteuid() == 0:
            self.assertIn("as an ordinary user", result.stdout)

    def test_a_bundle_with_names_replaced_names_nobody(self):
        bundle = self.folder / "site.fwb"
        result = self.as_user("bundle", "--redact", "-o", bundle)
        self.assertEqual(result.returncode, 0, result.stderr)
        read = json.loads(run("diagnose", bundle, "--format", "json", check=0).stdout)
        self.assertNotIn(socket.gethostname(), [w.split("/")[-1] for f in read["findings"] for w in f["where"]])
        unpacked = subprocess.run(["zstd", "-dc", bundle], capture_output=True)
        if unpacked.returncode == 0:
            text = unpacked.stdout.decode(errors="replace")
            self.assertNotIn(f'instance="{socket.gethostname()}"', text)
            self.assertIn('instance="host-1"', text)

    def test_a_running_process_and_its_children_are_watched_until_it_ends(self):
        busy = "import subprocess, sys, time\n" \
               "w = subprocess.Popen([sys.executable, '-c', 'while True: pass'])\n" \
               "end = time.time() + 5\n" \
               "while time.time() < end: pass\n" \
               "w.kill()"
        script = self.folder / "train_it.py"
        script.write_text(busy)
        process = subprocess.Popen([PYTHON, script], cwd=self.folder, **NOBODY)
        self.addCleanup(process.kill)
        time.sleep(1)
        result = self.as_user("attach", "--pid", process.pid, "--out", self.folder / "watched")
        self.assertIsNotNone(process.wait(timeout=10))  # it waited for the end
        self.assertEqual(result.returncode, 0, result.stderr)
        metrics = (self.folder / "watched/node/metrics.om").read_text()
        cpu = [line for line in metrics.splitlines() if line.startswith("firstwait_process_cpu_seconds_total{")]
        self.assertTrue([line for line in cpu if 'role="trainer"' in line], cpu)
        self.assertIn("job: \"train_it\"", (self.folder / "watched/job.yaml").read_text())

    def test_a_process_that_is_not_there_is_an_error_with_a_remedy(self):
        result = self.as_user("attach", "--pid", 2**22 - 1, "--for", 1)
        self.assertEqual(result.returncode, 2)
        self.assertIn("name a running process", result.stderr)

    def test_attach_ends_when_the_time_is_over_and_leaves_the_process_alone(self):
        process = subprocess.Popen(["sleep", "60"], **NOBODY)
        self.addCleanup(lambda: (process.kill(), process.wait()))
        result = self.as_user("attach", "--pid", process.pid, "--for", 2, "--out", self.folder / "watched")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIsNone(process.poll())


if __name__ == "__main__":
    unittest.main()
