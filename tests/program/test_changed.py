"""Changed copies of real inputs: the answer follows the change, and is gone where the fault was removed."""
import csv
import datetime
import io
import json
import random
import re
import statistics
import unittest

import parquet
from program import Case, causes, finding, report, shared, text_of

YEAR = 365 * 86400


class Pipelines(Case):
    SOURCE = "whatif/trace-AR.parquet"

    def changed(self, columns, where="true"):
        return report(parquet.rewrite(shared(self.SOURCE), self.folder / "trace.parquet", columns, where))

    def test_the_straggler_follows_its_data_parallel_rank(self):
        for move in (1, 3):
            what_if = (result := self.changed(f"(dp_rank + {move}) % 4 AS dp_rank"))["what_if"]
            slowdowns = [row["slowdown"] for row in what_if["by_dp_rank"]]
            self.assertEqual(slowdowns.index(max(slowdowns)), move)
            self.assertAlmostEqual(max(slowdowns), 1.97304, delta=2e-5)
            self.assertEqual(result["findings"][0]["cause"], "sync.straggler")
            self.assertIn(f"worker/dp{move}-stage0", result["findings"][0]["where"])

    def test_ratios_stay_when_all_times_are_scaled(self):
        for scale in (0.5, 3.0):
            result = self.changed(f"(start_ts * {scale})::FLOAT AS start_ts, (duration * {scale})::FLOAT AS duration")
            self.assertAlmostEqual(result["what_if"]["straggler_free_slowdown"], 1.97305, delta=1e-4)
            self.assertAlmostEqual(result["step_time"]["current_s"], scale * 46.65, delta=scale * 0.5)
            self.assertEqual(result["findings"][0]["cause"], "sync.straggler")

    def test_the_straggler_is_gone_when_its_rank_keeps_up(self):
        # dp rank 0 computes as dp rank 1 does, and what waited for it comes when the others have done their gc.
        source, target = shared(self.SOURCE), self.folder / "trace.parquet"
        parquet.query(f"""COPY (
            WITH t AS (SELECT * FROM read_parquet('{source}')),
            healed AS (SELECT * FROM t WHERE dp_rank <> 0
                       UNION ALL SELECT * REPLACE (0::INT AS dp_rank) FROM t WHERE dp_rank = 1),
            edge AS (SELECT step, max(start_ts) FILTER (dp_rank <> 0) AS now, max(start_ts) AS before
                     FROM t WHERE optype = 'gc' GROUP BY step),
            moved AS (SELECT healed.*, start_ts - greatest(0, least(start_ts, before) - now) AS s,
                      start_ts + duration - greatest(0, least(start_ts + duration, before) - now) AS e
                      FROM healed JOIN edge USING (step))
            SELECT * EXCLUDE (s, e) REPLACE (s::FLOAT AS start_ts, (e - s)::FLOAT AS duration) FROM moved)
            TO '{target}' (FORMAT PARQUET)""")
        result = report(target)
        self.assertEqual(causes(result), [])
        self.assertLess(result["what_if"]["replay_error"], 0.05)
        self.assertLess(result["what_if"]["straggler_free_slowdown"], 1.05)
        self.assertAlmostEqual(result["step_time"]["current_s"], 23.0, delta=0.5)

    def peers_times(self, source, slow, keys):
        """Compute times of the `slow` worker as its peers have them; the starts stay, so the step keeps its gaps."""
        target = self.folder / "trace.parquet"
        parquet.query(f"""COPY (
            WITH t AS (SELECT * FROM read_parquet('{source}')),
            peers AS (SELECT {keys}, median(duration) AS d FROM t WHERE NOT ({slow}) GROUP BY ALL)
            SELECT t.* REPLACE (CASE WHEN {slow} AND optype LIKE '%-compute' THEN d::FLOAT ELSE duration END AS duration)
            FROM t LEFT JOIN peers USING ({keys})) TO '{target}' (FORMAT PARQUET)""")
        return report(target)

    def test_without_the_slow_workers_durations_the_gaps_are_unexplained_and_nobody_is_accused(self):
        result = self.peers_times(shared(self.SOURCE), "t.dp_rank = 0 AND t.stage = 0", "step, optype, stage, seq_id")
        self.assertFalse([c for c in causes(result) if c.startswith(("sync.", "gpu.", "network."))])
        self.assertLess(result["what_if"]["straggler_free_slowdown"], 1.1)
        self.assertGreater(result["what_if"]["replay_error"], 0.05)
        self.assertIn("Inconclusive", result["headline"])

    def test_the_long_stage_is_gone_with_its_length(self):
        result = self.peers_times(shared("whatif/trace-ST.parquet"), "t.stage = 3", "step, optype, dp_rank, seq_id")
        self.assertFalse([c for c in causes(result) if c.startswith(("sync.", "gpu.", "network."))])
        self.assertLess(result["what_if"]["straggler_free_slowdown"], 1.05)

    def test_the_long_stage_stays_when_ranks_swap_and_times_scale(self):
        for scale in (0.5, 3.0):
            target = parquet.rewrite(
                shared("whatif/trace-ST.parquet"), self.folder / "trace.parquet",
                f"1 - dp_rank AS dp_rank, (start_ts * {scale})::FLOAT AS start_ts, (duration * {scale})::FLOAT AS duration")
            result = report(target)
            self.assertEqual(result["findings"][0]["cause"], "sync.stage_imbalance")
            self.assertIn("stage/3", result["findings"][0]["where"])
            self.assertAlmostEqual(result["what_if"]["straggler_free_slowdown"], 1.17870, delta=1e-4)
            self.assertAlmostEqual(result["what_if"]["by_dp_rank"][1]["slowdown"], 1.17308, delta=1e-4)


