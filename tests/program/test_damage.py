"""Damaged, truncated and empty inputs: no crash, no hang, an exit code of the contract, a remedy, no invented finding."""
import gzip
import json
import os
import random
import re
import threading
import unittest
import zlib

from program import Case, causes, report, run, shared


CUTS = int(os.environ.get("FIRSTWAIT_CUTS", "3"))  # of each trace, plain and compressed


def inflated(data):
    """What a compressed file holds up to where it is cut."""
    stream, out = zlib.decompressobj(31), b""
    try:
        for at in range(0, len(data), 256):
            out += stream.decompress(data[at:at + 256])
    except zlib.error:
        pass
    return out


def whole(plain):
    """The whole events of a cut trace, as a sound trace; None when it ends before them."""
    text = plain.decode(errors="replace")
    begin = re.search(r'"traceEvents"\s*:\s*\[|^\s*\[', text)
    if begin is None:
        return None
    decoder, blank, end = json.JSONDecoder(), re.compile(r"[\s,]*"), begin.end()
    while True:
        try:
            _, end = decoder.raw_decode(text, blank.match(text, end).end())
        except ValueError:
            return text[:end] + ("]" if begin.group().strip() == "[" else "]}")


class Damage(Case):
    def check(self, path, known=None):
        """What `diagnose` says, or None where there is nothing to read; it finds nothing but the `known` causes."""
        result = run("diagnose", path, "--format", "json", timeout=60)
        self.assertIn(result.returncode, (0, 2), result.stderr)
        if result.returncode == 2:
            self.assertRegex(result.stderr.decode(), "firstwait: .*;")  # what, where; remedy
            return None
        said = json.loads(result.stdout)
        if known is not None:
            if said["findings"]:
                self.assertLessEqual(set(causes(said)), known())
            self.assertTrue(any(h["severity"] != "info" and h["remedy"] for h in said["input_health"]), path)
            if not said["job"]["steps"]:
                self.assertEqual(said["findings"], [])
        return said

    def supported_by(self, plain):
        """The causes that the events left would show had there never been more of them."""
        rest = whole(plain)
        said = rest and run("diagnose", self.write("whole.json", rest), "--format", "json", timeout=60)
        return set(causes(json.loads(said.stdout))) if said and said.returncode == 0 else set()

    def test_every_edge_case_trace_cut_corrupted_and_empty(self):
        rng = random.Random(7)
        for path in sorted(shared("traces/edge_cases").rglob("*.json.gz")):
            data = path.read_bytes()
            plain = gzip.decompress(data).rstrip()
            known = set(causes(self.check(path)))
            for kind, content in (("json", plain), ("json.gz", data)):
                for at in [0, 1, len(content) - 1] + [rng.randrange(len(content)) for _ in range(CUTS)]:
                    with self.subTest(path=path.name, kind=kind, at=at):
                        cut = content[:at]
                        self.check(self.write(f"cut.{kind}", cut), lambda: self.supported_by(cut if kind == "json" else inflated(cut)))
            for i in range(CUTS):
                with self.subTest(path=path.name, broken=i):
                    broken = bytearray(data)
                    for _ in range(20):
                        broken[rng.randrange(len(broken))] ^= 1 << rng.randrange(8)
                    self.check(self.write("broken.json.gz", bytes(broken)), lambda: known)
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


EVIL = "<script>alert(1)</script><img src=x onerror=alert(1)>\x1b[31m\"'&\u0085\U0001f600"


def step_lines(**columns):
    row = {"rank": 0, "duration": 0.1, **columns}
    return "".join(json.dumps({**row, "step": i, "start": 1764500000 + 0.1 * i}) + "\n" for i in range(60))


