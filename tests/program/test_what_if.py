"""Op-level records of pipeline-parallel jobs with published results, and changed copies of them."""
import unittest

from program import Case, causes, finding, report, shared

# Published with the method: mean slowdown, by dp rank, by stage.
GOLDEN = {
    "AR": (1.97305, [1.97304, 1.01089, 1.01115, 1.01114], [1.97919, 0.99711, 0.99560, 1.00237], 1.00170, -0.00121),
    "ST": (1.17870, [1.17308, 1.17787], [0.99805, 0.98306, 0.98249, 1.23226], 0.03140, 1.21936),
}


class Published(Case):
    def test_golden_values(self):
        for name, (slowdown, dp_ranks, stages, workers, last_stage) in GOLDEN.items():
            what_if = report(shared(f"whatif/trace-{name}.parquet"))["what_if"]
            self.assertAlmostEqual(what_if["straggler_free_slowdown"], slowdown, delta=2e-5 * slowdown)
            for row, expected in zip(what_if["by_dp_rank"], dp_ranks, strict=True):
                self.assertAlmostEqual(row["slowdown"], expected, delta=2e-5)
            for row, expected in zip(what_if["by_stage"], stages, strict=True):
                self.assertAlmostEqual(row["slowdown"], expected, delta=2e-5)
            self.assertAlmostEqual(what_if["worker_share_top3"], workers, delta=2e-5)
            self.assertAlmostEqual(what_if["last_stage_share"], last_stage, delta=2e-5)

    def test_one_slow_worker_is_named_and_the_network_is_not(self):
        result = report(shared("whatif/trace-AR.parquet"))
        found = finding(result, "sync.straggler")
        self.assertIs(result["findings"][0], found)
        self.assertFalse([c for c in causes(result) if c.startswith("network.")])

    def test_the_long_last_stage_is_named(self):
        result = report(shared("whatif/trace-ST.parquet"))
        self.assertEqual(result["findings"][0]["cause"], "sync.stage_imbalance")
        self.assertIn("stage/3", result["findings"][0]["where"])
        self.assertFalse([c for c in causes(result) if c.startswith("network.")])


if __name__ == "__main__":
    unittest.main()
