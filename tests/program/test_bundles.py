"""Bundles with one known fault, with two, with none, and with what only looks like one."""
import unittest

from bundle import CPUS, EXPORT, HOSTS, ONSET, RANKS, STEPS, Job
from program import Case, causes, finding, report


class SlowExport(Job):
    def fetch(self, rank, step):
        return 0.3 if step < ONSET else 6.0

    def metrics(self, host, step, m):
        if step >= ONSET:
            m.update(psi_io=0.4)


class Neighbour(SlowExport):
    def facts(self):
        self.event("neighbour_start", f"storage/{EXPORT}", ONSET - 3, workload_kind="backup", owner="team-b",
                   resource="storage")


class OneCore(Job):
    def prepare(self, rank, step):
        return 6.0

    def metrics(self, host, step, m):
        m.update(cpu=1.0, psi_cpu=0.9, queue=3.0)

    def facts(self):
        for rank in range(RANKS):
            self.setting(f"rank/{rank}", "cpu.affinity", "0")


class HotGpu(Job):
    def compute(self, rank, step):
        return 1.55 if rank == 3 and step >= ONSET else 1.0

    def metrics(self, host, step, m):
        if host == "node02" and step >= ONSET:
            m["gpus"][1].update({"DCGM_FI_DEV_SM_CLOCK": 1275, "DCGM_FI_DEV_GPU_TEMP": 88,
                                 "DCGM_FI_DEV_CLOCKS_EVENT_REASONS": 0x40 | 0x8})


class Loss(Job):
    def transfer(self, step):
        return 0.1 if step < ONSET else 0.8

    def metrics(self, host, step, m):
        if host == "node02" and step >= ONSET:
            m.update(retransmits=1500)


class Saves(Job):
    def seconds(self, step):
        return 20.0

    def save(self, step):
        return self.seconds(step) if step % 50 == 49 else 0.0

    def facts(self):
        for step in range(49, STEPS, 50):
            self.event("checkpoint", "job/train", step, self.save(step), status="ok", step=step)


class GrowingSaves(Saves):
    def seconds(self, step):
        return 5 + step * 0.08


class HotGpuAndSaves(HotGpu, Saves):
    pass


class ColdCache(Job):
    def fetch(self, rank, step):
        return 5.5 if step < 200 else 0.05

    def metrics(self, host, step, m):
        if step >= 200:
            m.update(read=1e4, reads=1, latency=0.001)


class MemoryLimit(Job):
    def prepare(self, rank, step):
        return 0.6 if step < ONSET else 6.0

    def metrics(self, host, step, m):
        if step >= ONSET:
            m.update(cpu=2.0, psi_memory=0.45, faults=4000, swap=9000, available=1.5e9, cached=2e9, limit=64e9)


class Sockets(Job):
    def transfer(self, step):
        return 1.4

    def facts(self):
        for rank in range(RANKS):
            self.setting(f"rank/{rank}", "nccl.transport", "NET/Socket")
            self.setting(f"rank/{rank}", "env.NCCL_IB_DISABLE", "1")


class Faults(Case):
    def check(self, job, cause, where=None, since=ONSET, beside=(), least=0.8):
        result = report(job.write(self))
        self.assertTrue(result["findings"], result["headline"])
        first = result["findings"][0]
        self.assertEqual(first["cause"], cause, result["headline"])
        self.assertGreaterEqual(first["confidence"], least)
        self.assertEqual(sorted(set(causes(result, 0.5)) - {cause}), sorted(beside))
        if where:
            self.assertIn(where, first["where"])
        if since is None:
            self.assertIsNone(first["since"])
        else:
            self.assertAlmostEqual(first["since"]["step"], since, delta=2)
        self.assert_ledger_sums(result)
        return result

    def test_a_slow_export(self):
        self.check(SlowExport(1), "storage.latency", f"storage/{EXPORT}")

    def test_a_neighbour_at_the_export(self):
        result = self.check(Neighbour(2), "contention.storage", f"storage/{EXPORT}")
        self.assertEqual(result["findings"][0]["owner"], "team-b")

    def test_all_ranks_on_one_core(self):
        self.check(OneCore(3), "input.cpu_entitlement", "rank/0", since=None)

    def test_a_hot_gpu(self):
        self.check(HotGpu(4), "gpu.thermal_throttle", "gpu/node02:1")

    def test_loss_on_one_host(self):
        self.check(Loss(5), "network.loss_retransmission", "host/node02")

    def test_saves_that_block(self):
        self.check(Saves(6), "workload.checkpoint_stall", since=None)

    def test_saves_that_grow(self):
        self.check(GrowingSaves(7), "workload.checkpoint_growth", since=None)

    def test_a_cold_cache(self):
        result = report(ColdCache(8).write(self))
        self.assertIsNotNone(finding(result, "storage.cold_cache"), result["headline"])

    def test_a_memory_limit(self):
        self.check(MemoryLimit(9), "input.memory_pressure", "host/node01")

    def test_sockets(self):
        self.check(Sockets(10), "network.wrong_transport", "rank/3", since=None)

    def test_two_at_once(self):
        result = self.check(HotGpuAndSaves(11), "gpu.thermal_throttle", "gpu/node02:1",
                            beside=["workload.checkpoint_stall"])
        self.assertIsNone(finding(result, "workload.checkpoint_stall")["since"], "saves took as long before")


class HarmlessLoss(Job):
    def metrics(self, host, step, m):
        if host == "node02" and step >= ONSET:
            m.update(retransmits=60)


class WarmGpu(Job):
    def metrics(self, host, step, m):
        if host == "node02" and step >= ONSET:
            m["gpus"][1].update({"DCGM_FI_DEV_SM_CLOCK": 1965, "DCGM_FI_DEV_GPU_TEMP": 84,
                                 "DCGM_FI_DEV_CLOCKS_EVENT_REASONS": 0x4})


class HalfTheCores(Job):
    def facts(self):
        for rank in range(RANKS):
            self.setting(f"rank/{rank}", "cpu.affinity", f"0-{CPUS // 2 - 1}")


class QuietNeighbour(Job):
    def facts(self):
        self.event("neighbour_start", f"storage/{EXPORT}", ONSET - 3, workload_kind="backup", resource="storage")


class ShortSaves(Job):
    def save(self, step):
        return 0.5 if step % 100 == 99 else 0.0

    def facts(self):
        for step in range(99, STEPS, 100):
            self.event("checkpoint", "job/train", step, self.save(step), status="ok", step=step)


class FullCache(Job):
    def metrics(self, host, step, m):
        m.update(limit=128e9, cached=100e9, available=20e9, psi_memory=0.004, faults=15)


class NearMisses(Case):
    def test_a_healthy_job_and_what_only_looks_like_a_fault(self):
        for i, kind in enumerate((Job, HarmlessLoss, WarmGpu, HalfTheCores, QuietNeighbour, ShortSaves, FullCache)):
            with self.subTest(kind=kind.__name__):
                result = report(kind(20 + i).write(self, kind.__name__))
                self.assertEqual(causes(result, 0.5), ["healthy.compute_bound"], result["headline"])
                self.assertEqual(result["verdict"], "healthy")
                self.assertIsNone(result["onset"])
                self.assertNotEqual(result["pattern"], "chronic")


if __name__ == "__main__":
    unittest.main()
