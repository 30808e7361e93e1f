"""torch.autograd.backward, which Tensor.backward calls. When gradients are averaged by DistributedDataParallel its end is
split: until the rank's own gradients are ready it computes, then it waits for the collectives of the last buckets. A callback that
the autograd engine runs at its end, before DDP's own, gives that moment; DDP's communication hook stays free."""
import functools

from firstwait import emit
from firstwait.hooks import buckets, distributed
from firstwait.hooks.state import S, get_ident, now, replace, strip, wrapper

_LEAST = 20_000  # ns: a shorter tail is the engine's own


def _patch(module):
    original = module.backward
    op = emit.name("backward", emit.BACKWARD)
    reduce_op = emit.name("all_reduce", emit.COLLECTIVE)
    group = emit.name("ddp", emit.UNEXPLAINED)
    begin, span = emit.begin, emit.span
    done = [0]
    count = [0]

    @wrapper
    def own_part_done():
        done[0] = now()

    @wrapper
    def at_start(_gradient):
        module.Variable._execution_engine.queue_callback(own_part_done)

    def watch(tensors):
        """Has the callback queued as soon as the engine runs: it takes callbacks from within only."""
        root = tensors if hasattr(tensors, "register_hook") else next(iter(tensors), None)
        if root is None or root.grad_fn is None:
            return None
        return root.register_hook(at_start)

    def tell_buckets(start, ready):
        try:
            replica = distributed.only_replica()
            if replica is not None:
                buckets.tell(replica, start, ready, count[0])
        except Exception:
            distributed.forget_replica()  # not a reducer as we know it

    @wrapper
    @functools.wraps(original)
    def backward(tensors, *args, **kwargs):
        if S.inside or get_ident() != S.main:
            return original(tensors, *args, **kwargs)
        handle = None
        synchronised = distributed.reducing()
        if synchronised:
            try:
                handle = watch(tensors)
            except Exception:
                pass
        done[0] = 0
        S.inside = True
        device = S.device and S.device.begin()
        start = begin(op)
        try:
            return original(tensors, *args, **kwargs)
        except BaseException as error:
            strip(error)
            raise
        finally:
            end = now()
            S.inside = False
            if handle is not None:
                handle.remove()
            split = done[0]
            if start < split < end - _LEAST:
                emit.span_full(op, start, split, 0, -1, -1, emit.THREAD)
                emit.span_full(reduce_op, split, end, group, count[0], distributed.gradient_bytes(), emit.THREAD)
                tell_buckets(start, split)
            else:
                span(op, start)
            if synchronised:
                count[0] += 1
            if device:
                S.device.end(device, "gpu backward", emit.BACKWARD)

    replace(module, "backward", backward)


TARGETS = {"torch.autograd": _patch}
