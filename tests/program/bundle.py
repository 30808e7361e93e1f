"""Evidence bundles of a made-up job with a known fault: 4 ranks on 2 hosts that read from one NFS export.

A fault changes what a rank's work takes and what a host's metrics show; steps, waits and counters follow from that,
with noise. Written by this file alone, so that the truth is known."""
import json
import math
import random

START, SCRAPE, STEPS, ONSET = 1764500000, 15, 700, 300
HOSTS = ("node01", "node02")
RANKS, WORKERS, CPUS = 4, 4, 16
EXPORT = "nfs01:/export"


class Job:
    epoch_steps = 200

    def __init__(self, seed=1):
        self.random = random.Random(seed)
        self.settings, self.events = [], []

    # What a fault overrides: seconds per batch of reading and preparing (CPU) by a loader worker, of computing on the
    # GPU, of the transfer and of saving; metrics and facts.
    def fetch(self, rank, step):
        return 0.3

    def prepare(self, rank, step):
        return 0.6

    def compute(self, rank, step):
        return 1.0

    def transfer(self, step):
        return 0.1

    def save(self, step):
        return 0.0

    def metrics(self, host, step, m):
        pass

    def facts(self):
        pass

    # ---
    def noisy(self, value, share):
        return max(0.0, value * self.random.gauss(1, share))

    def setting(self, entity, key, value):
        self.settings.append({"entity": entity, "key": key, "value": str(value), "source": "test"})

    def event(self, kind, entity, at_step, seconds=0.0, **attributes):
        at = self.times[at_step][0]
        self.events.append({"kind": kind, "entity": entity, "start": round(at, 3), "end": round(at + seconds, 3),
                            "attributes": attributes})

    def run(self):
        rows, at, self.times = [], START, []
        for step in range(STEPS):
            own = []
            for rank in range(RANKS):
                work = self.noisy(self.fetch(rank, step), 0.1) + self.noisy(self.prepare(rank, step), 0.05)
                compute = self.noisy(self.compute(rank, step), 0.01)
                own.append((max(0.0, work / WORKERS - compute) + abs(self.random.gauss(0, 0.003)), compute))
            save = self.save(step)
            took = max(wait + compute for wait, compute in own) + save + self.noisy(self.transfer(step), 0.05)
            for rank, (wait, compute) in enumerate(own):
                collective = took - wait - compute - save
                phases = {"input_wait": wait, "h2d": 0.01 * compute, "forward": 0.33 * compute,
                          "backward": 0.62 * compute, "optimizer": 0.04 * compute, "collective": collective}
                if save:
                    phases["checkpoint"] = save
                rows.append({
                    "job": "train", "rank": rank, "host": HOSTS[rank // 2], "step": step, "start": round(at, 6),
                    "duration": round(took + 0.002, 6), "phases": {k: round(v, 6) for k, v in phases.items()},
                    "epoch": step // self.epoch_steps, "samples": 64, "bytes": 12000000,
                    "loss": round(5 * math.exp(-step / 300) + self.random.gauss(0, 0.03), 4),
                    "loader": {"workers": WORKERS, "fetch": self.fetch(rank, step), "decode": self.prepare(rank, step),
                               "queued": 0 if wait > 0.02 else WORKERS},
                    "collectives": [{"group": "dp", "seq": 0, "op": "all_reduce",
                                     "start": round(at + wait + compute + save, 6), "duration": round(collective, 6),
                                     "bytes": 100000000}]})
            self.times.append((at, took))
            at += took + 0.002
        self.end = at
        return rows

    def usual(self, host, step):
        """Rates and gauges of a host as they follow from the work of its ranks."""
        ranks = [r for r in range(RANKS) if HOSTS[r // 2] == host]
        steps = 1 / self.times[step][1]
        read = 12e6 * steps * len(ranks)
        compute = sum(self.compute(r, step) for r in ranks) / len(ranks) * steps
        return {"cpu": sum(self.prepare(r, step) for r in ranks) * steps + 0.6, "other_cpu": 0.5, "read": read,
                "reads": read / 262144, "latency": sum(self.fetch(r, step) for r in ranks) * steps * 262144 / read,
                "retransmits": 0.2, "segments": 4e4, "psi_cpu": 0.01, "psi_memory": 0.0005, "psi_io": 0.02,
                "faults": 1, "swap": 0, "cached": 60e9, "available": 120e9, "limit": None, "queue": 0.005,
                "gpus": [{"DCGM_FI_DEV_GPU_UTIL": min(100, 100 * compute), "DCGM_FI_DEV_SM_CLOCK": 1980,
                          "DCGM_FI_DEV_GPU_TEMP": 62, "DCGM_FI_DEV_POWER_USAGE": 350 + 250 * compute,
                          "DCGM_FI_DEV_CLOCKS_EVENT_REASONS": 0} for _ in ranks]}

    def open_metrics(self):
        series, total, counters = {}, {}, set()

        def gauge(name, labels, at, value):
            series.setdefault(name, {}).setdefault(labels, []).append((at, value))

        def count(name, labels, at, rate):
            counters.add(name)
            total[name, labels] = total.get((name, labels), self.random.random() * 1e6) + rate * SCRAPE
            gauge(name, labels, at, total[name, labels])
        step, at = 0, START
        while at < self.end:
            while step + 1 < STEPS and self.times[step + 1][0] <= at:
                step += 1
            for host in HOSTS:
                m = self.usual(host, step)
                self.metrics(host, step, m)
                near = lambda value: self.noisy(value, 0.03)
                here = f'instance="{host}:9100"'
                busy = min(CPUS, near(m["cpu"] + m["other_cpu"])) / CPUS
                for cpu in range(CPUS):
                    count("node_cpu_seconds_total", f'{here},cpu="{cpu}",mode="user"', at, busy)
                    count("node_cpu_seconds_total", f'{here},cpu="{cpu}",mode="idle"', at, 1 - busy)
                for name, key in (("node_pressure_cpu_waiting_seconds_total", "psi_cpu"),
                                  ("node_pressure_memory_waiting_seconds_total", "psi_memory"),
                                  ("node_pressure_io_waiting_seconds_total", "psi_io"),
                                  ("node_vmstat_pgmajfault", "faults"), ("node_vmstat_pswpin", "swap"),
                                  ("node_netstat_Tcp_RetransSegs", "retransmits"),
                                  ("node_netstat_Tcp_OutSegs", "segments")):
                    count(name, here, at, near(m[key]))
                gauge("node_memory_MemTotal_bytes", here, at, 256e9)
                gauge("node_memory_MemAvailable_bytes", here, at, near(m["available"]))
                gauge("node_memory_Cached_bytes", here, at, near(m["cached"]))
                if m["limit"]:
                    gauge("firstwait_cgroup_memory_limit_bytes", here, at, m["limit"])
                mount = f'{here},export="{EXPORT}"'
                count("node_mountstats_nfs_read_bytes_total", mount, at, near(m["read"]))
                reads, latency = near(m["reads"]), near(m["latency"])
                count("node_mountstats_nfs_operations_requests_total", mount + ',operation="READ"', at, reads)
                count("node_mountstats_nfs_operations_request_time_seconds_total", mount + ',operation="READ"', at,
                      reads * latency)
                port = f'{here},device="eth0"'
                count("node_network_receive_bytes_total", port, at, near(m["read"] + 2e8))
                count("node_network_transmit_bytes_total", port, at, near(2e8))
                gauge("node_network_speed_bytes", port, at, 1.25e10)
                for k, gpu in enumerate(m["gpus"]):
                    device = f'{here},gpu="{k}",modelName="H100",Hostname="{host}"'
                    for name, value in gpu.items():
                        gauge(name, device, at, value if name.endswith("REASONS") else round(near(value)))
                    count("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", device, at, 0)
                for rank in (r for r in range(RANKS) if HOSTS[r // 2] == host):
                    loader = f'{here},rank="{rank}",role="loader"'
                    count("firstwait_process_cpu_seconds_total", loader, at, near(m["cpu"] / 2))
                    count("firstwait_process_runqueue_seconds_total", loader, at, near(m["queue"]))
                    count("firstwait_process_read_bytes_total", loader, at, near(m["read"] / 2))
            at += SCRAPE
        lines = []
        for name, rows in series.items():
            kind = "gauge" if name not in counters else "counter" if name.endswith("_total") else "unknown"
            lines.append(f"# TYPE {name.removesuffix('_total') if kind == 'counter' else name} {kind}")
            for labels, samples in rows.items():
                lines += [f"{name}{{{labels}}} {value:.10g} {t:.3f}" for t, value in samples]
        return "\n".join(lines) + "\n# EOF\n"

    def write(self, case, name="bundle"):
        """The folder, written through the test case."""
        rows = self.run()
        for host in HOSTS:
            self.setting(f"host/{host}", "cpu.count", CPUS)
        for rank in range(RANKS):
            self.setting(f"rank/{rank}", "loader.num_workers", WORKERS)
            self.setting(f"rank/{rank}", "dataset.fstype", "nfs4")
        self.facts()
        text = lambda objects: "".join(json.dumps(o) + "\n" for o in objects)
        case.write(f"{name}/steps.jsonl", text(rows))
        case.write(f"{name}/settings.jsonl", text(self.settings))
        if self.events:
            case.write(f"{name}/events.jsonl", text(self.events))
        return case.write(f"{name}/metrics.om", self.open_metrics()).parent
