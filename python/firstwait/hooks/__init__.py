"""The hooks into PyTorch. Each is a module with TARGETS, a table {module to wait for: function that patches it}; nothing is
imported that the program does not import itself. Each can be switched off: FIRSTWAIT_HOOKS_OFF=copies,collector."""
import importlib
import os
import sys

NAMES = ("loader", "copies", "model", "backward", "optimizer", "distributed", "fsdp", "checkpoint", "collector", "logs",
         "compiler", "device")


def _complain(what):
    if os.environ.get("FIRSTWAIT_DEBUG"):
        import traceback
        print(f"firstwait: {what}", file=sys.stderr)
        traceback.print_exc()


class _Finder:
    """Runs the patches of a module when it has just been executed, before anyone sees it."""

    def __init__(self, patches):
        self.patches = patches

    def find_spec(self, name, path=None, target=None):
        patches = self.patches.pop(name, None)
        if patches is None:
            return None
        for finder in sys.meta_path:
            if finder is self:
                continue
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find else None
            if spec is not None:
                break
        else:
            return None
        loader = spec.loader
        original = getattr(loader, "exec_module", None)
        if original is None:
            return spec

        def exec_module(module):
            del loader.exec_module  # the class's own again
            original(module)
            apply(module, patches)

        try:
            loader.exec_module = exec_module
        except AttributeError:
            pass
        return spec


_on = []


def apply(module, patches):
    from firstwait import emit
    if emit.open_ring(0) != 0:  # only now: a Python that never trains gets no ring
        return
    if _on:
        emit.setting("firstwait.hooks", ",".join(_on))
        _on.clear()
    for patch in patches:
        try:
            patch(module)
        except Exception:
            _complain(f"hook {patch.__module__}.{patch.__name__} is off")


def install():
    from firstwait import emit
    if not emit.recording:
        return False
    off = set(filter(None, os.environ.get("FIRSTWAIT_HOOKS_OFF", "").split(",")))
    unknown = sorted(off - {*NAMES, "all"})
    if unknown:
        print(f"firstwait: FIRSTWAIT_HOOKS_OFF: no hook {', '.join(unknown)}; there are {', '.join(NAMES)} and all", file=sys.stderr)
        os.environ["FIRSTWAIT_HOOKS_OFF"] = ",".join(sorted(off.difference(unknown)))  # told once, not by every child
    patches = {}
    for name in NAMES:
        if name in off or "all" in off:
            continue
        try:
            hook = importlib.import_module(f"firstwait.hooks.{name}")
            _on.append(name)
            for target, patch in hook.TARGETS.items():
                patches.setdefault(target, []).append(patch)
        except Exception:
            _complain(f"hook {name} is off")
    for target in list(patches):
        if target in sys.modules:
            apply(sys.modules[target], patches.pop(target))
    sys.meta_path.insert(0, _Finder(patches))
    return True
