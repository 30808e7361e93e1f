from kit.slow_mount import SlowMountFault


class Fault(SlowMountFault):
    title = "many small files, and a server that got slow at opening them"
    causes = ("storage.metadata", "storage.latency")
    job = {"layout": "files", "records": 4096, "record_bytes": 8192, "batch": 16}

    def start(self, lab):
        self.mount.set(open_ms=self.random.uniform(25, 35))
