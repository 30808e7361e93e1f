"""Spans, steps and settings from any Python program, for frameworks that `firstwait run` has no hooks for.

    import firstwait

    for batch in batches:
        with firstwait.span("augment", phase="input_wait"):
            batch = augment(batch)
        train(batch)
        firstwait.step(samples=len(batch))

Outside `firstwait run` all of it does nothing. Phases: input_wait h2d forward backward optimizer collective p2p checkpoint
evaluation gc logging compile host; of loader workers: fetch decompress decode transform tokenize collate. Phases of the
training thread are exclusive: of nested spans the inner one counts.
"""
from firstwait import emit as _emit

__all__ = ["span", "step", "setting", "counter", "identity"]

_ops = {}
_step = 0


def _op(name, phase):
    op = _ops.get((name, phase))
    if op is None:
        op = _ops[name, phase] = _emit.name(name, _emit.PHASES.get(phase, _emit.UNEXPLAINED))
    return op


class span:
    """`with span(name, phase):` records what happens inside. Seen also if the program is killed inside."""

    __slots__ = ("_op", "_start", "_bytes")

    def __init__(self, name, phase="host", bytes=-1):
        self._op = _op(name, phase)
        self._bytes = bytes

    def __enter__(self):
        self._start = _emit.begin(self._op)
        return self

    def __exit__(self, *_):
        if self._bytes < 0:
            _emit.span(self._op, self._start)
        else:
            _emit.span_full(self._op, self._start, 0, 0, -1, self._bytes, _emit.THREAD)
        return False


def step(number=None, samples=-1):
    """One step of the training has ended; it began where the one before ended. Switches the automatic steps off."""
    global _step
    from firstwait.hooks import state
    state.S.own_steps = True
    number = _step if number is None else number
    _step = number + 1
    _emit.step(number, samples)


def setting(key, value):
    """A start-up fact, such as ("loader.num_workers", 4)."""
    _emit.setting(key, value)


def counter(name, value):
    """The present value of something that is counted or measured."""
    _emit.counter(_op(name, "counter"), float(value))


def identity(rank, world_size=-1, local_rank=-1):
    """Which rank this process is, for launchers that do not set RANK."""
    _emit.identity(rank, world_size, local_rank, _emit.TRAINER)
