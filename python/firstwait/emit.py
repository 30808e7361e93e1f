"""libfirstwait_emit from Python: the fastest calls that need no compiler on the user's machine.

`now()`, `begin(op)`, `span(op, start)` and the others are the C functions of firstwait/emit.h. They are called without giving
up the interpreter's lock: a record takes less time than handing the lock over. Where the library is missing they do nothing."""
import ctypes
import os
import time

INPUT_WAIT, H2D, FORWARD, BACKWARD, OPTIMIZER, COLLECTIVE, P2P, CHECKPOINT, EVALUATION, GC, LOGGING, COMPILE, HOST, \
    UNEXPLAINED = range(14)
FETCH, DECOMPRESS, DECODE, TRANSFORM, TOKENIZE, COLLATE = range(16, 22)
PHASES = {"input_wait": INPUT_WAIT, "h2d": H2D, "forward": FORWARD, "backward": BACKWARD, "optimizer": OPTIMIZER,
          "collective": COLLECTIVE, "p2p": P2P, "checkpoint": CHECKPOINT, "evaluation": EVALUATION, "gc": GC,
          "logging": LOGGING, "compile": COMPILE, "host": HOST, "fetch": FETCH, "decompress": DECOMPRESS,
          "decode": DECODE, "transform": TRANSFORM, "tokenize": TOKENIZE, "collate": COLLATE}
OTHER, TRAINER, LOADER = range(3)
THREAD, DEVICE, BACKGROUND = range(3)

now = time.monotonic_ns  # the clock of the ring


def _nothing(*_):
    return 0


def _load():
    path = os.environ.get("FIRSTWAIT_EMIT_LIBRARY") or os.path.join(
        os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "libfirstwait_emit.so")
    return ctypes.PyDLL(path)


def _function(library, name, result, *arguments):
    f = getattr(library, name)
    f.restype = result
    f.argtypes = arguments
    return f


try:
    if not os.environ.get("FIRSTWAIT_DIR"):
        raise OSError("nobody records")
    _library = _load()
    _i32, _i64, _u64 = ctypes.c_int, ctypes.c_int64, ctypes.c_uint64
    open_ring = _function(_library, "firstwait_open", _i32, ctypes.c_uint32)
    _name = _function(_library, "firstwait_name", _u64, ctypes.c_char_p, _i32)
    begin = _function(_library, "firstwait_begin", _i64, _u64)
    span = _function(_library, "firstwait_span", None, _u64, _i64)
    span_full = _function(_library, "firstwait_span_full", None, _u64, _i64, _i64, _u64, _i64, _i64, _i32)
    batch_begin = _function(_library, "firstwait_batch_begin", None)
    batch_part = _function(_library, "firstwait_batch_part", None, _i32)
    batch_part_end = _function(_library, "firstwait_batch_part_end", None, _i32)
    batch_end = _function(_library, "firstwait_batch_end", None)
    counter = _function(_library, "firstwait_counter", None, _u64, ctypes.c_double)
    step = _function(_library, "firstwait_step", None, _i64, _i64)
    _setting = _function(_library, "firstwait_setting", None, ctypes.c_char_p, ctypes.c_char_p)
    identity = _function(_library, "firstwait_identity", None, _i32, _i32, _i32, _i32)
    recording = True
except OSError:
    open_ring = _name = span = span_full = counter = step = _setting = identity = _nothing
    batch_begin = batch_part = batch_part_end = batch_end = _nothing
    recording = False

    def begin(_):
        return now()


def name(text, phase):
    """An operation: what begin, span and counter take."""
    return _name(text.encode(errors="replace"), phase)


def setting(key, value):
    """A start-up fact of this process. None is not recorded."""
    if value is not None:
        _setting(key.encode(errors="replace"), str(value).encode(errors="replace"))
