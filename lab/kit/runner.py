"""One scenario: the job and Firstwait around it, the fault at a moment drawn now, its proof, its end, and the truth of all that."""
import importlib
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import time

from kit import clocks, load, machine, probe
from kit.fault import Void
from kit.groups import Group
from kit.job import Job, program
from kit.network import Hosts

FAULTS = pathlib.Path(__file__).resolve().parent.parent / "faults"


def names():
    return sorted(p.stem for p in FAULTS.glob("*.py") if not p.stem.startswith("_"))


def fault_named(name, seed):
    return importlib.import_module(f"faults.{name}").Fault(random.Random(f"{name} {seed}"))


class Lab:
    """What a fault may use."""

    def __init__(self, fault, folder, scale):
        self.fault, self.folder, self.scale = fault, folder, scale
        self.work = machine.WORK / f"{machine.PREFIX}{os.getpid()}-work"
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(parents=True)
        self.hosts = Hosts(fault.hosts) if fault.hosts else None
        self.disk = probe.disk_of(self.work)
        self.groups, self.others, self.others_to_the_end, self.job = [], [], [], None
        self.shared_groups = []  # that all ranks enter
        self.clock_ahead = {}    # seconds by host
        self.data = None  # where the job reads, when not where the lab put it

    def new_job(self, bundle, options, name="lab"):
        ranks = options.get("ranks", self.fault.hosts or 2)
        if self.fault.groups and not self.groups:
            self.groups = [Group(f"rank{r}", *self.fault.groups) for r in range(ranks)]
        paths = [p.replace("rank0", "rank%") for p in self.groups[0].paths()] if self.groups else ()
        options = dict(options, ranks=ranks)
        job = Job(self.work, bundle, options, groups=[*paths, *self.shared_groups], hosts=self.hosts, name=name,
                  of=self.fault.program)
        job.make_data()
        if self.data:
            job.options["data"] = self.data
        return job

    def spawn(self, command, user=None, group=None, host=None):
        """Another program on the machine, of another user if asked. It ends with the scenario."""
        def become():
            if group is not None:
                group.enter(os.getpid())
            if user is not None and os.geteuid() == 0:
                os.setgid(user)
                os.setuid(user)
        process = subprocess.Popen([str(w) for w in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   start_new_session=True, preexec_fn=become)
        self.others.append(process)
        return process

    def end_others(self):
        for process in self.others:
            machine._end_processes([process.pid])
            process.wait()
        self.others = []

    def end_all(self):
        self.others += self.others_to_the_end
        self.end_others()

    def sleep(self, seconds, steps):
        """At least so long and so many steps; not more than three times as long."""
        begin, first = time.monotonic(), len(self.job.steps())
        seconds *= self.scale
        while True:
            time.sleep(0.25)
            self.job.check()
            took = time.monotonic() - begin
            if took >= 3 * seconds or (took >= seconds and len(self.job.steps()) - first >= steps * self.scale):
                return


def mean_step(steps, since, until):
    durations = [d for start, d, _ in steps if since <= start and start + d <= until]
    return statistics.fmean(durations) if len(durations) >= 5 else None


def lag(fault, job):
    """Steps until the training can feel it: the queue of ready batches runs empty first, and what comes every few steps comes."""
    if fault.family in ("storage", "preprocessing", "contention"):
        return int(job.options.get("workers", 2)) * int(job.options.get("prefetch", 2))
    return max([1, *(int(v) for k, v in {**job.options, **job.was_set}.items() if k in fault.felt_every)]) - 1


def step_at(steps, moment):
    for start, duration, number in steps:
        if start + duration > moment:
            return number
    return None


def observed(lab, truth):
    """The fault comes, stays and goes while the job runs."""
    fault, job = lab.fault, lab.job
    lab.sleep(fault.random.uniform(12, 16), 60)
    before = fault.proof(lab)
    truth["start"] = [time.time()]
    fault.start(lab)
    truth["start"].append(time.time())
    lab.sleep(fault.random.uniform(14, 18), 50)
    after = fault.proof(lab)
    truth["foreign_processors"] = round(lab.foreign.processors(), 2)
    truth["stop"] = time.time()
    fault.stop(lab)
    lab.sleep(6, 20)
    end = time.time()
    job.stop()
    steps = job.steps()
    begun, settled = truth["start"]
    last = step_at(steps, settled)
    if last is not None:
        last += lag(fault, job)
    truth["step"] = [step_at(steps, begun), last]
    truth["step_s"] = {"before": mean_step(steps, steps[0][0] + 2, begun), "during": mean_step(steps, settled, truth["stop"]),
                       "after": mean_step(steps, truth["stop"] + 1.5, end)}
    return before, after


def chronic(lab, truth):
    """The fault is there from the start; a second run has it mended."""
    fault, job = lab.fault, lab.job
    lab.sleep(2, 10)
    before = fault.proof(lab)
    fault.start(lab)
    lab.sleep(fault.random.uniform(16, 20), 60)
    after = fault.proof(lab)
    truth["foreign_processors"] = round(lab.foreign.processors(), 2)
    fault.stop(lab)
    truth["stop"] = time.time()
    job.stop()
    steps = job.steps()
    lab.job = lab.new_job(lab.work / "mended", dict(fault.job, **fault.fixed), "mended")
    lab.job.start()
    lab.sleep(10, 40)
    lab.job.stop()
    mended = lab.job.steps()
    truth["step_s"] = {"before": None, "during": mean_step(steps, steps[0][0] + 2, truth["stop"]),
                       "after": mean_step(mended, mended[0][0] + 2, time.time())}
    return before, after


def throughput(lab, ranks):
    """Samples per second of all ranks together, in a run of its own."""
    options = dict(lab.fault.job, ranks=ranks)
    lab.job = lab.new_job(lab.work / f"ranks-{ranks}", options, f"ranks-{ranks}")
    lab.job.start()
    lab.sleep(8, 40)
    lab.job.stop()
    steps = lab.job.steps()
    seconds = mean_step(steps, steps[0][0] + 2, time.time()) if steps else None
    return samples_per_second(lab.job, seconds)


def samples_per_second(job, seconds):
    return job.ranks * int(job.options.get("batch", 4)) / seconds if seconds else None


def measure(truth, before, after, least):
    truth["proof"] = {"counter": after.name, "before": before.value, "after": after.value}
    s = truth["step_s"]
    usual = s["before"] or s["after"]
    truth["slowdown"] = s["during"] / usual if s["during"] and usual else None
    truth["gain"] = s["during"] / s["after"] if s["during"] and s["after"] else None
    if after.value - before.value < least:
        raise Void(f"{after.name} moved by {after.value - before.value}, less than {least}")
    if truth["slowdown"] is None:
        raise Void("too few steps to measure")


class Foreign:
    """How many processors programs use that do not belong to the lab: what makes a result doubtful."""

    def __init__(self, lab):
        self.lab, self.begin = lab, time.monotonic()
        self.first = self._now()

    def _now(self):
        fields = list(map(int, pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:9]))
        own = sum(map(load.cpu_or_nothing, [p for r in range(self.lab.job.ranks) for p in self.lab.job.pids(r)] +
                      [p.pid for p in self.lab.others]))
        return (sum(fields) - fields[3] - fields[4]) / load.TICKS - own

    def processors(self):
        return max(0.0, (self._now() - self.first) / (time.monotonic() - self.begin))


