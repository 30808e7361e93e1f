from kit.fault import Fault as Base, Proof


class Fault(Base):
    family = "network"
    title = "one host loses packets that come in"
    causes = ("network.loss_retransmission",)
    # Its neighbour in the ring counts what it sends again.
    place = ("host/node02", "host/node01", "nic/node02:eth0", "nic/node01:eth0")
    needs = ("loss",)
    hosts = 3
    job = {"workers": 1, "gradient_mb": 8}
    least = 50

    def _rule(self, lab, change):
        lab.hosts.do(1, "iptables", change, "INPUT", "-p", "tcp", "-m", "statistic", "--mode", "random", "--probability",
                     f"{self.loss:.4f}", "-j", "DROP", check=change == "-A")

    def start(self, lab):
        self.loss = self.random.uniform(0.02, 0.03)
        self._rule(lab, "-A")

    def stop(self, lab):
        if hasattr(self, "loss"):
            self._rule(lab, "-D")

    def proof(self, lab):
        return Proof("RetransSegs of all hosts", sum(lab.hosts.snmp(i, "Tcp", "RetransSegs") for i in range(3)))
