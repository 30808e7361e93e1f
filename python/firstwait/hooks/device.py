"""GPU time of the forward pass, the backward pass and the optimizer, by pairs of CUDA events on the program's own stream. They are
asked later whether they have passed, and never waited for; while a CUDA graph is captured none is recorded."""
from collections import deque

from firstwait import emit
from firstwait.hooks.state import S, now

_MOST_PENDING = 256  # pairs: a device that is further behind is left alone


class DeviceTimer:
    def __init__(self, cuda):
        self.cuda = cuda
        self.free = []
        self.pending = deque()
        self.last = None      # the newest event whose place in time is known, and that place
        self.last_at = 0
        self.offset = None    # from device to host time: events never pass before they are recorded
        self.ops = {}

    def begin(self):
        """An event, or None where none may be recorded."""
        try:
            if not self.cuda.is_initialized() or len(self.pending) >= _MOST_PENDING or \
                    self.cuda.is_current_stream_capturing():
                return None
            event = self.free.pop() if self.free else self.cuda.Event(enable_timing=True)
            host = now()
            event.record()
            return event, host
        except Exception:
            S.device = None  # not a device as we know it
            return None

    def end(self, begun, name, phase):
        if begun is None:
            return
        try:
            if self.cuda.is_current_stream_capturing():
                return
            event = self.free.pop() if self.free else self.cuda.Event(enable_timing=True)
            event.record()
            self.pending.append((begun[0], event, begun[1], name, phase))
        except Exception:
            S.device = None

    def poll(self):
        try:
            while self.pending and self.pending[0][1].query():
                self._place(*self.pending.popleft())
        except Exception:
            S.device = None

    def _place(self, first, second, host, name, phase):
        # Differences between neighbours only: elapsed_time is a 32-bit float of milliseconds.
        start = self.last_at + (int(self.last.elapsed_time(first) * 1e6) if self.last is not None else 0)
        end = start + int(first.elapsed_time(second) * 1e6)
        if self.offset is None or host - start > self.offset:
            self.offset = host - start
        op = self.ops.get((name, phase))
        if op is None:
            op = self.ops[name, phase] = emit.name(name, phase)
        emit.span_full(op, start + self.offset, end + self.offset, 0, -1, -1, emit.DEVICE)
        if self.last is not None:
            self.free.append(self.last)
        self.free.append(first)
        self.last, self.last_at = second, end


def _patch(torch):
    if getattr(getattr(torch, "version", None), "cuda", None) or getattr(getattr(torch, "version", None), "hip", None):
        S.device = DeviceTimer(torch.cuda)


TARGETS = {"torch": _patch}
