"""Six faults of different families, for real: the diagnosis names the cause and the place. Times are not asserted."""
import os
import pathlib
import subprocess
import sys
import unittest

from program import PROGRAM, ROOT, Case

sys.path.insert(0, str(ROOT / "lab"))
os.environ["FIRSTWAIT"] = PROGRAM
os.environ.setdefault("FIRSTWAIT_LAB_BUILD", str(pathlib.Path(PROGRAM).parent.parent))
from kit import device, fault, job, machine, runner, score  # noqa: E402


@unittest.skipUnless(job.program("lab-job").exists(), "lab-job was not built")
class Lab(Case):
    def setUp(self):
        super().setUp()
        machine.clean()
        self.addCleanup(machine.clean, os.getpid())

    def ran(self, name):
        truth = runner.run_scenario(name, self.folder, seed=1, scale=0.6)
        if truth["status"] == "skipped":
            self.skipTest(truth["reason"])
        if truth.get("foreign_processors", 0) > 0.5 * len(os.sched_getaffinity(0)):
            self.skipTest("other programs use the processors")
        self.assertEqual(truth["status"], "ok", truth.get("reason"))
        report = runner.diagnose(self.folder / f"{name}-1", truth)
        return truth, report, score.judge(truth, report)

    def assert_found(self, name):
        truth, report, row = self.ran(name)
        if truth["slowdown"] < 1.1:
            self.skipTest(f"the fault slowed the job by {truth['slowdown']:.2f} only")
        told = [(f["cause"], f["confidence"], f["where"]) for f in report["findings"]]
        self.assertTrue(row["cause_right"], told)
        self.assertTrue(row["place_right"], told)

    def test_storage_a_read_limit(self):
        self.assert_found("read_limit")

    def test_preprocessing_loading_in_the_main_thread(self):
        self.assert_found("main_thread")

    def test_physical_a_hot_device(self):
        self.assert_found("slow_device")

    def test_physical_a_slow_rank_whose_device_is_not_hot(self):
        self.assert_found("slow_rank")

    def test_workload_evaluations(self):
        self.assert_found("evaluation")

    def test_network_lost_packets(self):
        self.assert_found("packet_loss")

    def test_control_a_limit_without_effect_accuses_nobody(self):
        truth, report, row = self.ran("warm_cache")
        if truth["slowdown"] >= 1.1:
            self.skipTest("something else slowed the job")
        self.assertEqual(row["false"], [])


