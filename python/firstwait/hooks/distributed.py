"""torch.distributed: who this rank is, and the collectives that the program calls. DDP's broadcast of buffers as well; its
reductions are seen by the hook of the backward pass, those of NCCL by the profiler plugin."""
import functools
import threading
import weakref

from firstwait import emit
from firstwait.hooks.state import identify, replace, strip, wrapper

_COLLECTIVES = ("all_reduce", "broadcast", "reduce", "all_gather", "all_gather_into_tensor", "_all_gather_base",
                "all_gather_coalesced", "gather", "scatter", "reduce_scatter", "reduce_scatter_tensor",
                "_reduce_scatter_base", "all_to_all", "all_to_all_single", "barrier", "monitored_barrier",
                "all_gather_object", "gather_object", "broadcast_object_list", "scatter_object_list")
_P2P = ("send", "recv", "isend", "irecv", "batch_isend_irecv")
_replicas = weakref.WeakSet()  # DistributedDataParallel modules
_bytes = weakref.WeakKeyDictionary()
_nesting = threading.local()
_parallel = [False]  # was there ever one
_untold = [False]  # its buckets cannot be told


def reducing():
    """Will the next backward pass average gradients?"""
    return _parallel[0] and any(r.require_backward_grad_sync for r in _replicas)


def only_replica():
    """The one DistributedDataParallel module; of several it is not known which the backward pass was for."""
    return next(iter(_replicas)) if len(_replicas) == 1 and not _untold[0] else None


def forget_replica():
    _untold[0] = True


def gradient_bytes():
    total = 0
    for replica in _replicas:
        known = _bytes.get(replica)
        if known is None:
            known = _bytes[replica] = sum(p.numel() * p.element_size() for p in replica.parameters() if p.requires_grad)
        total += known
    return total


def _group_name(c10d, group):
    if group is None or group is getattr(getattr(c10d, "group", None), "WORLD", None):
        return "world"
    try:
        ranks = c10d.get_process_group_ranks(group) if hasattr(c10d, "get_process_group_ranks") else \
            sorted(c10d._pg_group_ranks[group])
        return "ranks " + ",".join(map(str, ranks[:16])) + (f",… {len(ranks)}" if len(ranks) > 16 else "")
    except Exception:
        return "group"


def _patch_function(c10d, name, phase, groups):
    original = getattr(c10d, name, None)
    if original is None:
        return
    op = emit.name(name.strip("_"), phase)

    @wrapper
    @functools.wraps(original)
    def collective(*args, **kwargs):
        if getattr(_nesting, "inside", False):
            return original(*args, **kwargs)
        group = kwargs.get("group")
        known = groups.get(group)
        if known is None:
            known = groups[group] = [emit.name(_group_name(c10d, group), emit.UNEXPLAINED), 0]
        sequence, known[1] = known[1], known[1] + 1
        first = args[0] if args else None
        size = -1
        try:
            if not isinstance(first, (list, tuple)) and first is not None:
                size = first.element_size() * first.nelement()
        except AttributeError:
            pass
        _nesting.inside = True
        start = emit.begin(op)
        try:
            return original(*args, **kwargs)
        except BaseException as error:
            strip(error)
            raise
        finally:
            _nesting.inside = False
            # What was only enqueued does not tell when it began or ended: it is not matched with other ranks.
            if kwargs.get("async_op") or phase == emit.P2P:
                emit.span(op, start)
            else:
                emit.span_full(op, start, 0, known[0], sequence, size, emit.THREAD)

    replace(c10d, name, collective)


def _patch_c10d(c10d):
    groups = {}
    for name in _COLLECTIVES:
        _patch_function(c10d, name, emit.COLLECTIVE, groups)
    for name in _P2P:
        _patch_function(c10d, name, emit.P2P, groups)
    original = c10d.init_process_group

    @wrapper
    @functools.wraps(original)
    def init_process_group(*args, **kwargs):
        try:
            return original(*args, **kwargs)
        finally:
            try:
                identify(c10d.get_rank(), c10d.get_world_size())
                emit.setting("world_size", c10d.get_world_size())
                emit.setting("torch.distributed.backend", c10d.get_backend())
            except Exception:
                pass

    replace(c10d, "init_process_group", init_process_group)


def _patch_ddp(module):
    DDP = module.DistributedDataParallel
    original_init = DDP.__init__

    @wrapper
    @functools.wraps(original_init)
    def __init__(self, *args, **kwargs):
        original_init(self, *args, **kwargs)
        _replicas.add(self)
        _parallel[0] = True

    replace(DDP, "__init__", __init__)
    original_sync = getattr(DDP, "_sync_buffers", None)
    if original_sync is None:
        return
    op, group, count = emit.name("broadcast", emit.COLLECTIVE), emit.name("ddp buffers", emit.UNEXPLAINED), [0]

    @wrapper
    @functools.wraps(original_sync)
    def _sync_buffers(self, *args, **kwargs):
        start = emit.begin(op)
        try:
            return original_sync(self, *args, **kwargs)
        finally:
            emit.span_full(op, start, 0, group, count[0], -1, emit.THREAD)
            count[0] += 1

    replace(DDP, "_sync_buffers", _sync_buffers)


TARGETS = {"torch.distributed.distributed_c10d": _patch_c10d, "torch.nn.parallel.distributed": _patch_ddp}
