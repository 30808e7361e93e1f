"""Hooks whose targets Debian's PyTorch does not have, against stand-ins with the interface of newer versions."""
import json
import os
import subprocess
import sys
import unittest

from program import Case, PROGRAM

TORCH = {
    "torch/__init__.py": """
import time
__version__ = "2.9.0"
class version: cuda = "12.8"
def get_num_threads(): return 1
class cuda:
    capturing = False
    made = 0
    @staticmethod
    def is_initialized(): return True
    @classmethod
    def is_current_stream_capturing(cls): return cls.capturing
    class Event:
        # A device that runs 5 ms behind.
        def __init__(self, enable_timing=False):
            assert enable_timing
            cuda.made += 1
        def record(self):
            assert not cuda.capturing
            self.at = time.monotonic() + 0.005
        def query(self): return time.monotonic() >= self.at
        def synchronize(self): raise AssertionError("waited for the device")
        def elapsed_time(self, other):
            assert self.query() and other.query()
            return (other.at - self.at) * 1e3
import torch.nn.modules.module, torch.optim.optimizer, torch.autograd
import torch._dynamo.eval_frame, torch._dynamo.callback
""",
    "torch/nn/__init__.py": "",
    "torch/nn/modules/__init__.py": "",
    "torch/nn/modules/module.py": """
class Module:
    training = True
    def _call_impl(self, *args, **kwargs): return self.forward(*args, **kwargs)
    def _wrapped_call_impl(self, *args, **kwargs): return self._call_impl(*args, **kwargs)
    __call__ = _wrapped_call_impl
""",
    "torch/optim/__init__.py": "",
    "torch/optim/optimizer.py": "class Optimizer:\n    def __init__(self): pass\n",
    "torch/autograd/__init__.py": "def backward(tensors, *args, **kwargs): return 'gradients'\n",
    "torch/_dynamo/__init__.py": "",
    "torch/_dynamo/eval_frame.py": "skipped = []\ndef skip_code(code): skipped.append(code)\n",
    "torch/_dynamo/callback.py": """
class Handler:
    def __init__(self): self.starts, self.ends = [], []
    def register_start_callback(self, f): self.starts.append(f); return f
    def register_end_callback(self, f): self.ends.append(f); return f
callback_handler = Handler()
""",
}


