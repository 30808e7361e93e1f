"""Real logs with a known truth, and changed copies of them."""
import csv
import io
import re
import unittest

from program import Case, causes, finding, report, shared, text_of


def rounded(text, factor):
    return re.sub(r"train_time:(\d+)ms", lambda m: f"train_time:{round(int(m[1]) * factor)}ms", text)


class Periodic(Case):
    def test_every_tenth_step_is_found_and_only_there(self):
        # Median of the slow steps over that of the others, counted from the log's own times.
        for run, ratio in ((0, 554 / 140), (3, 1231 / 195)):
            result = report(shared(f"logs/nanogpt_optimizers/run{run}.log.gz"))
            self.assertEqual(result["pattern"], "periodic", run)
            found = finding(result, "workload.periodic_work")
            self.assertIsNotNone(found, run)
            self.assertEqual(result["period_steps"], 10)
            self.assertAlmostEqual(result["period_ratio"], ratio, delta=0.02 * ratio)
        for run in (1, 2):
            result = report(shared(f"logs/nanogpt_optimizers/run{run}.log.gz"))
            self.assertNotEqual(result["pattern"], "periodic", run)
            self.assertNotIn("workload.periodic_work", causes(result))

    def test_the_period_survives_scaling(self):
        text = text_of(shared("logs/nanogpt_optimizers/run0.log.gz"))
        for factor in (0.5, 3):
            result = report(self.write(f"x{factor}.log", rounded(text, factor)))
            self.assertEqual((result["pattern"], result["period_steps"]), ("periodic", 10), factor)


class Neighbour(Case):
    def test_isolated_slow_steps_are_listed_and_the_control_has_none(self):
        for run in (0, 1, 2, 4):
            result = report(shared(f"logs/nanogpt_neighbour/run{run}.log.gz"))
            self.assertEqual(result["pattern"], "intermittent", run)
            self.assertTrue(result["outliers"], run)
        result = report(shared("logs/nanogpt_neighbour/run3.log.gz"))
        self.assertEqual(result["outliers"], [])
        self.assertNotEqual(result["pattern"], "intermittent")


class FailSlow(Case):
    def test_the_fourth_block_is_the_onset(self):
        result = report(shared("logs/mlperf/failslow_dlrm_result_0.txt.gz"))
        self.assertEqual(result["pattern"], "step")
        self.assertAlmostEqual(result["step_time"]["slowdown"], 2.25, delta=0.1)

    def test_one_epoch_dips(self):
        result = report(shared("logs/mlperf_storage_dip/run5"))
        self.assertEqual([o["step"] for o in result["outliers"]], [5])
        result = report(shared("logs/mlperf_storage_dip/run1"))
        self.assertEqual(result["outliers"], [])
        self.assertEqual(causes(result, 0.5), [])


class Workers(Case):
    def changed(self, name, scale=1.0, rename=None, drop_fault=False):
        rows = list(csv.DictReader(io.StringIO(text_of(shared(f"worker_csv/{name}")))))
        out = [",worker,gpu,time,batch_time_norm"]
        for i, row in enumerate(rows):
            worker = int(row["worker"])
            time = float(row["batch_time_norm"])
            window = (int(row["time"]) - 1) // 10  # one sample every ten iterations
            if drop_fault and worker == 6 and 170 <= window <= 205:
                peers = [float(r["batch_time_norm"]) for r in rows if r["time"] == row["time"] and r["worker"] != "6"]
                time = sorted(peers)[len(peers) // 2]
            out.append(f"{i},{rename[worker] if rename else worker},{row['gpu']},{row['time']},{time * scale}")
        return self.write(name, "\n".join(out) + "\n")

    def check_job_1(self, result, worker):
        found = finding(result, "sync.straggler")
        self.assertIsNotNone(found)
        self.assertEqual([w for w in found["where"] if w.startswith("rank/")], [f"rank/{worker}"])
        self.assertEqual(len(result["straggles"]), 1)
        episode = result["straggles"][0]
        self.assertEqual(episode["rank"], worker)
        self.assertAlmostEqual(episode["first_step"], 181, delta=2)
        self.assertAlmostEqual(episode["last_step"], 194, delta=2)
        self.assertAlmostEqual(episode["mean_ratio"], 1.5, delta=0.2)
        self.assertNotIn("s/step", [e["unit"] for e in found["evidence"]], "the times are relative")

    def test_worker_6_of_job_1_straggles_for_a_while(self):
        self.check_job_1(report(shared("worker_csv/job_1_norm.csv")), 6)

    def test_the_straggler_follows_its_name_and_the_scale(self):
        rename = {i: (i + 3) % 10 for i in range(10)}
        for scale in (0.5, 3):
            self.check_job_1(report(self.changed("job_1_norm.csv", scale, rename)), 9)

    def test_the_straggler_is_gone_with_its_fault(self):
        result = report(self.changed("job_1_norm.csv", drop_fault=True))
        self.assertNotIn("sync.straggler", causes(result, 0.5))

    def test_job_2_has_standing_offsets_and_no_fault(self):
        result = report(shared("worker_csv/job_2_norm.csv"))
        self.assertIsNone(result["onset"])
        self.assertEqual(causes(result, 0.5), [])
        offsets = {o["rank"]: o["ratio"] for o in result["offsets"]}
        self.assertAlmostEqual(offsets[5], 1.08, delta=0.02)


if __name__ == "__main__":
    unittest.main()
