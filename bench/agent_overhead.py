#!/usr/bin/env python3
"""What firstwait-agent costs beside node_exporter and netdata, in one run on one machine.

Each program samples once a second for the given time; node_exporter does so when it is scraped. CPU is user and system time
of the process and its children, so that other work on the machine does not count. A sample is one value of one series at one
time. The first table compares the same sources in both exporters; netdata cannot be told to leave out the rest, so its row
counts whatever it collects.

Usage: bench/agent_overhead.py [--seconds 60] [--agent build/release/bin/firstwait-agent] [--processes 200]
"""
import argparse
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

# Sources that both exporters read.
SHARED = ["cpu", "loadavg", "meminfo", "vmstat", "diskstats", "netdev", "netclass", "netstat", "softnet", "pressure",
          "schedstat", "filesystem"]
NODE_NAMES = SHARED + ["stat"]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def fetch(port, path="/metrics"):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=2) as answer:
            return answer.read().decode(errors="replace")
    except OSError:
        return ""


def cpu_seconds(pid):
    """User and system time of a process, its children and theirs."""
    total, parents, times = 0.0, {}, {}
    tick = os.sysconf("SC_CLK_TCK")
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(entry.name)] = int(fields[1])
        times[int(entry.name)] = sum(int(fields[i]) for i in (11, 12, 13, 14)) / tick
    for candidate in times:
        at = candidate
        while at and at != pid:
            at = parents.get(at, 0)
        total += times[candidate] if at == pid else 0
    return total


def peak_kib(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1])
    return 0


def series_in(text, own=()):
    return sum(1 for line in text.splitlines() if line and not line.startswith("#") and not line.startswith(own))


def measure(name, command, port, seconds, scrape, own, path="/metrics", environment=None):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    try:
        for _ in range(200):
            text = fetch(port, path)
            if text:
                break
            time.sleep(0.1)
        if not text:
            print(f"{name}: did not start", file=sys.stderr)
            return None
        time.sleep(2)
        before, began = cpu_seconds(process.pid), time.monotonic()
        while time.monotonic() - began < seconds:
            if scrape:
                fetch(port, path)
            time.sleep(max(0.0, 1 - (time.monotonic() - began) % 1))
        used, elapsed = cpu_seconds(process.pid) - before, time.monotonic() - began
        text = fetch(port, path)
        return {"name": name, "cpu": used, "elapsed": elapsed, "series": series_in(text, own), "peak": peak_kib(process.pid)}
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()


def show(rows):
    print(f"{'program':<44}{'CPU s':>8}{'core %':>9}{'series':>8}{'us/sample':>11}{'peak MiB':>10}")
    for r in filter(None, rows):
        samples = r["series"] * r["elapsed"]
        print(f"{r['name']:<44}{r['cpu']:>8.2f}{100 * r['cpu'] / r['elapsed']:>9.3f}{r['series']:>8}"
              f"{1e6 * r['cpu'] / samples:>11.2f}{r['peak'] / 1024:>10.1f}")


def all_collectors():
    """As the agent itself names them."""
    port = free_port()
    process = subprocess.Popen([ARGS.agent, "--listen", f"127.0.0.1:{port}"], stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            text = fetch(port)
            if text:
                break
            time.sleep(0.1)
    finally:
        process.terminate()
        process.wait(10)
    return [line.split('"')[1] for line in text.splitlines() if line.startswith("firstwait_agent_collector_up{")]


def agent_config(folder, collectors, listen):
    lines = [f"listen: 127.0.0.1:{listen}", "collectors:"]
    for name in all_collectors():
        lines.append(f"  {name}: {'1s' if name in collectors else 'off'}")
    path = pathlib.Path(folder) / f"agent-{listen}.yaml"
    path.write_text("\n".join(lines) + "\n")
    return path


def start_job(processes):
    """A job of eight ranks: trainers and their loader workers. They sleep, since what is measured is the watching."""
    trainer = ("import subprocess, sys\n"
               "workers = [subprocess.Popen(['python3', '100000'], executable='/bin/sleep') for _ in range(int(sys.argv[1]))]\n"
               "workers[0].wait()")
    ranks = 8
    return [subprocess.Popen([sys.executable, "-c", trainer, str(processes // ranks - 1)], start_new_session=True,
                             env=dict(os.environ, RANK=str(r), WORLD_SIZE=str(ranks), LOCAL_RANK=str(r))) for r in range(ranks)]


def main():
    rows = []
    own = ("firstwait_agent_",)
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        rows.append(measure("firstwait-agent, shared sources, scraped", [ARGS.agent, "--config", agent_config(folder, SHARED, port)],
                            port, ARGS.seconds, True, own))
        port = free_port()
        rows.append(measure("firstwait-agent, shared sources, not scraped",
                            [ARGS.agent, "--config", agent_config(folder, SHARED, port)], port, ARGS.seconds, False, own))
        exporter = shutil.which(ARGS.node_exporter)
        if exporter:
            port = free_port()
            flags = ["--collector.disable-defaults"] + [f"--collector.{n}" for n in NODE_NAMES]
            rows.append(measure("node_exporter, shared sources, scraped", [exporter, f"--web.listen-address=127.0.0.1:{port}", *flags],
                                port, ARGS.seconds, True, ("go_", "process_", "promhttp_", "node_scrape_")))
        netdata = shutil.which(ARGS.netdata)
        if netdata:
            port = free_port()
            config = pathlib.Path(folder) / "netdata.conf"
            config.write_text(f"[global]\n run as user = {os.environ.get('USER', 'root')}\n[db]\n mode = ram\n[ml]\n enabled = no\n"
                              f"[web]\n bind to = 127.0.0.1\n default port = {port}\n[health]\n enabled = no\n"
                              f"[directories]\n lib = {folder}\n cache = {folder}\n log = {folder}\n")
            rows.append(measure("netdata, all its sources", [netdata, "-D", "-c", config, "-P", f"{folder}/pid"], port, ARGS.seconds,
                                False, (), "/api/v1/allmetrics?format=prometheus"))
        job = start_job(ARGS.processes)
        try:
            time.sleep(2)
            port = free_port()
            watched = measure(f"firstwait-agent, default, {ARGS.processes} processes watched",
                              [ARGS.agent, "--listen", f"127.0.0.1:{port}"], port, ARGS.seconds, False, own)
            rows.append(watched)
        finally:
            for p in job:
                os.killpg(p.pid, signal.SIGKILL)
    show(rows)
    print("The hour's samples add to the agent's memory what SampleRing's test measures: below 6 MiB for 500 busy series, and never "
          "more than limits.memory (8 MiB).")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--agent", type=pathlib.Path, default=pathlib.Path("build/release/bin/firstwait-agent"))
    parser.add_argument("--node-exporter", default="prometheus-node-exporter")
    parser.add_argument("--netdata", default="netdata")
    parser.add_argument("--processes", type=int, default=200)
    ARGS = parser.parse_args()
    main()
