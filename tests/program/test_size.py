"""Inputs made to be large: bounded memory, an end, and a word about what was left out."""
import ctypes
import ctypes.util
import gzip
import io
import json
import os
import resource
import subprocess
import tarfile
import unittest

from program import Case, PROGRAM, run

MANY = int(os.environ.get("FIRSTWAIT_MANY", "20000"))


def zstd(data):
    library = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
    for function in (library.ZSTD_compressBound, library.ZSTD_compress):
        function.restype = ctypes.c_size_t
    room = ctypes.create_string_buffer(library.ZSTD_compressBound(ctypes.c_size_t(len(data))))
    size = library.ZSTD_compress(room, ctypes.c_size_t(len(room)), data, ctypes.c_size_t(len(data)), 1)
    return room.raw[:size]


def archive(members):
    """A tar with these (name, content) members."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def steps(rank, count=20):
    return "".join(json.dumps({"rank": rank, "step": i, "start": 1764500000 + 0.1 * i, "duration": 0.1}) + "\n"
                   for i in range(count)).encode()


class Size(Case):
    def measured(self, *inputs, limit_mib):
        """The exit code and the JSON; more memory than the limit fails the test."""
        out = self.folder / "out.json"
        limit = limit_mib << 20
        code = subprocess.run([PROGRAM, "diagnose", *map(str, inputs), "--format", "json", "--out", str(out)],
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)),
                              stderr=subprocess.DEVNULL, timeout=300).returncode
        self.assertIn(code, (0, 2))
        if code != 0:
            return None
        self.assertLess(out.stat().st_size, 20 << 20)
        return json.loads(out.read_text())

    def health(self, result):
        return {h["name"] for h in result["input_health"]}

    def test_many_ranks_hosts_metrics_settings_and_events(self):
        files = {
            "steps.jsonl": lambda i: '{"rank":%d,"host":"h%d","step":1,"duration":0.1,"start":1764500000}\n' % (i, i // 8),
            "workers.csv": lambda i: ("worker,time,step_time\n" if i == 0 else "") + "%d,1,0.5\n" % i,
            "metrics.om": lambda i: 'm%d{instance="h%d"} %d 1764500000\n' % (i, i % 1000, i),
            "hosts.om": lambda i: 'DCGM_FI_DEV_GPU_UTIL{instance="h%d",gpu="0"} 50 1764500000\n' % i,
            "settings.jsonl": lambda i: '{"entity":"host/h%d","key":"cpu.count","value":"%d","source":"x"}\n' % (i, i % 7),
            "events.jsonl": lambda i: '{"kind":"k%d","entity":"job/x","start":%d}\n' % (i, 1764500000 + i),
        }
        for name, line in files.items():
            with self.subTest(name=name):
                path = self.write(name, "".join(map(line, range(MANY))))
                result = self.measured(path, limit_mib=64 + MANY // 1000)  # about a kilobyte for each
                self.assertEqual(result["findings"], [])

    def test_bombs_end_soon_and_are_named(self):
        blank = b" " * (64 << 20)
        bombs = {
            "blank.json.zst": zstd(b'{"traceEvents":[' + blank) + zstd(blank) * 200,
            "rows.jsonl.zst": zstd(b'{"rank":0,"step":1,"duration":1}\n' * (1 << 20)) * 400,
            "zeros.zst": zstd(b"\0" * (64 << 20)) * 200,
            "inner.fwb": zstd(archive([("steps.jsonl", steps(0)), ("trace.json.zst", zstd(b'{"traceEvents":[' + blank) + zstd(blank) * 200)])),
            "deep.fwb": zstd(archive([("a.json", b'{"traceEvents":[' + blank * 8)])),
            "again.fwb": zstd(archive([("a.fwb", zstd(archive([("steps.jsonl", steps(0))])))])),
        }
        for name, content in bombs.items():
            with self.subTest(name=name):
                path = self.write(name, content)
                result = self.measured(path, limit_mib=1500)
                if result is not None:
                    self.assertIn("implausible_expansion", self.health(result))
                else:
                    self.assertRegex(run("diagnose", path, check=2).stderr.decode(), "firstwait: .*; ")

    def test_what_is_no_bomb_is_read_whole(self):
        self.assertEqual(self.measured(self.write("a.jsonl.gz", gzip.compress(steps(0, 3000))), limit_mib=100)["job"]["steps"], 3000)
        self.assertEqual(self.measured(self.write("a.fwb", zstd(archive([("steps.jsonl", steps(0, 3000))]))), limit_mib=100)["job"]["steps"], 3000)

    def test_members_with_evil_names_are_read_and_nothing_is_written(self):
        names = ["../../evil.jsonl", "/tmp/evil-absolute.jsonl", "a/../../../evil2.jsonl", "x" * 5000 + ".jsonl", "\n\x1b[31m.jsonl"]
        inside = self.folder / "inside"
        inside.mkdir()
        before = sorted(self.folder.rglob("*"))
        path = self.write("inside/site.fwb", zstd(archive([(name, steps(i)) for i, name in enumerate(names)])))
        result = self.measured(path, limit_mib=100)
        self.assertEqual(result["job"]["ranks"], len(names))
        self.assertEqual(sorted(self.folder.rglob("*")), sorted(before + [path, self.folder / "out.json"]))
        self.assertFalse(os.path.exists("/tmp/evil-absolute.jsonl"))

    def test_thousands_of_files(self):
        for i in range(3000):
            self.write(f"many/r{i}.steps.jsonl", steps(i, 3))
            self.write(f"traces/t{i}.json", '[{"ph":"X","name":"a","ts":%d,"dur":1,"pid":1,"tid":1}]' % i)
            self.write(f"unknown/n{i}.txt", "hello\n")
        result = self.measured(self.folder / "many", self.folder / "traces", self.folder / "unknown", limit_mib=400)
        self.assertEqual(result["job"]["ranks"], 3000)
        members = [(f"r{i}.steps.jsonl", steps(i, 3)) for i in range(3000)] + [(f"e{i}", b"") for i in range(3000)]
        result = self.measured(self.write("many.fwb", zstd(archive(members))), limit_mib=400)
        self.assertEqual(result["job"]["ranks"], 3000)


if __name__ == "__main__":
    unittest.main()
