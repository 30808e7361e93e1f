"""The case that Firstwait exists for, live, in about two minutes: a job's dataset moves to slow remote storage and its augmentation
gets heavy. Firstwait says when, where and why, and what each fix would gain; then the fixes are applied one after another."""
import json
import os
import random
import shutil
import subprocess
import time

from kit import machine, probe
from kit.fault import Fault
from kit.job import program
from kit.runner import Lab, mean_step
from kit.slow_mount import SlowMount

OPTIONS = {"ranks": 1, "workers": 4, "batch": 4, "record_bytes": 128 << 10, "compute_ms": 100, "transform_ms": 10, "direct": True}


class _Demo(Fault):
    pass


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


def run_job(lab, out, name, seconds, **options):
    """One run of the job; its mean step without the start."""
    lab.job = lab.new_job(out / name, dict(OPTIONS, **options), name)
    lab.job.knobs.update(lab.knobs)
    lab.job.start()
    lab.sleep(seconds, 20)
    lab.job.stop()
    steps = lab.job.steps()
    return mean_step(steps, steps[0][0] + 2, time.time())


def chapter_one(lab, out):
    say("1. A job trains with 4 loader workers. At a moment drawn now its data set moves to slow remote storage, and its\n"
        "   augmentation gets heavy. The accelerator is emulated by a timed wait; all else is real.\n")
    lab.job = lab.new_job(out / "slow", OPTIONS, "train")
    lab.job.start()
    lab.sleep(random.uniform(14, 20), 60)
    moved = time.time()
    lab.mount.set(bytes_per_second=lab.storage)
    lab.knobs = {"transform_ms": lab.heavy}
    lab.job.set(**lab.knobs)
    lab.sleep(random.uniform(18, 22), 30)
    end = time.time()
    lab.job.stop()
    steps = lab.job.steps()
    before, now = mean_step(steps, steps[0][0] + 2, moved), mean_step(steps, moved + 2, end)
    say(f"   It computed {utilization(before)} of the time, and computes {utilization(now)} now. It happened at "
        f"{time.strftime('%H:%M:%S', time.gmtime(moved))} UTC. What does Firstwait say?\n")
    show("diagnose", out / "slow")
    subprocess.run([program("firstwait"), "diagnose", out / "slow", "--format", "html", "--out", out / "report.html"],
                   stdout=subprocess.DEVNULL, check=False)
    return now


def predicted(bundle, action, *more):
    gain = ask("what-if", bundle, "--apply", action, *more)["speedup"]
    if not gain or gain[1] is None:
        return "no prediction"
    low, high = gain
    return f"at most {high:.2f}×" if low is None or low < high * 0.99 else f"{high:.2f}×"


def fixes(lab, out, slow):
    rows = []

    def tell(title, prediction, before, now):
        rows.append((title, prediction, before / now))
        say(f"   {title}: predicted {prediction}, measured {before / now:.2f}×; it computes {utilization(now)} of the time\n")

    say("2. The first idea: twice as many loader workers.\n")
    prediction = predicted(out / "slow", "loader.more_workers", "--set", "loader.num_workers=8")
    tell("8 workers instead of 4", prediction, slow, run_job(lab, out, "workers", 10, workers=8))
    say("3. The data set is copied to a local disk.\n")
    prediction = predicted(out / "slow", "data.local_nvme")
    lab.data = None
    local = run_job(lab, out, "local", 10)
    tell("local disk", prediction, slow, local)
    say("4. The augmentation is done once, ahead of the training.\n")
    prediction = predicted(out / "local", "preprocess.offline")
    lab.knobs = {}
    fixed = run_job(lab, out, "fixed", 10)
    tell("augmentation ahead of time", prediction, local, fixed)
    show("compare", out / "slow", out / "fixed")
    say("                                   predicted      measured")
    for title, prediction, measured in rows:
        say(f"   {title:<30} {prediction:>14} {measured:>12.2f}×")
    say(f"   {'all of it':<30} {'':>14} {slow / fixed:>12.2f}×")


def run(out):
    why = probe.missing(("fuse",))
    if why:
        say(f"The live demo cannot run here: {why}.")
        return 3
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    lab = Lab(_Demo(random.Random()), out, 1.0)
    try:
        cores = len(os.sched_getaffinity(0))
        lab.storage, lab.heavy, lab.knobs = 1.25e6, 115.0 * min(4, cores), {}
        lab.mount = SlowMount(lab)
        slow = chapter_one(lab, out)
        fixes(lab, out, slow)
        say(f"\nThe first report as a page: {out / 'report.html'}")
    finally:
        if lab.job:
            lab.job.stop()
        lab.end_all()
        machine.clean(os.getpid())
    return 0
