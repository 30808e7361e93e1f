"""`firstwait run`: unnoticed by the program, and its evidence read back. Jobs train with Debian's PyTorch, if it is there."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest

from program import Case, PROGRAM, ledger, report

JOBS = pathlib.Path(__file__).resolve().parent / "jobs"


def python_with_torch():
    for python in (os.environ.get("FIRSTWAIT_PYTHON"), "/usr/bin/python3", sys.executable):
        if python and shutil.which(python) and \
                subprocess.run([python, "-c", "import torch"], capture_output=True).returncode == 0:
            return python
    return None


PYTHON = python_with_torch()


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


class RunCase(Case):
    def run_under(self, *command, options=(), environment=None, timeout=180, out="bundle"):
        """The finished process; its bundle is in self.folder / out."""
        return subprocess.run([PROGRAM, "run", "--out", self.folder / out, *options, "--", *map(str, command)],
                              capture_output=True, timeout=timeout, cwd=self.folder,
                              env=dict(os.environ, **(environment or {})))

    @property
    def bundle(self):
        return self.folder / "bundle"


class Unnoticed(RunCase):
    def test_exit_code_and_output_pass_through(self):
        result = self.run_under("sh", "-c", "printf 'a\\000b'; printf error >&2; exit 7")
        self.assertEqual(result.returncode, 7)
        self.assertEqual(result.stdout, b"a\0b")
        self.assertTrue(result.stderr.startswith(b"error"))

    def test_input_passes_through(self):
        result = subprocess.run([PROGRAM, "run", "--out", self.bundle, "--", "cat"], input=b"through", capture_output=True)
        self.assertEqual(result.stdout, b"through")

    def test_a_killed_program_kills_the_caller_alike(self):
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV):
            result = self.run_under("sh", "-c", f"kill -{int(number)} $$")
            self.assertEqual(result.returncode, -number)

    def test_signals_are_passed_on(self):
        process = subprocess.Popen([PROGRAM, "run", "--out", self.bundle, "--", "sh", "-c",
                                    "trap 'echo got; exit 3' USR1; echo ready; while :; do sleep 0.05; done"],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        process.send_signal(signal.SIGUSR1)
        self.assertEqual(process.communicate(timeout=30)[0], b"got\n")
        self.assertEqual(process.returncode, 3)

    def test_a_full_disk_ends_no_program(self):
        import resource
        job = "import time\nfor i in range(8): print(i, flush=True); time.sleep(0.1)"
        result = subprocess.run([PROGRAM, "run", "--out", self.bundle, "--", sys.executable, "-c", job], capture_output=True,
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)))
        self.assertEqual((result.returncode, result.stdout.split()), (0, [b"%d" % i for i in range(8)]))
        self.assertIn(b"free space", result.stderr)

    def test_a_reader_of_the_report_that_is_gone_changes_no_exit_code(self):
        read, write = os.pipe()
        os.close(read)
        process = subprocess.Popen([PROGRAM, "run", "--live", "--out", self.bundle, "--", "sh", "-c", "sleep 0.3; exit 5"],
                                   stdout=subprocess.DEVNULL, stderr=write)
        os.close(write)
        self.assertEqual(process.wait(timeout=60), 5)

    def test_signals_that_are_ignored_here_are_not_for_the_program(self):
        def ignored(output):
            mask = int(output.split()[1], 16)
            return mask >> signal.SIGPIPE - 1 & 1, mask >> signal.SIGXFSZ - 1 & 1
        command = ("sh", "-c", "grep SigIgn /proc/self/status")
        self.assertEqual(ignored(self.run_under(*command).stdout), ignored(subprocess.run(command, capture_output=True).stdout))

    def test_a_program_that_is_not_there(self):
        self.assertEqual(self.run_under("/nowhere/at/all").returncode, 127)
        self.assertEqual(self.run_under("/etc/passwd").returncode, 126)

    def test_pythons_own_start_up_stays(self):
        site = self.write("site/sitecustomize.py", "import os; os.environ['SEEN'] = 'yes'")
        program = "import os, sys; print(os.environ['SEEN'], any('firstwait' in p for p in sys.path), 'torch' in sys.modules)"
        result = self.run_under(sys.executable, "-c", program, environment={"PYTHONPATH": str(site.parent)})
        self.assertEqual(result.stdout.split(), [b"yes", b"False", b"False"])

    def test_nothing_is_left_behind(self):
        places = [p for p in (os.environ.get("XDG_RUNTIME_DIR"), "/dev/shm") if p and os.path.isdir(p)]
        process = self.run_under("true")
        self.assertEqual(process.returncode, 0)
        left = [n for p in places for n in os.listdir(p) if n.startswith(f"firstwait-run-")]
        living = [n for n in left if os.path.exists(f"/proc/{n.split('-')[2]}")]
        self.assertEqual(left, living)


@unittest.skipIf(PYTHON is None, "no Python with torch here (python3-torch)")
class Training(RunCase):
    def train(self, *arguments, job="small.py", options=(), timeout=180, **environment):
        return self.run_under(PYTHON, JOBS / job, *arguments, options=options, timeout=timeout,
                              environment={"CUDA_VISIBLE_DEVICES": "", **environment})

    def steps(self):
        return lines(self.bundle / "steps.jsonl")

    def test_every_step_and_its_phases(self):
        result = self.train(SLEEP="0.001")
        self.assertEqual((result.returncode, result.stdout), (0, b"trained torch.float32\n"), result.stderr.decode())
        steps = self.steps()
        self.assertEqual([s["step"] for s in steps], list(range(40)))
        self.assertEqual([s["epoch"] for s in steps], [0] * 20 + [1] * 20)
        for step in steps:
            self.assertEqual(step["samples"], 8)
            phases = step["phases"]
            self.assertLessEqual(sum(phases.values()), step["duration"] + 1e-9)
            self.assertGreaterEqual(phases["input_wait"], 0.008)  # eight samples, one after the other
            for phase in ("forward", "backward", "optimizer"):
                self.assertGreater(phases[phase], 0)
            self.assertGreaterEqual(step["loader"]["fetch"], 0.007)  # asleep: not preparing
            self.assertEqual(step["loader"]["workers"], 0)
        # The evaluation lies between the epochs; a frozen module in the loop is none.
        self.assertEqual([s["step"] for s in steps if s["phases"]["evaluation"]], [20])
        self.assertGreater(steps[20]["phases"]["evaluation"], 4 * 0.008)
        settings = {s["key"]: s["value"] for s in lines(self.bundle / "settings.jsonl")}
        self.assertEqual((settings["loader.num_workers"], settings["loader.batch_size"]), ("0", "8"))
        self.assertIn("torch.version", settings)

    def test_workers_are_seen_forked_and_spawned(self):
        for start in ("fork", "spawn"):
            with self.subTest(start):
                shutil.rmtree(self.bundle, ignore_errors=True)
                self.assertEqual(self.train(SLEEP="0.002", WORKERS="2", START=start).returncode, 0)
                steps = self.steps()
                self.assertEqual(len(steps), 40)
                fetched = sum(s.get("loader", {}).get("fetch", 0) for s in steps)
                self.assertGreater(fetched, 36 * 8 * 0.002)
                self.assertEqual(steps[5]["loader"]["workers"], 2)

    @unittest.skipIf(os.geteuid() != 0, "only root can become somebody else")
    def test_an_ordinary_user_needs_no_privilege(self):
        root = pathlib.Path(PROGRAM).resolve().parent.parent
        shutil.copytree(root / "lib/firstwait", self.folder / "lib/firstwait")
        (self.folder / "bin").mkdir()
        shutil.copy(PROGRAM, self.folder / "bin/firstwait")
        shutil.copy(JOBS / "small.py", self.folder)
        subprocess.run(["chmod", "-R", "a+rX", self.folder], check=True)
        self.folder.chmod(0o777)
        done = subprocess.run([self.folder / "bin/firstwait", "run", "--out", "bundle", "--", PYTHON, "small.py"],
                              capture_output=True, timeout=180, cwd=self.folder, user=65534, group=65534, extra_groups=[],
                              env={"PATH": os.environ["PATH"], "CUDA_VISIBLE_DEVICES": ""})
        self.assertEqual((done.returncode, done.stdout), (0, b"trained torch.float32\n"), done.stderr.decode())
        self.assertEqual(len(self.steps()), 40)
        self.assertIn("node_load1", (self.bundle / "node/metrics.om").read_text())

    def test_checkpoints_are_the_programs_own(self):
        self.assertEqual(self.train(str(self.folder / "model.pt")).returncode, 0)
        events = lines(self.bundle / "events.jsonl")
        self.assertEqual([e["kind"] for e in events], ["checkpoint", "checkpoint"])
        self.assertEqual(events[0]["attributes"]["bytes"], (self.folder / "model.pt").stat().st_size)
        load = "import sys, torch; print(type(torch.load(sys.argv[1])).__name__, 'firstwait' in sys.modules)"
        loaded = subprocess.run([PYTHON, "-c", load, self.folder / "model.pt"], capture_output=True)
        self.assertEqual(loaded.stdout.split(), [b"Sequential", b"False"])

    def test_errors_look_as_they_do_alone(self):
        program = self.write("fails.py", """
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Sequential(torch.nn.Linear(4, 4))
    def forward(self, x):
        return self.inner(x)
