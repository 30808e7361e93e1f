"""The demo where the lab cannot run: an ordinary user sees its recording, diagnosed now."""
import json
import os
import re
import shutil
import subprocess
import unittest

from program import Case, PROGRAM, ROOT, finding, report, run

NOBODY = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
RECORDING = ROOT / "lab" / "recording"


class Recording(Case):
    def test_an_ordinary_user_sees_the_whole_story(self):
        # As installed, and where everybody may read it.
        (self.folder / "bin").mkdir()
        shutil.copy(PROGRAM, self.folder / "bin/firstwait")
        shutil.copytree(ROOT / "lab", self.folder / "lib/firstwait/lab")
        subprocess.run(["chmod", "-R", "a+rX", self.folder], check=True)
        self.folder.chmod(0o777)
        out = self.folder / "demo"
        told = subprocess.run([self.folder / "bin/firstwait", "demo", "--out", out], capture_output=True, text=True, timeout=120, cwd=self.folder, **NOBODY)
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertIn("this is a recording of it", told.stdout)
        for title in ("8 workers instead of 4", "local disk", "augmentation ahead of time"):
            self.assertRegex(told.stdout, rf"(?m)^   {title} .*×$")
        gain = float(re.search(r"all of it +([0-9.]+)×", told.stdout)[1])
        self.assertGreater(gain, 3)
        self.assertRegex(told.stdout, r"PREDICTED +data.local_nvme: .*inside the interval")
        self.assertIn("<svg", (out / "demo" / "report.html").read_text())

    def test_the_recorded_fault_is_found_in_the_recording(self):
        slow = report(RECORDING / "slow.fwb")
        self.assertTrue(slow["findings"][0]["cause"].startswith("storage."), slow["findings"][0])
        self.assertEqual(slow["pattern"], "step")
        self.assertIsNone(finding(report(RECORDING / "fixed.fwb"), slow["findings"][0]["cause"]))

    def test_what_a_local_disk_brings_is_told_with_what_binds_then_and_was_so(self):
        story = json.loads((RECORDING / "story.json").read_text())
        told = json.loads(run("what-if", RECORDING / "slow.fwb", "--apply", "data.local_nvme", "--format", "json", check=0).stdout)
        self.assertEqual(told["then_bound_by"], "input.cpu_saturated")
        low, high = told["speedup"]
        self.assertTrue(low <= story["slow"]["now"] / story["seconds"]["local"] <= high, told["speedup"])
        self.assertLess(high, 0.85 * story["slow"]["now"] / story["seconds"]["fixed"], "less than all of the wait")

    def test_the_emulated_accelerator_is_seen_and_called_so(self):
        gpu = next(s for s in report(RECORDING / "slow.fwb")["symptoms"] if s["signal"] == "gpu_utilization")
        self.assertGreater(gpu["before"], 0.9)
        self.assertLess(gpu["now"], 0.35)
        data = subprocess.run(["zstd", "-dc", RECORDING / "slow.fwb"], capture_output=True, check=True).stdout.decode()
        self.assertIn('modelName="emulated accelerator"', data)

    def test_a_recording_names_no_machine(self):
        for name in ("slow", "workers", "local", "fixed"):
            data = subprocess.run(["zstd", "-dc", RECORDING / f"{name}.fwb"], capture_output=True, check=True).stdout.decode()
            for word in ("fwlab", "/tmp/", "/work", "/root"):
                self.assertNotIn(word, data, name)
        self.assertGreater(json.loads((RECORDING / "story.json").read_text())["slow"]["now"], 0.3)


if __name__ == "__main__":
    unittest.main()