class Hostile(Case):
    """Names, numbers and files made to do harm."""

    def strict(self, *inputs):
        def refuse(word):
            raise ValueError(word)
        result = run("diagnose", *inputs, "--format", "json", timeout=60, check=0)
        return json.loads(result.stdout.decode(), parse_constant=refuse)

    def test_names_cannot_steer_a_terminal_or_a_page(self):
        lines = "".join(json.dumps({"rank": r, "step": i, "start": 1764500000 + 0.5 * i, "host": EVIL + str(r),
                                    "duration": 0.4 if i < 50 else 0.8,
                                    "phases": {"input_wait": 0.5 if r == 3 and i >= 50 else 0.1}}) + "\n"
                        for r in range(4) for i in range(100))
        path = self.write("steps_<b>\x1b[31m.jsonl", lines + "garbage {\n")
        self.strict(path)
        text = run("diagnose", path, check=0).stdout.decode()
        self.assertNotRegex(text, "[\x00-\x08\x0b-\x1f\x7f-\x9f]")
        page = run("diagnose", path, "--format", "html", check=0).stdout.decode()
        self.assertNotRegex(page, "<script>alert|<img src=x|\x1b")
        said = run("diagnose", self.write("notes_\x1b[31m.txt", "hello\n"), check=2).stderr
        self.assertNotIn(b"\x1b", said)

    def test_impossible_numbers_are_counted_and_prove_nothing(self):
        numbers = ("-0.1", "NaN", "1e308", "-1e308", "9223372036854775807", "-9223372036854775808", "null", '"x"')
        for duration in numbers:
            lines = "".join('{"rank":0,"step":%d,"duration":%s,"start":%d}\n' % (i, duration, 1764500000 + i) for i in range(60))
            with self.subTest(duration=duration):
                result = run("diagnose", self.write("steps.jsonl", lines), "--format", "json", timeout=60)
                self.assertIn(result.returncode, (0, 2), result.stderr)
                if result.returncode == 0:
                    self.assertEqual(json.loads(result.stdout)["findings"], [])
        for start in numbers[1:]:
            lines = "".join('{"rank":0,"step":%d,"duration":0.1,"start":%s}\n' % (i, start) for i in range(60))
            with self.subTest(start=start):
                self.assertIn(run("diagnose", self.write("steps.jsonl", lines), timeout=60).returncode, (0, 2))

    def test_a_file_and_its_copy_count_once(self):
        result = self.strict(self.write("a/steps.jsonl", step_lines()), self.write("b/steps.jsonl", step_lines()))
        self.assertEqual(result["job"]["steps"], 60)
        self.assertEqual(result["findings"], [])

    def test_deep_nesting_is_refused_not_followed(self):
        for name, text in (("t.json", '{"traceEvents":' + "[" * 200000), ("steps.jsonl", '{"rank":0,"step":1,"x":' + "[" * 200000 + "\n"),
                           ("inventory.yaml", "entities: " + "[" * 20000), ("gpu.xml", "<nvidia_smi_log>" + "<a>" * 100000)):
            with self.subTest(name=name):
                self.assertIn(run("diagnose", self.write(name, text), timeout=60).returncode, (0, 2))

    def test_pipes_and_devices_end(self):
        pipe = self.folder / "steps.jsonl"
        os.mkfifo(pipe)
        said = run("diagnose", pipe, timeout=30, check=2).stderr.decode()  # nobody writes
        self.assertRegex(said, "pipe.*; .*file")
        run("diagnose", "/dev/zero", timeout=30, check=2)
        self.write("more/steps.jsonl", step_lines())
        os.mkfifo(self.folder / "more/pipe")
        os.symlink(self.folder / "more", self.folder / "more/loop")
        os.symlink("self", self.folder / "more/self")
        result = self.strict(self.folder / "more")
        self.assertEqual(result["job"]["steps"], 60)
        self.assertIn("special_file", [h["name"] for h in result["input_health"]])
        writer = threading.Thread(target=lambda: pipe.write_text(step_lines()))
        writer.start()
        self.assertEqual(self.strict(pipe)["job"]["steps"], 60)
        writer.join()


class Misuse(Case):
    """What cannot be done is said, with exit code 2 and what to do instead."""

    def refused(self, *arguments):
        result = run("diagnose", self.write("steps.jsonl", step_lines(job="a")), *arguments, check=2)
        self.assertEqual(result.stdout, b"")
        return result.stderr.decode()

    def test_options_that_contradict_the_input(self):
        self.assertIn("--since is after --until", self.refused("--since", "1764500009", "--until", "1764500001"))
        self.assertRegex(self.refused("--job", "nosuch"), "no such job.*holds a")
        self.assertIn("--log-pattern", self.refused("--log-pattern", "(("))
        run("diagnose", self.folder / "steps.jsonl", "--job", "a", check=0)

    def test_a_confidence_that_is_none(self):
        for value in ("nan", "-nan", "inf", "1.5", "-0.1", "high", ""):
            said = self.refused("--fail-on", value)
            self.assertIn("--fail-on", said)
            self.assertIn("from 0 to 1", said)
        run("diagnose", self.folder / "steps.jsonl", "--fail-on", "0.5", check=0)

    def test_places_that_cannot_be_written(self):
        for place in ("/nonexistent/x", self.folder, "/dev/full"):
            self.assertRegex(self.refused("--out", place), "firstwait: .*;")


if __name__ == "__main__":
    unittest.main()
