"""Tensor.to and Tensor.cuda between devices, as the training thread sees them. Inside a forward or backward pass they belong
to that pass."""
import functools

from firstwait import emit
from firstwait.hooks.state import S, get_ident, replace, strip, wrapper


def _patch(module):
    Tensor = module.Tensor
    now, span_full = emit.now, emit.span_full

    def patch(name):
        original = getattr(Tensor, name)
        op = emit.name(f"Tensor.{name}", emit.H2D)

        @wrapper
        @functools.wraps(original)
        def copy(self, *args, **kwargs):
            if S.inside or get_ident() != S.main:
                return original(self, *args, **kwargs)
            start = now()
            try:
                result = original(self, *args, **kwargs)
            except BaseException as error:
                strip(error)
                raise
            if result is not self and result.device != self.device:
                span_full(op, start, 0, 0, -1, result.element_size() * result.nelement(), emit.THREAD)
            return result

        replace(Tensor, name, copy)

    patch("to")
    patch("cuda")


TARGETS = {"torch._tensor": _patch}
