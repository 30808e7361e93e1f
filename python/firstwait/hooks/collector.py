"""Python's garbage collector, where it stops the training thread for longer than a record is worth."""
import gc

from firstwait import emit
from firstwait.hooks.state import S, get_ident, now

_LEAST = 100_000  # ns
_start = [0]


def _patch(_module):
    op = emit.name("gc.collect", emit.GC)

    def callback(phase, _info):
        if phase == "start":
            _start[0] = now()
        elif get_ident() == S.main and now() - _start[0] >= _LEAST:
            emit.span(op, _start[0])

    gc.callbacks.append(callback)


TARGETS = {"torch": _patch}
