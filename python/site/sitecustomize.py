"""Loaded by every Python that `firstwait run` starts, before the program. Switches the hooks on, then runs the sitecustomize
that would have been found without this one. Nothing that happens here may keep the program from running."""
import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))


def _start():
    if not os.environ.get("FIRSTWAIT_DIR"):
        return
    try:
        sys.path.insert(0, os.path.join(os.path.dirname(_here)))
        try:
            import firstwait.hooks
        finally:
            del sys.path[0]
        firstwait.hooks.install()
    except Exception:  # the program comes first
        if os.environ.get("FIRSTWAIT_DEBUG"):
            import traceback
            traceback.print_exc()


def _chain():
    import importlib.machinery
    import importlib.util
    rest = [p for p in sys.path if os.path.abspath(p or os.curdir) != _here]
    sys.path[:] = rest  # the program sees the path that it would have had
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", rest)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


_start()
_chain()