def run_scenario(name, out, seed, scale=1.0, say=print):
    """Runs it and writes OUT/NAME-SEED/{bundle,truth.json}; the truth as a dictionary. Cleans up whatever happens."""
    fault = fault_named(name, seed)
    folder = pathlib.Path(out) / f"{name}-{seed}"
    truth = {"scenario": name, "seed": seed, "family": fault.family, "title": fault.title, "causes": list(fault.causes),
             "place": list(fault.place), "owner": fault.owner, "chronic": fault.fixed is not None, "emulated": "accelerator"}
    why = probe.missing(fault.needs + (("namespaces",) if fault.hosts else ()))
    if why:
        return dict(truth, status="skipped", reason=why)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    lab = None
    try:
        lab = Lab(fault, folder, scale)
        fault.prepare(lab)
        truth["samples_per_s"] = {ranks: throughput(lab, ranks) for ranks in fault.sizes}
        lab.job = lab.new_job(folder / "bundle", fault.job)
        lab.job.start()
        lab.foreign, largest = Foreign(lab), lab.job
        before, after = (chronic if fault.fixed is not None else observed)(lab, truth)
        for host, seconds in lab.clock_ahead.items():
            clocks.shift(folder / "bundle" / host, seconds)
        measure(truth, before, after, fault.least)
        if fault.sizes:
            truth["samples_per_s"][fault.job["ranks"]] = samples_per_second(largest, truth["step_s"]["during"])
        truth["status"] = "ok"
    except Void as reason:
        truth.update(status="void", reason=str(reason))
    except (RuntimeError, OSError, subprocess.SubprocessError) as error:
        truth.update(status="void", reason=f"{type(error).__name__}: {error}")
    finally:
        if lab is not None:
            end(lab, fault)
    (folder / "truth.json").write_text(json.dumps(truth, indent=1) + "\n")
    return truth


def end(lab, fault):
    for action in (lambda: fault.stop(lab), lab.end_others, lambda: lab.job and lab.job.stop(), lab.end_all, lambda: machine.clean(os.getpid())):
        try:
            action()
        except Exception as error:  # the next one must run all the same
            print(f"lab: {type(error).__name__}: {error}")


def diagnose(folder, truth, until=None):
    """Firstwait's report on what it had seen when the fault ended. It is given the bundle and nothing else."""
    until = until or truth["stop"]
    result = subprocess.run([program("firstwait"), "diagnose", pathlib.Path(folder) / "bundle", "--until", f"{until:.6f}", "--format",
                             "json"], capture_output=True, text=True)
    if result.returncode != 0:
        raise RuntimeError(f"diagnose: exit {result.returncode}: {result.stderr[-300:]}")
    return json.loads(result.stdout)
