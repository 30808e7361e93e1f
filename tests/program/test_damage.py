"""Damaged, truncated and empty inputs: no crash, no hang, an exit code of the contract, a remedy, no invented finding."""
import gzip
import json
import random
import unittest

from program import Case, report, run, shared, SHARED


class Damage(Case):
    def check(self, path):
        result = run("diagnose", path, "--format", "json", timeout=60)
        self.assertIn(result.returncode, (0, 2), result.stderr)
        if result.returncode == 2:
            self.assertRegex(result.stderr.decode(), "firstwait: .*;")  # what, where; remedy
            return None
        return json.loads(result.stdout)

    def test_every_edge_case_trace(self):
        folder = shared("traces/edge_cases")
        for path in sorted(folder.rglob("*.json.gz")):
            with self.subTest(path=path.name):
                self.check(path)

    def test_truncated_corrupted_and_empty_copies(self):
        rng = random.Random(7)
        for path in sorted(shared("traces/edge_cases").rglob("*.json.gz")):
            data = path.read_bytes()
            plain = gzip.decompress(data)
            for _ in range(6):
                cut = self.write("cut.json", plain[:rng.randrange(len(plain))])
                self.check(cut)
                result = self.check(self.write("cut.json.gz", data[:rng.randrange(1, len(data))]))
                if result is not None:
                    self.assertTrue(any(h["remedy"] for h in result["input_health"]), path)
            broken = bytearray(data)
            for _ in range(20):
                broken[rng.randrange(len(broken))] ^= 1 << rng.randrange(8)
            self.check(self.write("broken.json.gz", bytes(broken)))
        self.assertIsNone(self.check(self.write("empty.json", b"")))

    def test_events_that_prove_nothing_give_no_finding(self):
        events = [{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 10 * i, "dur": 3} for i in range(50)]
        result = report(self.write("trace.json", json.dumps({"traceEvents": events})))
        self.assertEqual(result["findings"], [])
        self.assertEqual(len(result["checklist"]), 7)
        self.assertTrue(result["untested"])
        text = run("diagnose", self.folder / "trace.json", check=0).stdout.decode()
        self.assertRegex(text, "(?i)undetermined|cannot judge")

    def test_a_missing_path_and_an_unknown_file_are_usage_errors(self):
        self.assertIn(b"no such file", run("diagnose", self.folder / "absent.json", check=2).stderr)
        run("diagnose", self.write("notes.txt", "hello\n"), check=2)
        run("diagnose", check=2)
        run("frobnicate", check=2)

    def test_a_damaged_file_beside_a_good_one_leaves_the_good_one(self):
        good = "".join(json.dumps({"rank": 0, "step": i, "duration": 0.1, "start": 1764500000 + 0.1 * i}) + "\n" for i in range(50))
        self.write("steps.jsonl", good)
        self.write("trace.json.gz", b"\x1f\x8b\x08\x00garbage")
        result = report(self.folder)
        self.assertEqual(result["job"]["steps"], 50)
        self.assertTrue(any("trace.json.gz" in h["source"] for h in result["input_health"]))


if __name__ == "__main__":
    unittest.main()
