"""torch.compile: keeps it from looking into our wrappers, and records when it compiles."""
import os

from firstwait import emit
from firstwait.hooks.state import S, get_ident, identify, now, skip_with

_start = [0, 0]  # nesting, time


def _patch_eval_frame(module):
    skip_with(module.skip_code)


def _patch_callbacks(module):
    op = emit.name("torch.compile", emit.COMPILE)

    def begins(*_):
        if _start[0] == 0:
            _start[1] = now()
        _start[0] += 1

    def ends(*_):
        _start[0] = max(0, _start[0] - 1)
        if _start[0] == 0 and get_ident() == S.main:
            emit.span(op, _start[1])

    module.callback_handler.register_start_callback(begins)
    module.callback_handler.register_end_callback(ends)


def _describe(torch):
    if "RANK" in os.environ:
        identify()
    emit.setting("torch.version", torch.__version__)
    version = getattr(torch, "version", None)
    emit.setting("cuda.version", getattr(version, "cuda", None))
    emit.setting("torch.num_threads", torch.get_num_threads())


TARGETS = {"torch._dynamo.eval_frame": _patch_eval_frame, "torch._dynamo.callback": _patch_callbacks, "torch": _describe}
