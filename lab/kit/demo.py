"""The case that Firstwait exists for, live, in about two minutes: a job's dataset moves to slow remote storage and its augmentation
gets heavy. Firstwait says when, where and why, and what each fix would gain; then the fixes are applied one after another. Where
the lab cannot run, the same with a recorded run."""
import json
import os
import random
import shutil
import subprocess
import time

from kit import machine, probe, recording
from kit.fault import Fault
from kit.job import BUILD, program
from kit.runner import Lab, mean_step
from kit.slow_mount import SlowMount

OPTIONS = {"ranks": 1, "workers": 4, "batch": 4, "record_bytes": 128 << 10, "compute_ms": 100, "transform_ms": 10, "direct": True}
RUNS = ("slow", "workers", "local", "fixed")


def say(text=""):
    print(text, flush=True)


def show(*words):
    say("$ firstwait " + " ".join(str(w) for w in words))
    subprocess.run([program("firstwait"), *map(str, words)], check=False)
    say()


def ask(*words):
    result = subprocess.run([program("firstwait"), *map(str, words), "--format", "json"], capture_output=True, text=True, check=True)
    return json.loads(result.stdout)


def utilization(seconds):
    return f"{100 * OPTIONS['compute_ms'] / 1e3 / seconds:.0f} %"


class Live:
    """The job, its slow storage and its heavy augmentation, for real. `told` is what a recording keeps of it."""

    def __init__(self, out):
        self.out, self.told = out, {"seconds": {}}
        self.lab = Lab(Fault(random.Random()), out, 1.0)
        cores = len(os.sched_getaffinity(0))
        self.storage, self.heavy, self.knobs = 1.25e6, 160.0 * min(4, cores), {}
        self.mount = SlowMount(self.lab)

    def folder(self, name):
        return self.out / name

    def slow(self):
        lab = self.lab
        lab.job = lab.new_job(self.folder("slow"), OPTIONS, "train")
        lab.job.start()
        lab.sleep(random.uniform(14, 20), 60)
        moved = time.time()
        self.mount.set(bytes_per_second=self.storage)
        self.knobs = {"transform_ms": self.heavy}
        lab.job.set(**self.knobs)
        lab.sleep(random.uniform(18, 22), 30)
        end = time.time()
        lab.job.stop()
        steps = lab.job.steps()
        self.told["slow"] = {"before": _enough(mean_step(steps, steps[0][0] + 2, moved)),
                             "now": _enough(mean_step(steps, moved + 2, end)), "moved": moved}
        return self.told["slow"]

    def run(self, name, local=False, prepared=False, **options):
        """One run of the job; its mean step without the start."""
        if local:
            self.lab.data = None
        if prepared:
            self.knobs = {}
        job = self.lab.job = self.lab.new_job(self.folder(name), dict(OPTIONS, **options), name)
        job.knobs.update(self.knobs)
        job.start()
        self.lab.sleep(10, 20)
        job.stop()
        steps = job.steps()
        self.told["seconds"][name] = _enough(mean_step(steps, steps[0][0] + 2, time.time()))
        return self.told["seconds"][name]

    def end(self):
        if self.lab.job:
            self.lab.job.stop()
        self.lab.end_all()
        machine.clean(os.getpid())


def _enough(seconds):
    if seconds is None:
        raise RuntimeError("too few steps: the machine is too busy for the demo")
    return seconds


def predicted(bundle, action, *more):
    """(the gain, what binds then) in words."""
    told = ask("what-if", bundle, "--apply", action, *more)
    low, high = told["speedup"] or (None, None)
    then = told["then_bound_by"]
    if high is None:
        return "–", then
    if low is None:
        return f"at most {high:.2f}×", then
    return f"{high:.2f}×" if low >= high * 0.99 else f"{low:.2f}–{high:.2f}×", then


def story(runs, page):
    say("1. A job trains with 4 loader workers. At a moment drawn at run time its data set moves to slow remote storage, and\n"
        "   its augmentation gets heavy. The accelerator is emulated by a timed wait; all else is real.\n")
    told = runs.slow()
    slow = told["now"]
    say(f"   It computed {utilization(told['before'])} of the time, and computes {utilization(slow)} since "
        f"{time.strftime('%H:%M:%S', time.gmtime(told['moved']))} UTC. What does Firstwait say, which was told nothing of that?\n")
    show("diagnose", runs.folder("slow"))
    subprocess.run([program("firstwait"), "diagnose", runs.folder("slow"), "--format", "html", "--out", page],
                   stdout=subprocess.DEVNULL, check=False)
    rows = []

    def tell(title, prediction, before, now):
        gain, then = prediction
        rows.append((title, gain, before / now))
        bound = f" (then bound by {then})" if then else ""
        say(f"   {title}: predicted {gain}{bound}, measured {before / now:.2f}×; it computes {utilization(now)} of the time\n")

    say("2. The first idea: twice as many loader workers.\n")
    prediction = predicted(runs.folder("slow"), "loader.more_workers", "--set", "loader.num_workers=8")
    more = runs.run("workers", workers=8)
    tell("8 workers instead of 4", prediction, slow, more)
    say("   The workers wait for their reads: whether more of them get more depends on the storage, and the range said so."
        + ("\n   They did not: the storage gives all that it has.\n" if slow / more < 1.25 else "\n"))
    say("3. The data set is copied to a local disk.\n")
    prediction = predicted(runs.folder("slow"), "data.local_nvme")
    local = runs.run("local", local=True)
    tell("local disk", prediction, slow, local)
    say("   Did it work? The run before the copy, from the moment of the move on, against the run after it:\n")
    show("compare", "--since", f"{told['moved']:.3f}", runs.folder("slow"), runs.folder("local"))
    say("4. The augmentation is done once, ahead of the training.\n")
    prediction = predicted(runs.folder("local"), "preprocess.offline")
    fixed = runs.run("fixed", local=True, prepared=True)
    tell("augmentation ahead of time", prediction, local, fixed)
    say("                                   predicted      measured")
    for title, prediction, measured in rows:
        say(f"   {title:<30} {prediction:>14} {measured:>12.2f}×")
    say(f"   {'all of it':<30} {'':>14} {slow / fixed:>12.2f}×")
    say(f"\nThe first report as a page: {page}")


def run(out, keep=False):
    """0; 3 when neither the lab nor a recording is there."""
    why = probe.missing(("fuse",)) or (None if program("lab-job").exists() else f"{BUILD}/bin/lab-job was not built")
    out.mkdir(parents=True, exist_ok=True)
    page = out / "report.html"
    if why:
        if keep or not recording.exists():
            say(f"The live demo cannot run here: {why}.")
            return 3
        say(f"The live demo cannot run here ({why}): this is a recording of it, diagnosed now.\n")
        story(recording.Recorded(), page)
        return 0
    shutil.rmtree(out)
    out.mkdir()
    live = Live(out)
    try:
        story(live, page)
    finally:
        live.end()
    if keep:
        say(f"Recorded: {recording.keep(live, RUNS) / 1e3:.0f} kB in {recording.PLACE}")
    return 0
