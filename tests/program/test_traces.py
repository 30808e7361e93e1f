"""Profiler traces: two real ones with a known truth, and changed copies of them."""
import json
import unittest

from program import Case, causes, comparison, finding, ledger, report, run, shared, text_of

SLOW = "traces/loader_workers_0/worker0.pt.trace.json.gz"
FAST = "traces/loader_workers_4/worker0.pt.trace.json.gz"


def changed(path, scale=1.0, shift_us=0, drop=None):
    """A copy of the trace with its times scaled and shifted; events for which `drop` is true are left out."""
    trace = json.loads(text_of(path))
    events = trace["traceEvents"]
    first = min(e["ts"] for e in events if "ts" in e)
    kept = []
    for event in events:
        if drop is not None and drop(event):
            continue
        if "ts" in event:
            event["ts"] = first + round((event["ts"] - first) * scale) + shift_us
        if "dur" in event:
            event["dur"] = round(event["dur"] * scale)
        kept.append(event)
    trace["traceEvents"] = kept
    return json.dumps(trace)


class SlowLoading(Case):
    def check(self, path, scale=1.0):
        result = report(path)
        first = result["findings"][0]
        self.assertEqual(first["cause"], "input.loading_in_main_thread")
        self.assertGreaterEqual(first["confidence"], 0.8)
        self.assertEqual(causes(result, 0.5), ["input.loading_in_main_thread"])
        self.assertTrue(0.37 <= ledger(result)["input_wait"]["share"] <= 0.42, ledger(result)["input_wait"])
        self.assertTrue(0.45 <= result["productive_fraction"] <= 0.60, result["productive_fraction"])
        self.assertEqual(result["pattern"], "chronic")
        self.assertIsNone(result["onset"])
        self.assertAlmostEqual(result["step_time"]["current_s"], 0.1748 * scale, delta=0.002 * scale)
        speedups = [a["gain"]["speedup"] for a in first["actions"] if a["gain"] and a["gain"]["speedup"]]
        self.assertTrue(speedups)
        for low, high in speedups:
            self.assertTrue(low is None or low <= 1.0, "one trace cannot know the lower end")
            if high is not None:
                self.assertLessEqual(high, 1.665)
        self.assert_ledger_sums(result)

    def test_names_loading_in_the_training_thread(self):
        self.check(shared(SLOW))

    def test_the_answer_follows_the_scale_and_the_date(self):
        source = shared(SLOW)
        year = 365 * 86400 * 1_000_000
        for scale, shift in ((0.5, 0), (3.0, year), (1.0, -year)):
            with self.subTest(scale=scale, shift=shift):
                self.check(self.write(f"rank0_{scale}.json", changed(source, scale, shift)), scale)

    def test_is_gone_when_loading_takes_no_time(self):
        # The same steps without the loader: everything after it moves up.
        trace = json.loads(text_of(shared(SLOW)))
        loads = sorted((e["ts"], e["dur"]) for e in trace["traceEvents"]
                       if e.get("ph") == "X" and "DataLoader" in e["name"])
        kept = []
        for event in trace["traceEvents"]:
            if event.get("ph") == "X" and any(s <= event["ts"] < s + d for s, d in loads) and event.get("cat") == "Operator":
                continue
            gone = sum(d for s, d in loads if s < event.get("ts", 0))
            if event.get("name", "").startswith("ProfilerStep"):
                event["dur"] -= sum(d for s, d in loads if event["ts"] <= s < event["ts"] + event["dur"])
            if "ts" in event:
                event["ts"] -= gone
            kept.append(event)
        trace["traceEvents"] = kept
        result = report(self.write("rank0.json", json.dumps(trace)))
        self.assertNotIn("input.loading_in_main_thread", causes(result))


class LoadingFixed(Case):
    def test_names_the_outliers_and_what_limits_now(self):
        result = report(shared(FAST))
        self.assertFalse([c for c in causes(result) if c.startswith("input.")])
        self.assertEqual(sorted(o["step"] for o in result["outliers"]), [5, 9])
        self.assertTrue(0.65 <= result["productive_fraction"] <= 0.80, result["productive_fraction"])
        text = run("diagnose", shared(FAST), check=0).stdout.decode()
        self.assertRegex(text, "(?i)launch|host")
        self.assert_ledger_sums(result)

    def test_compare_gives_mean_median_outliers_and_phase(self):
        result = comparison(shared(SLOW), shared(FAST))
        self.assertAlmostEqual(result["speedup"]["mean"], 1.25, delta=0.01)
        self.assertAlmostEqual(result["speedup"]["median"], 1.39, delta=0.01)
        low, high = result["speedup"]["ci95"]
        self.assertTrue(1.0 < low < 1.25 < high)
        self.assertEqual(sorted(o["step"] for o in result["outliers"]), [5, 9])
        largest = max(result["phases"], key=lambda p: abs((p["before_s"] or 0) - (p["after_s"] or 0)))
        self.assertEqual(largest["phase"], "input_wait")

    def test_the_same_run_twice_is_not_distinguishable(self):
        result = comparison(shared(FAST), shared(FAST))
        self.assertFalse(result["distinguishable"])
        self.assertAlmostEqual(result["speedup"]["mean"], 1.0)


class OtherHardware(Case):
    def test_compare_names_device_and_copies(self):
        result = comparison(shared("traces/hardware_diff/control.json.gz"), shared("traces/hardware_diff/test.json.gz"))
        self.assertGreater(1 / result["speedup"]["mean"], 1.2)
        told = json.dumps(result)
        self.assertIn("A100", told)
        self.assertIn("V100", told)
        self.assertRegex(told, "copies")


if __name__ == "__main__":
    unittest.main()