Net()(torch.zeros(1, 5))
""")
        alone = subprocess.run([PYTHON, program], capture_output=True)
        under = self.run_under(PYTHON, program)
        self.assertEqual(under.returncode, alone.returncode)
        error = under.stderr.split(b"firstwait: ")[0]
        if subprocess.run([PYTHON, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]).returncode == 0:
            self.assertEqual(error, alone.stderr)  # before 3.11 an outermost frame of ours stays
        self.assertTrue(error.rstrip().endswith(alone.stderr.rstrip().splitlines()[-1]))

    def test_a_library_that_is_missing_stops_no_training(self):
        empty = self.folder / "empty"
        empty.mkdir()
        result = self.train(FIRSTWAIT_LIB_DIR=str(empty))
        self.assertEqual((result.returncode, result.stdout), (0, b"trained torch.float32\n"))
        self.assertIn(b"libfirstwait_emit.so is missing", result.stderr)

    def test_hooks_can_be_switched_off(self):
        done = self.train(FIRSTWAIT_HOOKS_OFF="model,backward,colector")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stderr.decode().count("no hook colector; there are loader"), 1)
        for step in self.steps():
            self.assertNotIn("forward", step["phases"])
            self.assertIn("optimizer", step["phases"])

    def test_what_a_killed_program_did_last_is_kept(self):
        # Batches of 0.4 s: killed in the middle of one.
        process = subprocess.Popen([PROGRAM, "run", "--out", self.bundle, "--", PYTHON, JOBS / "small.py"],
                                   env=dict(os.environ, SLEEP="0.05"), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        spans = self.bundle / "spans.jsonl"
        deadline = time.time() + 60
        while not (self.bundle / "steps.jsonl").exists() and time.time() < deadline:
            time.sleep(0.05)
        time.sleep(1.2)
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        killed = time.time()
        os.kill(int(children[0]), signal.SIGKILL)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, -signal.SIGKILL)
        recent = [s for s in lines(spans) if s["start"] + s["duration"] > killed - 1]
        self.assertTrue({"backward", "optimizer", "input_wait"} <= {s["phase"] for s in recent}, recent)
        self.assertTrue([s for s in recent if s.get("open") and s["phase"] == "input_wait"], recent)


@unittest.skipIf(PYTHON is None, "no Python with torch here (python3-torch)")
class TwoRanks(RunCase):
    def fault(self, name):
        result = self.run_under(PYTHON, JOBS / "two_ranks.py", name, 60, options=["--live"], timeout=300)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        return result.stderr.decode(), report(self.bundle)

    def assert_rank_1_is_named(self, result, phase):
        # Where other programs keep the processors busy that may be found behind it: then it is a link of the chain.
        found = result["findings"][0]
        told = json.dumps([found["where"], found["chain"]])
        self.assertIn("rank/1", told)
        self.assertNotIn("rank/0", told)
        self.assertIn(phase.replace("_", " "), json.dumps(found["chain"]))
        row = ledger(result)[phase]
        self.assertGreater(row["share"], 0.5)
        self.assertEqual(row["ranks"], [1])

    def test_a_slow_loader_on_one_rank(self):
        text, result = self.fault("loader")
        self.assert_rank_1_is_named(result, "input_wait")
        self.assertRegex(text.split("$ firstwait")[0], r"input wait .* rank 1")  # while it ran
        steps = lines(self.bundle / "steps.jsonl")
        waits = {r: sum(s["phases"].get("collective", 0) for s in steps[20:] if s["rank"] == r) for r in (0, 1)}
        self.assertGreater(waits[0], 5 * waits[1])  # the victim waits
        self.assertIn("loader waits for data", json.dumps(result["findings"][0]))

    def test_a_slow_backward_pass_on_one_rank(self):
        text, result = self.fault("backward")
        self.assert_rank_1_is_named(result, "backward")
        buckets = [s for s in lines(self.bundle / "spans.jsonl") if s["op"] == "DDP bucket 0" and s["rank"] == 1]
        self.assertGreater(len(buckets), 40)
        for bucket in buckets[-20:]:  # the gradients behind the slow function come 80 ms after those before it
            self.assertGreater(bucket["duration"], 0.08)
            self.assertTrue(bucket["thread"].startswith("background"))
        self.assertRegex(text.split("$ firstwait")[0], r"backward .* rank 1")


if __name__ == "__main__":
    unittest.main()