@unittest.skipUnless(job.program("lab-job").exists(), "lab-job was not built")
class Device(Case):
    def start(self, *watched, steps=40, knobs=""):
        """A job of one rank whose device is in self.folder/devices."""
        device.make(self.folder / "devices", 1)
        control = self.write("control", knobs)
        words = [job.program("lab-job"), "--ranks", "1", "--workers", "1", "--records", "16", "--record-bytes", "8192", "--data",
                 self.folder / "data", "--checkpoints", self.folder / "saved", "--control", control, "--devices", self.folder / "devices",
                 "--steps", str(steps), "--compute-ms", "20", "--transform-ms", "1"]
        subprocess.run([*words, "--make"], check=True)
        here = device.environment(self.folder, self.folder / "devices", job.program("libfake_nvml.so"))
        done = subprocess.run([*watched, *words], capture_output=True, text=True, env=here)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_it_counts_the_time_in_which_it_was_busy(self):
        self.start(steps=20, knobs="evaluation_every 5\nevaluation_ms 50\n")
        told = device.read(self.folder / "devices" / "0")
        self.assertGreaterEqual(told["busy_ns"], 20 * 20e6 + 3 * 50e6)
        self.assertGreaterEqual(told["evaluation_ns"], 3 * 50e6)
        self.assertEqual((told["hot_ns"], told["reasons"], told["pid"], told["busy_since_ns"]), (0, 0, 0, 0))

    def test_a_low_clock_makes_it_slower(self):
        self.start(steps=10, knobs="device_clock 0.5\ndevice_reasons 32\n")
        told = device.read(self.folder / "devices" / "0")
        self.assertGreaterEqual(told["busy_ns"], 10 * 40e6)
        self.assertEqual(told["hot_ns"], told["busy_ns"])
        self.assertEqual(told["sm_clock_mhz"], 990)

    @unittest.skipUnless(job.program("libfake_nvml.so").exists(), "libfake_nvml.so was not built")
    def test_the_agent_sees_it_as_it_sees_nvidias_and_says_that_it_is_emulated(self):
        self.start(PROGRAM, "run", "--out", self.folder / "bundle", "--", steps=180, knobs="device_clock 0.5\ndevice_reasons 32\n")
        text = "".join(p.read_text() for p in (self.folder / "bundle").rglob("*.om"))
        last = {}
        for line in text.splitlines():
            if line.startswith("DCGM_FI_DEV_"):
                last[line.split("{")[0]] = float(line.split("} ")[1].split()[0])
                self.assertIn('modelName="emulated accelerator"', line)
        self.assertGreater(last["DCGM_FI_DEV_GPU_UTIL"], 60)
        self.assertEqual(last["DCGM_FI_DEV_CLOCKS_EVENT_REASONS"], 32)
        self.assertEqual((last["DCGM_FI_DEV_SM_CLOCK"], last["DCGM_FI_DEV_MAX_SM_CLOCK"]), (990, 1980))
        self.assertGreater(last["DCGM_FI_DEV_GPU_TEMP"], last["DCGM_FI_DEV_SLOWDOWN_TEMP"])
        settings = "".join(p.read_text() for p in (self.folder / "bundle").rglob("settings.jsonl"))
        self.assertIn('"gpu.model","value":"emulated accelerator"', settings)


class Scoring(Case):
    def truth(self, during, before=0.1, after=0.1):
        return {"step_s": {"before": before, "during": during, "after": after}}

    def test_a_fault_whose_counter_did_not_move_says_nothing(self):
        for moved, void in ((0.9, True), (1, False)):
            truth = self.truth(0.2)
            try:
                runner.measure(truth, fault.Proof("counter", 5), fault.Proof("counter", 5 + moved), 1)
                self.assertFalse(void)
                self.assertAlmostEqual(truth["slowdown"], 2)
            except fault.Void:
                self.assertTrue(void)

    def test_a_gain_that_could_not_be_measured_is_not_counted_as_wrong(self):
        truth = dict(self.truth(0.2, after=None), causes=["a.b"], place=[], chronic=True, status="ok", scenario="x")
        runner.measure(truth, fault.Proof("counter", 0), fault.Proof("counter", 9), 1)
        finding = {"cause": "a.b", "confidence": 0.9, "where": [], "actions": [{"gain": {"speedup": [None, 2.0]}}]}
        row = score.judge(truth, {"findings": [finding], "onset": None})
        self.assertIsNone(row["gain_right"])
        self.assertIn("gain within 15 %    0 of 0", score.summary([(truth, row)]))
        truth["gain"] = 2.1
        row = score.judge(truth, {"findings": [finding], "onset": None})
        self.assertIn("gain within 15 %    1 of 1", score.summary([(truth, row)]))


class Leftovers(Case):
    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_what_a_killed_lab_left_goes_with_the_next_start(self):
        gone = 2**22 - 3  # no process has this number
        left = machine.WORK / f"{machine.PREFIX}{gone}-work"
        left.mkdir()
        (left / "data").write_text("x")
        own = machine.WORK / f"{machine.PREFIX}{os.getpid()}-work"
        own.mkdir(exist_ok=True)
        self.addCleanup(machine.clean, os.getpid())
        self.assertIn(str(left), machine.clean())
        self.assertFalse(left.exists())
        self.assertTrue(own.exists())  # a lab that runs keeps what is its own


if __name__ == "__main__":
    unittest.main()