class Newer(Case):
    def run_program(self, text, **environment):
        for name, content in TORCH.items():
            self.write("fake/" + name, content)
        program = self.write("program.py", text)
        result = subprocess.run([PROGRAM, "run", "--out", self.folder / "bundle", "--", sys.executable, program],
                                capture_output=True, text=True, timeout=60,
                                env=dict(os.environ, PYTHONPATH=str(self.folder / "fake"), **environment))
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def spans(self):
        return [json.loads(line) for line in (self.folder / "bundle/spans.jsonl").read_text().splitlines()]

    STEPS = """
import time, torch
class Net(torch.nn.modules.module.Module):
    def forward(self): time.sleep(0.01); return 1
class Sgd(torch.optim.optimizer.Optimizer):
    def step(self): pass
net, optimizer = Net(), Sgd()
def steps(n):
    for _ in range(n):
        assert net() == 1
        assert torch.autograd.backward(None) == "gradients"
        optimizer.step()
"""

    def test_gpu_times_come_without_waiting_for_the_device(self):
        self.run_program(self.STEPS + "steps(10); time.sleep(0.02); steps(1)\nassert torch.cuda.made < 30, torch.cuda.made")
        spans = self.spans()
        forward = [s for s in spans if s["op"] == "gpu forward"]
        self.assertGreaterEqual(len(forward), 9)
        for span in forward:
            self.assertTrue(span["thread"].startswith("stream"))
            self.assertGreaterEqual(span["duration"], 0.009)
        starts = [s["start"] for s in spans if s["op"] == "Net.forward" and not s.get("open")]
        self.assertAlmostEqual(forward[0]["start"], starts[0], delta=0.02)

    def test_while_a_graph_is_captured_no_event_is_recorded(self):
        self.run_program(self.STEPS + "torch.cuda.capturing = True; steps(3)\nassert torch.cuda.made == 0")
        self.assertFalse([s for s in self.spans() if s["op"].startswith("gpu")])

    def test_a_device_that_fails_stops_no_training(self):
        self.run_program(self.STEPS + "torch.cuda.Event = None; steps(3)")
        self.assertEqual(len([s for s in self.spans() if s["op"] == "Net.forward" and not s.get("open")]), 3)

    def test_the_compiler_is_told_to_skip_the_hooks(self):
        out = self.run_program(self.STEPS + """
steps(1)
skipped = torch._dynamo.eval_frame.skipped
for f in (torch.nn.modules.module.Module.__call__, torch.autograd.backward, Sgd.step):
    assert f.__code__ in skipped, f
print(torch.nn.modules.module.Module.__call__.__wrapped__.__name__)
""")
        self.assertEqual(out, "_wrapped_call_impl\n")

    def test_compilation_is_a_span(self):
        self.run_program(self.STEPS + """
handler = torch._dynamo.callback.callback_handler
for f in handler.starts: f()
time.sleep(0.02)
for f in handler.ends: f()
steps(1)
""")
        compiled = [s for s in self.spans() if s["phase"] == "compile"]
        self.assertEqual(len(compiled), 1)
        self.assertGreater(compiled[0]["duration"], 0.02)

    FSDP = {
        # The shapes of versions 1.13 to 2.5 and from 2.6 on.
        "torch/distributed/__init__.py": "from torch.distributed.distributed_c10d import *\n",
        "torch/distributed/distributed_c10d.py": """
import time
def init_process_group(*args, **kwargs): pass
def get_rank(): return 3
def get_world_size(): return 8
def get_backend(): return 'gloo'
def all_gather_into_tensor(output, input, group=None, async_op=False): time.sleep(0.02)
def reduce_scatter_tensor(output, input, op=None, group=None, async_op=False): time.sleep(0.01)
""",
        "torch/distributed/fsdp/__init__.py": "",
        "torch/distributed/fsdp/fully_sharded_data_parallel.py": """
import torch
class Strategy: name = "FULL_SHARD"
class FullyShardedDataParallel(torch.nn.modules.module.Module):
    def __init__(self, module): self.module, self.sharding_strategy = module, Strategy()
    def forward(self):
        torch.distributed.all_gather_into_tensor(None, None)
        return self.module()
""",
        "torch/distributed/fsdp/_fully_shard/__init__.py": "",
        "torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py": """
class HSDPMeshInfo: pass
class FSDPParamGroup:
    def __init__(self, params): self.mesh_info = HSDPMeshInfo()
""",
        "torch/distributed/checkpoint/__init__.py": "from torch.distributed.checkpoint.state_dict_saver import save, async_save\n",
        "torch/distributed/checkpoint/state_dict_saver.py": """
import threading, time
def save(state, *, checkpoint_id=None):
    time.sleep(0.3)
    return state
def async_save(state, *, checkpoint_id=None):
    thread = threading.Thread(target=save, args=(state,))
    thread.start()
    return thread
""",
    }

    def run_sharded(self, text):
        for name, content in self.FSDP.items():
            self.write("fake/" + name, content)
        self.run_program(self.STEPS + text)
        return {s["key"]: s["value"] for s in map(json.loads, (self.folder / "bundle/settings.jsonl").read_text().splitlines())}

    def test_what_sharded_training_gathers_is_told_and_taken_out_of_the_pass(self):
        settings = self.run_sharded("""
import torch.distributed, torch.distributed.fsdp.fully_sharded_data_parallel as fsdp
torch.distributed.init_process_group()
net = fsdp.FullyShardedDataParallel(net)
steps(3)
""")
        self.assertEqual((settings["parallel.sharding"], settings["world_size"]), ("FULL_SHARD", "8"))
        step = json.loads((self.folder / "bundle/steps.jsonl").read_text().splitlines()[1])
        self.assertEqual(step["rank"], 3)
        self.assertGreaterEqual(step["phases"]["collective"], 0.02)
        self.assertLess(step["phases"]["forward"], step["duration"] - 0.02)
        self.assertEqual(step["collectives"][0]["op"], "all_gather_into_tensor")

    def test_the_newer_sharding_is_told_too(self):
        settings = self.run_sharded("""
import torch.distributed.fsdp._fully_shard._fsdp_param_group as groups
groups.FSDPParamGroup([]), groups.FSDPParamGroup([])
steps(1)
""")
        self.assertEqual(settings["parallel.sharding"], "fully_shard on HSDPMeshInfo")

    def test_distributed_saves_are_checkpoints_and_what_is_saved_in_the_background_is_not(self):
        self.run_sharded("""
import torch.distributed.checkpoint as dcp
steps(1)
assert dcp.save({"a": 1}) == {"a": 1}
dcp.async_save({"a": 1}).join()
steps(1)
""")
        saves = [s for s in self.spans() if s["phase"] == "checkpoint" and not s.get("open")]
        self.assertEqual([s["op"] for s in saves], ["torch.distributed.checkpoint.save", "torch.distributed.checkpoint.async_save"])
        self.assertGreaterEqual(saves[0]["duration"], 0.3)
        self.assertLess(saves[1]["duration"], 0.3)

    def test_counters_arrive_as_samples(self):
        self.run_program("""
import firstwait, torch
firstwait.identity(2, 4)
for i in range(3):
    firstwait.counter("loss", 0.5 - i / 10)
    firstwait.step()
""")
        metrics = (self.folder / "bundle/metrics.om").read_text().splitlines()
        values = [line.split()[1] for line in metrics if 'name="loss",rank="2"}' in line]
        self.assertEqual(values, ["0.5", "0.4", "0.3"])
        result = subprocess.run([PROGRAM, "diagnose", self.folder / "bundle", "--format", "json"], capture_output=True, check=True)
        self.assertEqual([h for h in json.loads(result.stdout)["input_health"] if h["severity"] == "error"], [])

    def test_the_interface_for_other_frameworks(self):
        self.run_program("""
import time, firstwait, torch
firstwait.identity(2, 4)
firstwait.setting("loader.num_workers", 3)
for i in range(3):
    with firstwait.span("augment", phase="input_wait"):
        time.sleep(0.01)
    with firstwait.span("save", phase="checkpoint", bytes=100):
        pass
    firstwait.step(samples=5)
""")
        steps = [json.loads(line) for line in (self.folder / "bundle/steps.jsonl").read_text().splitlines()]
        self.assertEqual([(s["rank"], s["step"], s["samples"]) for s in steps], [(2, 0, 5), (2, 1, 5), (2, 2, 5)])
        self.assertGreater(steps[1]["phases"]["input_wait"], 0.01)

    def test_outside_of_a_run_the_interface_does_nothing(self):
        library = subprocess.run(["find", "-L", os.path.dirname(os.path.dirname(PROGRAM)), "-name", "firstwait", "-path",
                                  "*/python/*"], capture_output=True, text=True).stdout.split()[0]
        code = "import firstwait\nwith firstwait.span('x'): firstwait.step()\nprint('fine')"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                              env=dict(os.environ, PYTHONPATH=os.path.dirname(library)))
        self.assertEqual((done.stdout, done.stderr), ("fine\n", ""))


if __name__ == "__main__":
    unittest.main()
