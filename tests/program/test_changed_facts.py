"""Changed copies of benchmark outputs, flight records, NCCL logs and captures of nodes: the answer follows the change."""
import datetime
import json
import pickle
import re
import unittest

from program import Case, causes, comparison, finding, report, run, shared, text_of

YEAR = 365 * 86400


def where(found, kind):
    return sorted(place for place in found["where"] if place.startswith(kind + "/"))


class StorageBenchmark(Case):
    """MLPerf Storage: five epochs, of which the last of run5 dips."""
    SOURCE = "logs/mlperf_storage_dip/"

    def changed(self, run_name, order, scale=1.0, shift=0.0, host=None, steady=False):
        """Epochs in another `order`, one behind the other; `steady` ones last as long as the first in that order."""
        epochs = json.loads(text_of(shared(f"{self.SOURCE}{run_name}/per_epoch_stats.json")))
        summary = json.loads(text_of(shared(f"{self.SOURCE}{run_name}/summary.json")))
        self.write("config.yaml", text_of(shared(f"{self.SOURCE}{run_name}/config.yaml")))

        def stamp(seconds):
            return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).replace(tzinfo=None).isoformat()

        def seconds(text):
            return datetime.datetime.fromisoformat(text + "+00:00").timestamp()
        at = seconds(epochs["1"]["start"]) + shift
        out = {}
        for number, source in enumerate(order, 1):
            old = epochs[str(order[0] if steady else source)]
            whole = scale * (seconds(old["end"]) - seconds(old["start"]))
            block = scale * (seconds(old["block1"]["end"]) - seconds(old["block1"]["start"]))
            out[str(number)] = {
                "start": stamp(at), "end": stamp(at + whole), "duration": f"{whole:.2f}",
                "block1": {"start": stamp(at), "end": stamp(at + block), "duration": f"{block:.2f}"}}
            at += whole
        metric = summary["metric"]
        for name, factor in (("train_au_percentage", 1), ("train_throughput_samples_per_second", 1 / scale)):
            metric[name] = [factor * metric[name][(order[0] if steady else source) - 1] for source in order]
        summary["hostname"] = host or summary["hostname"]
        self.write("per_epoch_stats.json", json.dumps(out))
        self.write("summary.json", json.dumps(summary))
        return report(self.folder)

    def test_the_dip_moves_with_its_epoch_at_any_scale_and_date(self):
        for place, scale, shift in ((2, 1.0, YEAR), (3, 3.0, 0), (4, 0.5, -YEAR)):
            order = [1, 2, 3, 4]
            order.insert(place - 1, 5)
            with self.subTest(place=place, scale=scale):
                result = self.changed("run5", order, scale, shift, host="storage-client-9")
                self.assertEqual([o["step"] for o in result["outliers"]], [place])
                self.assertAlmostEqual(result["outliers"][0]["ratio"], 1.42, delta=0.02)
                self.assertAlmostEqual(result["step_time"]["current_s"], 154.2 * scale, delta=scale)
                self.assertEqual(causes(result, 0.5), [])
                self.assert_ledger_sums(result)

    def test_the_dip_is_gone_with_its_epoch(self):
        result = self.changed("run5", [4, 1, 2, 3, 5], steady=True)
        self.assertEqual(result["outliers"], [])
        self.assertEqual(causes(result, 0.5), [])

    def test_a_steady_run_stays_steady_in_any_order(self):
        for order in ([5, 4, 3, 2, 1], [2, 4, 1, 5, 3]):
            result = self.changed("run1", order, scale=3, shift=YEAR)
            self.assertEqual(result["outliers"], [])
            self.assertEqual(causes(result, 0.5), [])


