"""Six faults of different families, for real: the diagnosis names the cause and the place. Times are not asserted."""
import os
import pathlib
import sys
import unittest

from program import PROGRAM, ROOT, Case

sys.path.insert(0, str(ROOT / "lab"))
os.environ["FIRSTWAIT"] = PROGRAM
os.environ.setdefault("FIRSTWAIT_LAB_BUILD", str(pathlib.Path(PROGRAM).parent.parent))
from kit import job, machine, runner, score  # noqa: E402


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

    def test_physical_a_slow_device(self):
        self.assert_found("slow_device")

    def test_workload_evaluations(self):
        self.assert_found("evaluation")

    def test_network_lost_packets(self):
        self.assert_found("packet_loss")

    def test_control_a_limit_without_effect_accuses_nobody(self):
        truth, report, row = self.ran("warm_cache")
        if truth["slowdown"] >= 1.1:
            self.skipTest("something else slowed the job")
        self.assertEqual(row["false"], [])


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