class Workers(Case):
    def rows(self, name="job_1_norm.csv"):
        rows = [(int(r["worker"]), r["gpu"], int(r["time"]), float(r["batch_time_norm"]))
                for r in csv.DictReader(io.StringIO(text_of(shared(f"worker_csv/{name}"))))]
        window = {t: i for i, t in enumerate(sorted({r[2] for r in rows}))}
        return [(w, g, t, window[t], v) for w, g, t, v in rows]

    def healed(self):
        rows = self.rows()
        peers = {}
        for worker, _, time, _, value in rows:
            if worker != 6:
                peers.setdefault(time, []).append(value)
        return [(w, g, t, i, statistics.median(peers[t]) if w == 6 and 177 <= i <= 197 else v) for w, g, t, i, v in rows]

    def result(self, rows, factor):
        lines = [",worker,gpu,time,batch_time_norm"]
        lines += [f"{n},{w},{g},{t},{v * factor(w, i):g}" for n, (w, g, t, i, v) in enumerate(rows)]
        return report(self.write("job.csv", "\n".join(lines) + "\n"))

    def test_a_moved_spell_is_named_at_its_worker_and_windows(self):
        rows = self.healed()
        for worker, first, last, ratio in ((2, 50, 60, 1.6), (4, 20, 26, 2.0), (7, 289, 299, 1.7), (5, 0, 14, 1.7)):
            with self.subTest(worker=worker):
                result = self.result(rows, lambda w, i: ratio if w == worker and first <= i <= last else 1)
                found = finding(result, "sync.straggler")
                self.assertIsNotNone(found, result["headline"])
                self.assertEqual([p for p in found["where"] if p.startswith("rank/")], [f"rank/{worker}"])
                spell = result["straggles"][0]
                self.assertEqual(spell["rank"], worker)
                self.assertAlmostEqual(spell["first_step"], first, delta=2)
                self.assertAlmostEqual(spell["last_step"], last, delta=2)

    def test_two_spells_are_both_named(self):
        result = self.result(self.rows(), lambda w, i: 1.7 if w == 2 and 50 <= i <= 64 else 1)
        self.assertEqual(sorted(s["rank"] for s in result["straggles"]), [2, 6])

    def test_a_job_slow_on_all_workers_has_an_onset_and_no_straggler(self):
        result = self.result(self.rows("job_2_norm.csv"), lambda w, i: 1.5 if i >= 129 else 1)
        self.assertAlmostEqual(result["onset"]["step"], 129, delta=1)
        self.assertNotIn("sync.straggler", causes(result))


class Logs(Case):
    """Step lines of nanogpt_optimizers with the time of each step changed."""

    def changed(self, run, change):
        out, last, total = [], None, 0.0
        for line in text_of(shared(f"logs/nanogpt_optimizers/{run}.log.gz")).splitlines():
            m = re.match(r"step:(\d+)/(\d+) (train_loss:\S+) train_time:(\d+)ms", line)
            if not m:
                out.append(line)
                continue
            step, time = int(m[1]), int(m[4])
            total = time if last is None else total + change(step, time - last)
            last = time
            average = "nan" if step <= 10 else f"{total / (step - 10):.2f}"
            out.append(f"step:{m[1]}/{m[2]} {m[3]} train_time:{round(total)}ms step_avg:{average}ms")
        return report(self.write(f"{run}.log", "\n".join(out) + "\n"))

    def test_another_period_is_found(self):
        result = self.changed("run1", lambda step, ms: ms * (3 if step % 25 == 0 else 1))
        self.assertEqual((result["pattern"], result["period_steps"]), ("periodic", 25))

    def test_a_period_beside_an_onset_is_kept(self):
        result = self.changed("run3", lambda step, ms: ms * (1.5 if step >= 3000 else 1))
        self.assertAlmostEqual(result["onset"]["step"], 3000, delta=3)
        self.assertEqual(result["period_steps"], 10)
        self.assertIn("workload.periodic_work", causes(result, 0.5))

    def test_the_period_is_gone_with_its_steps(self):
        usual = [0]

        def without(step, ms):  # a slow step takes as long as the one before it
            usual[0] = usual[0] if step % 10 == 1 and usual[0] else ms
            return usual[0]
        result = self.changed("run3", without)
        self.assertNotIn("workload.periodic_work", causes(result))