class FlightRecorder(Case):
    def dumps(self, name):
        folder = shared(f"flight_recorder/{name}")
        return {rank: pickle.loads((folder / f"_dump_{rank}").read_bytes()) for rank in range(16)}

    def moved(self, dumps, rename, shift=0):
        for rank, dump in dumps.items():
            for group in dump["pg_config"].values():
                members = sorted(rename(r) for r in json.loads(group["ranks"]))
                group["ranks"] = json.dumps(members)
            for entry in dump["entries"]:
                entry["time_created_ns"] += shift * 10**9
            self.write(f"nccl_trace_rank_{rename(rank)}", pickle.dumps(dump, protocol=2))
        return report(self.folder)

    def test_missing_ranks_follow_their_numbers(self):
        for name, missing in (("gpu_error_1st", [12]), ("lock_gil_1st", [9, 14])):
            for rename in (lambda r: (r + 5) % 16, lambda r: 15 - r):
                with self.subTest(name=name, first=rename(0)):
                    found = finding(self.moved(self.dumps(name), rename, YEAR), "sync.missing_rank")
                    self.assertIsNotNone(found)
                    self.assertEqual(where(found, "rank"), sorted(f"rank/{rename(r)}" for r in missing))
                    self.assertIn("nccl:all_to_all", found["title"] + json.dumps(found))

    def test_nobody_is_missing_before_the_fault(self):
        # Each group as it was when all its members had completed the same collective.
        dumps = self.dumps("lock_gil_1st")
        completed = {}
        for rank, dump in dumps.items():
            for entry in dump["entries"]:
                name = entry["process_group"][0]
                if entry["is_p2p"]:
                    continue
                done = completed.setdefault((name, dump["pg_config"][name]["ranks"]), {})
                seq = entry["collective_seq_id"]
                done[rank] = max(done.get(rank, -1), seq if entry["state"] == "completed" else seq - 1)
        for dump in dumps.values():
            dump["pg_status"] = {}
            dump["entries"] = [
                dict(e, state="completed") for e in dump["entries"]
                if e["is_p2p"] or e["collective_seq_id"] <= min(
                    completed[(e["process_group"][0], dump["pg_config"][e["process_group"][0]]["ranks"])].values())]
        result = self.moved(dumps, lambda r: r)
        self.assertEqual(causes(result), [])
        self.assertIn("sync.missing_rank", [r["cause"] for r in result["ruled_out"]])


class NcclLog(Case):
    SOURCE = "logs/nccl/all_reduce_bench-a100-n4.txt.gz"

    def changed(self, *substitutions):
        text = text_of(shared(self.SOURCE))
        for pattern, replacement in substitutions:
            text = re.sub(pattern, replacement, text)
        return report(self.write("nccl.log", text))

    def test_the_transport_follows_the_log(self):
        found = finding(self.changed((r"jean-zay-iam(\d+)", r"node\1")), "network.wrong_transport")
        self.assertIn("GPUDirect", found["title"])
        found = finding(self.changed((r"via NET/IB/(\d)", r"via NET/Socket/\1")), "network.wrong_transport")
        self.assertIn("socket", json.dumps(found).lower())
        self.assertGreaterEqual(found["confidence"], 0.7)

    def test_nothing_is_said_of_a_log_with_gpudirect(self):
        result = self.changed((r"via NET/IB/(\d)", r"via NET/IB/\1/GDRDMA"))
        self.assertNotIn("network.wrong_transport", causes(result))
        self.assertIn("network.wrong_transport", [r["cause"] for r in result["ruled_out"]])

    def test_only_the_hosts_that_fell_back_are_named(self):
        result = self.changed((r"via NET/IB/(\d)", r"via NET/IB/\1/GDRDMA"),
                              (r"(?m)^(jean-zay-iam52.* via NET/)IB/(\d)/GDRDMA", r"\1Socket/\2"))
        found = finding(result, "network.wrong_transport")
        self.assertIsNotNone(found)
        self.assertEqual(where(found, "host"), ["host/jean-zay-iam52"])


