"""Optimizer.step of every optimizer: the phase, and the end of the step.

A step of the training ends with the step of one optimizer. Where several take turns it is the first; when that one rests while
another has stepped eight times, it is the other."""
import functools
import sys

from firstwait import emit
from firstwait.hooks import loader
from firstwait.hooks.state import S, get_ident, replace, strip, wrapper

_OTHERS = 8
_leader = [None, 0]  # the optimizer's id, steps of others since its own


def _leads(optimizer):
    if _leader[0] == id(optimizer):
        _leader[1] = 0
        return True
    _leader[1] += 1
    if _leader[0] is None or _leader[1] >= _OTHERS:
        _leader[:] = [id(optimizer), 0]
        return True
    return False


def _end_step():
    emit.step(S.steps, S.fed.get(S.loader, -1))
    loader.describe_training_loader()
    S.steps += 1
    S.fed.clear()


def _patch_class(cls):
    original = cls.step
    if getattr(original, "_firstwait", False):
        return
    op = emit.name(f"{cls.__name__}.step", emit.OPTIMIZER)
    begin, span = emit.begin, emit.span
    # A compiled step is traced through here; to the tracer this is a constant, and nothing of ours is left.
    compiling = getattr(getattr(sys.modules.get("torch"), "compiler", None), "is_compiling", None) or (lambda: False)

    @wrapper
    @functools.wraps(original)
    def step(self, *args, **kwargs):
        if compiling() or S.inside or get_ident() != S.main:
            return original(self, *args, **kwargs)
        S.inside = not args and not kwargs  # a closure computes the passes itself
        device = S.device and S.device.begin()
        start = begin(op)
        try:
            return original(self, *args, **kwargs)
        except BaseException as error:
            strip(error)
            raise
        finally:
            S.inside = False
            span(op, start)
            if device:
                S.device.end(device, "gpu optimizer", emit.OPTIMIZER)
                S.device.poll()
            if not S.own_steps and _leads(self):
                _end_step()

    step._firstwait = True
    replace(cls, "step", step)


def _patch(module):
    original = module.Optimizer.__init__

    @wrapper
    @functools.wraps(original)
    def __init__(self, *args, **kwargs):
        original(self, *args, **kwargs)
        try:
            _patch_class(type(self))
        except Exception:
            pass

    replace(module.Optimizer, "__init__", __init__)


TARGETS = {"torch.optim.optimizer": _patch}
