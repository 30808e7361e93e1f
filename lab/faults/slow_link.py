import json

from kit.fault import Fault as Base, Proof


class Fault(Base):
    family = "network"
    title = "the link of one host carries 100 Mbit/s only"
    causes = ("network.link_degraded", "network.congestion")
    place = ("host/node02", "nic/node02:eth0")
    needs = ("tbf",)
    hosts = 3
    job = {"workers": 1, "gradient_mb": 4}
    least = 20

    def start(self, lab):
        lab.hosts.do(1, "tc", "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", "100mbit", "burst", "64k", "latency", "50ms")

    def stop(self, lab):
        lab.hosts and lab.hosts.do(1, "tc", "qdisc", "del", "dev", "eth0", "root", check=False)

    def proof(self, lab):
        for qdisc in json.loads(lab.hosts.do(1, "tc", "-s", "-j", "qdisc", "show", "dev", "eth0")):
            if qdisc["kind"] == "tbf":
                return Proof("overlimits of the queue", qdisc["overlimits"])
        return Proof("overlimits of the queue", 0)
