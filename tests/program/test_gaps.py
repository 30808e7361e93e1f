"""Time between steps: what the recorded durations leave out is told, and what only looks like it is not."""
import json
import random
import unittest

from program import Case, causes, ledger, report, run

START = 1764500000


class Gaps(Case):
    def job(self, idle, restart=None):
        """4 ranks that compute 0.4 s a step, and `idle` seconds behind each."""
        noise, at, rows = random.Random(1), START + 0.123457, []
        for step in range(250):
            if restart and step == restart[0]:
                at += restart[1]
            took = [0.4 * noise.gauss(1, 0.02) for _ in range(4)]
            for rank, t in enumerate(took):
                rows.append({"rank": rank, "step": step, "start": round(at, 6), "duration": round(t, 6),
                             "phases": {"forward": round(t * 0.33, 6), "backward": round(t * 0.6, 6)}})
            at += max(took) + idle(step)
        self.write("steps.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        return report(self.folder)

    def test_idling_between_steps_is_told_with_its_share(self):
        said = self.job(lambda step: 0.6)
        self.assertAlmostEqual(said["step_time"]["current_s"], 1.01, delta=0.02)
        self.assertGreater(ledger(said)["unexplained"]["share"], 0.59)
        self.assert_ledger_sums(said)
        self.assertNotIn("healthy.compute_bound", causes(said))
        self.assertIn("what runs between steps", said["next_measurements"][0]["text"])
        for form in ("text", "html"):
            page = " ".join(run("diagnose", self.folder, "--format", form, check=0).stdout.decode().split())
            self.assertRegex(page, r"5\d(\.\d)? % of the time lies between steps", form)

    def test_a_pause_every_25_steps_is_periodic(self):
        said = self.job(lambda step: 8 if step % 25 == 24 else 0)
        self.assertEqual(said["pattern"], "periodic")
        self.assertEqual(causes(said)[:1], ["workload.periodic_work"])

    def test_a_pause_that_begins_is_an_onset(self):
        said = self.job(lambda step: 0.8 if step >= 125 else 0)
        self.assertAlmostEqual(said["onset"]["step"], 125, delta=1)
        self.assertGreater(said["step_time"]["slowdown"], 2.5)

    def test_steps_that_follow_at_once_are_healthy(self):
        said = self.job(lambda step: 0.002)
        self.assertEqual(causes(said)[:1], ["healthy.compute_bound"])

    def test_an_hour_without_steps_is_a_restart(self):
        said = self.job(lambda step: 0.002, restart=(120, 3600))
        self.assertAlmostEqual(said["step_time"]["current_s"], 0.42, delta=0.02)
        self.assertEqual(said["pattern"], "none")


if __name__ == "__main__":
    unittest.main()
