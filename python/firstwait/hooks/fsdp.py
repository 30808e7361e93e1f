"""Fully sharded data parallelism: that it is used, and how it shards, as a setting. What it gathers and reduces goes through functions
of torch.distributed, whose hook sees it: a collective inside a pass is taken out of that pass."""
import functools

from firstwait import emit
from firstwait.hooks.state import replace, wrapper

_told = set()


def _tell(how):
    if how not in _told:
        _told.add(how)
        emit.setting("parallel.sharding", how)


def _patch_init(cls, describe):
    original = cls.__init__

    @wrapper
    @functools.wraps(original)
    def __init__(self, *args, **kwargs):
        original(self, *args, **kwargs)
        try:
            _tell(describe(self))
        except Exception:
            pass

    replace(cls, "__init__", __init__)


def _patch_module(module):
    """The wrapper of whole modules."""
    _patch_init(module.FullyShardedDataParallel, lambda self: getattr(self.sharding_strategy, "name", "sharded"))


def _patch_group(module):
    """What `fully_shard` makes for each module: groups of parameters on a mesh of devices."""
    _patch_init(module.FSDPParamGroup, lambda self: f"fully_shard on {type(self.mesh_info).__name__}")


TARGETS = {"torch.distributed.fsdp.fully_sharded_data_parallel": _patch_module,
           "torch.distributed.fsdp._fully_shard._fsdp_param_group": _patch_group,
           "torch.distributed._composable.fsdp._fsdp_param_group": _patch_group}  # before 2.6
