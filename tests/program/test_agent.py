"""firstwait-agent as an operator runs it: scraped, pushing to a receiver that comes and goes, killed, without privileges."""
import collections
import gzip
import http.server
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.request

import program

KILLS = int(os.environ.get("FIRSTWAIT_KILLS", "5"))  # the whole of it: 50
AGENT = pathlib.Path(program.PROGRAM).with_name("firstwait-agent")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Receiver:
    """Takes OTLP messages; can be away."""

    def __init__(self):
        self.taken = collections.Counter()
        self.bodies = collections.defaultdict(set)  # by message
        self.status = 200
        self.answers_lost = 0  # this many more messages are taken and not answered
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                gzip.decompress(body)  # whole, or it raises
                if receiver.status == 200:
                    receiver.bodies[self.headers["X-Firstwait-Message"]].add(body)
                    receiver.taken[self.headers["X-Firstwait-Message"]] += 1
                if receiver.answers_lost > 0:
                    receiver.answers_lost -= 1
                    self.close_connection = True
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
                self.send_response(receiver.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Agent:
    def __init__(self, folder, extra="", **popen):
        self.port = free_port()
        self.config = pathlib.Path(folder) / "agent.yaml"
        self.config.write_text(f"listen: 127.0.0.1:{self.port}\nhost: node07\n{extra}")
        self.process = subprocess.Popen([str(AGENT), "--config", str(self.config)], stderr=subprocess.PIPE, text=True, **popen)

    def get(self, path="/metrics", accept="text/plain"):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", headers={"Accept": accept})
        with urllib.request.urlopen(request, timeout=5) as answer:
            return answer.read().decode(), answer.headers["Content-Type"]

    def wait(self, text, seconds=15):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                page = self.get()[0]
                if text in page:
                    return page
            except OSError:
                pass
            time.sleep(0.1)
        raise AssertionError(f"'{text}' did not appear")

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        code = self.process.wait(15)
        self.process.stderr.close()
        return code


class AgentTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        os.chmod(self.folder, 0o755)
        self.addCleanup(shutil.rmtree, self.folder, True)

    def agent(self, *arguments, **popen):
        agent = Agent(self.folder, *arguments, **popen)
        self.addCleanup(lambda: agent.process.poll() is None and agent.stop(signal.SIGKILL))
        return agent

    def value(self, page, name):
        for line in page.splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
        return None

    def test_metrics_in_both_formats_and_a_clean_end(self):
        agent = self.agent()
        page = agent.wait("node_cpu_seconds_total")
        self.assertIn("# TYPE node_cpu_seconds_total counter", page)
        text, kind = agent.get(accept="application/openmetrics-text; version=1.0.0")
        self.assertTrue(kind.startswith("application/openmetrics-text"))
        self.assertIn("# TYPE node_cpu_seconds counter", text)
        self.assertTrue(text.endswith("# EOF\n"))
        promtool = shutil.which("promtool")
        if promtool:
            done = subprocess.run([promtool, "check", "metrics"], input=page, capture_output=True, text=True)
            complaints = [l for l in (done.stdout + done.stderr).splitlines() if l.startswith("firstwait_")]
            self.assertEqual(complaints, [])
        self.assertEqual(agent.stop(), 0)

    def test_a_changed_configuration_is_taken_and_a_wrong_one_is_not(self):
        agent = self.agent()
        agent.wait("node_load1 ")
        agent.config.write_text(f"listen: 127.0.0.1:{agent.port}\ncollectors: {{loadavg: off}}\n")
        agent.process.send_signal(signal.SIGHUP)
        end = time.monotonic() + 10
        while "node_load1 " in agent.get()[0] and time.monotonic() < end:
            time.sleep(0.1)
        self.assertNotIn("node_load1 ", agent.get()[0])
        agent.config.write_text("listen: [nonsense\n")
        agent.process.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        self.assertIn("node_cpu_seconds_total", agent.get()[0])
        self.assertEqual(agent.stop(), 0)

    def test_what_was_spooled_while_the_receiver_was_away_is_delivered_after_kills_and_once(self):
        receiver = Receiver()
        self.addCleanup(receiver.close)
        receiver.status = 503
        spool = pathlib.Path(self.folder) / "spool"
        push = f"push: {{url: 'http://127.0.0.1:{receiver.port}', interval: 1s, spool: {spool}}}\n"
        spooled = set()
        for _ in range(KILLS):
            agent = self.agent(push)
            agent.wait("firstwait_agent_spool_messages")
            time.sleep(1.5 + random.random())
            agent.stop(signal.SIGKILL)
            spooled |= {p.stem for p in spool.glob("*.msg")}
        self.assertGreater(len(spooled), 3)
        receiver.status = 200
        agent = self.agent(push)
        end = time.monotonic() + 40
        while time.monotonic() < end and not all(receiver.taken[f"node07-{int(s)}"] for s in spooled):
            time.sleep(0.2)
        self.assertEqual([s for s in spooled if receiver.taken[f"node07-{int(s)}"] != 1], [])
        self.assertEqual(self.value(agent.get()[0], "firstwait_agent_spool_dropped_total"), 0)
        agent.stop()

    def test_a_message_whose_answer_was_lost_comes_again_under_its_name(self):
        receiver = Receiver()
        self.addCleanup(receiver.close)
        receiver.answers_lost = 2
        agent = self.agent(f"push: {{url: 'http://127.0.0.1:{receiver.port}', interval: 1s, spool: {self.folder}/spool}}\n")
        end = time.monotonic() + 40
        while time.monotonic() < end and len(receiver.taken) < 5:
            time.sleep(0.1)
        page = agent.get()[0]
        self.assertEqual(agent.stop(), 0)
        again = [name for name, n in receiver.taken.items() if n > 1]
        self.assertEqual(sum(receiver.taken[name] - 1 for name in again), 2)  # known by its name, taken once
        self.assertGreaterEqual(len(receiver.taken), 5)
        self.assertTrue(all(len(bodies) == 1 for bodies in receiver.bodies.values()))
        self.assertEqual(self.value(page, "firstwait_agent_push_retries_total"), 2)
        self.assertEqual(self.value(page, "firstwait_agent_spool_dropped_total"), 0)

    def test_a_receiver_that_never_answers_does_not_keep_metrics_from_being_served(self):
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)
        self.addCleanup(listener.close)
        agent = self.agent(f"push: {{url: 'http://127.0.0.1:{listener.getsockname()[1]}', interval: 1s}}\n")
        agent.wait("node_load1 ")
        time.sleep(3)
        before = time.monotonic()
        agent.get()
        self.assertLess(time.monotonic() - before, 2)
        agent.stop(signal.SIGKILL)

    @unittest.skipIf(os.geteuid() != 0, "only root can become somebody else")
    def test_as_an_ordinary_user_what_needs_no_privilege_works(self):
        agent = self.agent(user=65534, group=65534, extra_groups=[])
        for metric in ("node_load1 ", "node_memory_MemTotal_bytes ", "node_network_receive_bytes_total{", "node_netstat_Tcp_OutSegs "):
            agent.wait(metric)
        self.assertEqual(agent.stop(), 0)

    def test_files_that_vanish_while_they_are_read_and_processes_that_come_and_go_are_survived(self):
        agent = self.agent("collectors: {process: 100ms, cgroup: 100ms, settings: 100ms, tcp: 100ms}\n")
        agent.wait("node_load1 ")
        environment = dict(os.environ, RANK="0", WORLD_SIZE="1", LOCAL_RANK="0")
        end = time.monotonic() + 8
        while time.monotonic() < end:
            jobs = [subprocess.Popen(["python3", "-c", "import time; time.sleep(0.3)"], env=environment) for _ in range(20)]
            for job in jobs[:10]:
                job.kill()
            for job in jobs:
                job.wait()
        self.assertIn("node_load1 ", agent.get()[0])
        self.assertEqual(agent.stop(), 0)


if __name__ == "__main__":
    unittest.main()