class Nodes(Case):
    """nvidia-smi and the kernel's log, each a snapshot of one node."""

    def test_the_power_brake_is_named_at_the_gpus_that_have_it(self):
        text = text_of(shared("node/gpud/nvidia-smi-query.535.161.08.out.0.valid"))
        head, *gpus = re.split(r"(?m)^(?=GPU 0)", text)
        self.assertEqual(len(gpus), 8)

        def calm(gpu):
            return re.sub(r"(HW Slowdown|HW Power Brake Slowdown)( +): Active", r"\1\2: Not Active", gpu)
        for slow in ([3], [0, 6], []):
            with self.subTest(slow=slow):
                kept = [gpu if i in slow else calm(gpu) for i, gpu in enumerate(gpus)]
                found = finding(report(self.write("node77.txt", head + "".join(kept))), "gpu.power_cap")
                if not slow:
                    self.assertIsNone(found)
                else:
                    self.assertEqual(where(found, "gpu"), [f"gpu/node77:{i}" for i in slow])
                    self.assertEqual(where(found, "host"), ["host/node77"])

    def test_pending_remaps_are_a_fault_until_they_are_gone(self):
        text = text_of(shared("node/gpud/nvidia-smi-query.535.129.03.out.0.valid.a10"))
        found = finding(report(self.write("node5.txt", text)), "gpu.hardware_errors")
        self.assertIsNotNone(found)
        self.assertEqual(where(found, "gpu"), ["gpu/node5:0"])
        healthy = re.sub(r"(Uncorrectable Error +): 4", r"\1: 0", re.sub(r"(Pending +): Yes", r"\1: No", text))
        self.assertNotIn("gpu.hardware_errors", causes(report(self.write("node5.txt", healthy))))

    def test_an_xid_is_named_at_its_gpu_and_gone_with_its_lines(self):
        text = text_of(shared("node/gpud/dmesg-with-xid-119.log"))
        moved = text.replace("0000:9b:00", "0000:1a:00")
        found = finding(report(self.write("node8.log", moved)), "gpu.hardware_errors")
        self.assertIn("0000:1a:00", "".join(found["where"]))
        self.assertNotIn("9b:00", json.dumps(found))
        found = finding(report(self.write("node8.log", re.sub(r"(Xid \([^)]*\)): 119,", r"\1: 79,", text))), "gpu.hardware_errors")
        self.assertIn("fallen off the bus", json.dumps(found))
        rest = "".join(line for line in text.splitlines(True) if "Xid" not in line)
        result = run("diagnose", self.write("node8.log", rest), "--format", "json")
        self.assertIn(result.returncode, (0, 2))
        if result.returncode == 0:
            self.assertEqual(json.loads(result.stdout)["findings"], [])


class OtherHardware(Case):
    BEFORE, AFTER = "traces/hardware_diff/control.json.gz", "traces/hardware_diff/test.json.gz"

    def changed(self, name, scale=1.0, shift_us=0, model=None, rank=None, copies=True):
        trace = json.loads(text_of(shared(name)))
        events = trace["traceEvents"]
        first = min(e["ts"] for e in events if e.get("ph") == "X")
        for event in events:
            if "ts" in event:
                event["ts"] = first + round((event["ts"] - first) * scale) + shift_us
            if "dur" in event:
                event["dur"] = round(event["dur"] * scale)
        if model:
            for device in trace["deviceProperties"]:
                device["name"] = model
        if rank is not None:
            trace["distributedInfo"]["rank"] = rank
        if not copies:
            trace["traceEvents"] = [e for e in events if e.get("cat") != "gpu_memcpy"]
        return self.write(f"{'copy' if name == self.BEFORE else 'other'}/trace.json", json.dumps(trace))

    def test_the_other_way_round_the_ratio_is_its_inverse(self):
        there = comparison(shared(self.BEFORE), shared(self.AFTER))
        back = comparison(shared(self.AFTER), shared(self.BEFORE))
        for kind in ("mean", "median"):
            self.assertAlmostEqual(there["speedup"][kind] * back["speedup"][kind], 1, delta=1e-6)
        self.assertTrue(back["distinguishable"])

    def test_the_ratio_follows_the_scale(self):
        before = comparison(shared(self.BEFORE), shared(self.AFTER))["speedup"]["mean"]
        for scale in (0.5, 3.0):
            after = comparison(shared(self.BEFORE), self.changed(self.AFTER, scale, YEAR * 10**6, rank=3))
            self.assertAlmostEqual(after["speedup"]["mean"], before / scale, delta=0.01 * before / scale)

    def test_only_what_differs_is_told(self):
        told = json.dumps(comparison(shared(self.BEFORE), self.changed(self.AFTER, model="NVIDIA A100-PG509-200", copies=False)))
        self.assertNotIn("V100", told)
        self.assertNotIn("the device differs", told)
        same = comparison(shared(self.BEFORE), self.changed(self.BEFORE, shift_us=YEAR * 10**6, rank=5))
        self.assertFalse(same["distinguishable"])
        self.assertAlmostEqual(same["speedup"]["median"], 1.0, delta=1e-6)


if __name__ == "__main__":
    unittest.main()
