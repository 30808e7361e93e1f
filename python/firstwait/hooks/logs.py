"""Log handlers, TensorBoard and Weights & Biases, where they hold the training thread up."""
import functools

from firstwait import emit
from firstwait.hooks.state import is_main, now, replace, wrapper

_LEAST = 500_000  # ns: what is shorter is no stall
_APART = 100_000  # ns: calls that follow each other sooner are one stall, told in pieces of at least _LEAST


def _patch_method(cls, name, text):
    original = getattr(cls, name, None)
    if original is None:
        return
    op = emit.name(text, emit.LOGGING)
    begun = ended = 0

    @wrapper
    @functools.wraps(original)
    def method(self, *args, **kwargs):
        nonlocal begun, ended
        if not is_main():
            return original(self, *args, **kwargs)
        start = now()
        if start - ended > _APART:
            begun = start
        try:
            return original(self, *args, **kwargs)
        finally:
            ended = now()
            if ended - begun >= _LEAST:
                emit.span(op, begun)
                begun = ended

    replace(cls, name, method)


def _patch_logging(_torch):
    import logging
    _patch_method(logging.Handler, "handle", "logging")


def _patch_tensorboard(module):
    for name in ("add_scalar", "add_scalars", "add_histogram", "add_image", "add_images", "add_figure", "flush"):
        _patch_method(module.SummaryWriter, name, "SummaryWriter." + name)


def _patch_wandb(module):
    _patch_method(module.Run, "log", "wandb.log")


TARGETS = {"torch": _patch_logging, "torch.utils.tensorboard.writer": _patch_tensorboard,
           "wandb.sdk.wandb_run": _patch_wandb}
