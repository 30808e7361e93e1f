#!/usr/bin/env python3
"""What a record costs from Python, against a foreign call of the same signature that does nothing.

Usage: bench/emit_python.py BUILD_FOLDER (with BUILD_FOLDER/lib/firstwait and BUILD_FOLDER/lib/libempty_call.so). Both kinds of
call take turns in short blocks, so that a busy machine slows both; processor time of this thread, the median of the blocks."""
import ctypes
import os
import pathlib
import statistics
import sys
import tempfile
import time

BLOCK, BLOCKS = 20_000, 41


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        os.environ["FIRSTWAIT_DIR"] = folder
        os.environ["FIRSTWAIT_EMIT_LIBRARY"] = str(build / "lib/firstwait/libfirstwait_emit.so")
        sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))
        from firstwait import emit
        assert emit.recording
        empty = ctypes.PyDLL(str(build / "lib/libempty_call.so"))
        op = emit.name("bench", emit.HOST)
        cases = {"begin": (emit.begin, empty.empty_begin, (op,)), "span": (emit.span, empty.empty_span, (op, 1)),
                 "span_full": (emit.span_full, empty.empty_span_full, (op, 1, 2, 0, 3, 4, 0))}
        for name, (real, nothing, arguments) in cases.items():
            nothing.argtypes, nothing.restype = real.argtypes, real.restype
            cost = {True: [], False: []}
            for block in range(2 * BLOCKS):
                function = real if block % 2 else nothing
                start = time.thread_time_ns()
                for _ in range(BLOCK):
                    function(*arguments)
                cost[block % 2 == 1].append((time.thread_time_ns() - start) / BLOCK)
            a, b = statistics.median(cost[True]), statistics.median(cost[False])
            print(f"{name:10} {a:6.0f} ns, empty call {b:6.0f} ns, ratio {a / b:.2f}   goal: 1.5")


if __name__ == "__main__":
    main()
