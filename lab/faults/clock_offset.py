from faults import slow_device


class Fault(slow_device.Fault):
    title = "one rank's device gets hot while the clock of its host is ahead"
    hosts = 3
    needs = ("namespaces",)
    place = ("rank/2", "host/node03")

    def prepare(self, lab):
        # A namespace has no real-time clock of its own: the times that this host wrote are shifted.
        lab.clock_ahead = {"node03": self.random.uniform(0.4, 2.5)}
