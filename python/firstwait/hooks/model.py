"""torch.nn.Module.__call__ of the outermost module: the forward pass, or an evaluation when a module that is trained, or one fed by
another loader than the training, runs in evaluation mode."""
import functools

from firstwait import emit
from firstwait.hooks.state import S, Objects, get_ident, replace, strip, wrapper

_training_ops, _evaluation_ops = {}, {}  # by class
_trained = Objects()


def _new_op(cls, training):
    text = f"{cls.__name__}.forward" if training else f"{cls.__name__}.forward (eval)"
    op = emit.name(text, emit.FORWARD if training else emit.EVALUATION)
    (_training_ops if training else _evaluation_ops)[cls] = op
    return op


def _is_evaluation(module, seen_loader):
    inner = getattr(module, "module", module)  # of a DistributedDataParallel
    return id(module) in _trained.known or id(inner) in _trained.known or \
        (S.loader >= 0 and seen_loader[0] not in (-1, S.loader))


def _patch(module):
    Module = module.Module
    original = Module.__call__
    begin, span = emit.begin, emit.span
    trained = _trained.known
    fed_training = [-1]  # the loader that fed the last forward pass in training mode

    @wrapper
    @functools.wraps(original)
    def __call__(self, *args, **kwargs):
        if S.inside or get_ident() != S.main:
            return original(self, *args, **kwargs)
        training = self.training
        if training:
            if id(self) not in trained:
                _trained.add(self)
                inner = getattr(self, "module", None)
                if isinstance(inner, Module):
                    _trained.add(inner)
            fed_training[0] = S.loader
        elif not _is_evaluation(self, fed_training):
            training = True  # a frozen part of the training
        op = (_training_ops if training else _evaluation_ops).get(type(self)) or _new_op(type(self), training)
        S.inside = True
        device = S.device and S.device.begin()
        start = begin(op)
        try:
            return original(self, *args, **kwargs)
        except BaseException as error:
            strip(error)
            raise
        finally:
            span(op, start)
            S.inside = False
            if device:
                S.device.end(device, "gpu forward", emit.FORWARD if training else emit.EVALUATION)

    replace(Module, "__call__", __call__)


TARGETS = {"torch.nn.modules.module": _patch}