class Blocks(Case):
    """MLLOG: the evaluation blocks of a fail-slow job, each given another length."""

    def changed(self, seconds, shift=0):
        text = text_of(shared("logs/mlperf/failslow_dlrm_result_0.txt.gz"))
        rows = [(line, re.match(r"(.*:::MLLOG )(\{.*\})(.*)", line)) for line in text.splitlines()]
        ends = [json.loads(m[2])["time_ms"] for _, m in rows if m and '"eval_stop"' in m[2]]
        start = next(json.loads(m[2])["time_ms"] for _, m in rows if m and '"run_start"' in m[2])
        edges = [start, *ends]
        moved = [start]
        for i in range(len(ends)):
            moved.append(moved[-1] + 1000 * seconds(i))

        def warp(t):
            for i in range(len(ends)):
                if edges[i] <= t <= edges[i + 1]:
                    return moved[i] + (t - edges[i]) * (moved[i + 1] - moved[i]) / (edges[i + 1] - edges[i])
            return t if t < start else moved[-1] + t - edges[-1]
        out = []
        for line, m in rows:
            if m:
                entry = json.loads(m[2])
                entry["time_ms"] = int(warp(entry["time_ms"]) + 1000 * shift)
                line = m[1] + json.dumps(entry) + m[3]
            out.append(line)
        return report(self.write("result.txt", "\n".join(out) + "\n"))

    def test_the_onset_follows_its_block(self):
        rng, onsets = random.Random(4), []
        for block in (3, 7):
            result = self.changed(lambda i: (60 if i < block else 135) * rng.uniform(0.99, 1.01), shift=YEAR)
            self.assertIsNotNone(result["onset"], result["headline"])
            self.assertAlmostEqual(result["step_time"]["slowdown"], 2.25, delta=0.08)
            onsets.append(result["onset"]["step"])
            self.assertEqual(result["onset"]["interval"][0], result["onset"]["step"])
        self.assertLess(onsets[0], onsets[1])

    def test_the_onset_is_gone_with_its_blocks(self):
        rng = random.Random(5)
        result = self.changed(lambda i: 60 * rng.uniform(0.99, 1.01))
        self.assertIsNone(result["onset"])
        self.assertEqual(causes(result, 0.5), [])


class Trace(Case):
    def log(self, steps, seconds):
        rng, at, out = random.Random(1), 1764500000.0, []
        for i in range(1, steps + 1):
            took = seconds(i) * rng.gauss(1, 0.01)
            at += took
            stamp = datetime.datetime.fromtimestamp(at, datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S.%f")
            out.append(f" [{stamp}] iteration {i:8d}/ 100000 | consumed samples: {i * 256:12d} | "
                       f"elapsed time per iteration (ms): {took * 1000:.1f} | learning rate: 6.0E-05 | "
                       f"global batch size: 256 | lm loss: {10 - i * .001:.6E} | loss scale: 1.0 |")
        return self.write("train.log", "\n".join(out) + "\n")

    def test_a_log_beside_it_takes_nothing_away(self):
        trace = shared("traces/loader_workers_0/worker0.pt.trace.json.gz")
        result = report(trace, self.log(400, lambda i: 0.12 if i < 200 else 0.175))
        first = result["findings"][0]
        self.assertEqual(first["cause"], "input.loading_in_main_thread")
        self.assertGreaterEqual(first["confidence"], 0.8)
        self.assertEqual(first["where"][:1], ["rank/0"])
        share = next(row["share"] for row in result["ledger"] if row["phase"] == "input_wait")
        self.assertTrue(0.37 <= share <= 0.42, share)
        self.assertAlmostEqual(result["onset"]["step"], 200, delta=1)
        self.assertIsNone(first["since"], "whether loading grew then is not known")
        self.assert_ledger_sums(result)


if __name__ == "__main__":
    unittest.main()
