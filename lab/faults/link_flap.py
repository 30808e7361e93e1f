from kit.fault import Proof, Repeating


class Fault(Repeating):
    family = "network"
    title = "the link of one host goes down and comes back, again and again"
    causes = ("network.link_flap",)
    place = ("host/node03", "nic/node03:eth0")
    needs = ("namespaces",)
    hosts = 3
    job = {"workers": 1}
    least = 2

    def turn(self, lab):
        if self.ending.wait(3.5):
            return
        lab.hosts.switch_port(2, "down")
        self.ending.wait(0.8)
        lab.hosts.switch_port(2, "up")

    def undo(self, lab):
        lab.hosts.switch_port(2, "up")

    def proof(self, lab):
        return Proof("carrier_changes", int(lab.hosts.do(2, "cat", "/sys/class/net/eth0/carrier_changes")))
