import threading

from kit.fault import Fault as Base, Proof


class Fault(Base):
    family = "network"
    title = "the link of one host goes down and comes back, again and again"
    causes = ("network.link_flap",)
    place = ("host/node03", "nic/node03:eth0")
    needs = ("namespaces",)
    hosts = 3
    job = {"workers": 1}
    least = 2

    def __init__(self, random):
        super().__init__(random)
        self.ending, self.thread = threading.Event(), None

    def start(self, lab):
        def run():
            while not self.ending.wait(3.5):
                self.port(lab, "down")
                self.ending.wait(0.8)
                self.port(lab, "up")
        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()

    @staticmethod
    def port(lab, state):
        lab.hosts.switch_port(2, state)

    def stop(self, lab):
        self.ending.set()
        if self.thread:
            self.thread.join()
            self.thread = None
            self.port(lab, "up")

    def proof(self, lab):
        return Proof("carrier_changes", int(lab.hosts.do(2, "cat", "/sys/class/net/eth0/carrier_changes")))
