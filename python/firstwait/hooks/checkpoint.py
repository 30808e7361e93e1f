"""torch.save and torch.distributed.checkpoint: how long the training thread saves, and how much."""
import functools
import os

from firstwait import emit
from firstwait.hooks.state import is_main, replace, strip, wrapper

_inside = [False]


def _size_of(target):
    try:
        if isinstance(target, (str, os.PathLike)):
            return os.path.getsize(target)
        return target.tell()
    except Exception:
        return -1


def _patch_function(module, name, op_name, sized):
    original = getattr(module, name, None)
    if original is None:
        return
    op = emit.name(op_name, emit.CHECKPOINT)

    @wrapper
    @functools.wraps(original)
    def save(*args, **kwargs):
        if _inside[0] or not is_main():
            return original(*args, **kwargs)
        _inside[0] = True
        start = emit.begin(op)
        failed = 1
        try:
            result = original(*args, **kwargs)
            failed = 0
            return result
        except BaseException as error:
            strip(error)
            raise
        finally:
            _inside[0] = False
            target = kwargs.get("f", args[1] if len(args) > 1 else None) if sized else None
            # The running number says whether it failed.
            emit.span_full(op, start, 0, 0, failed, _size_of(target), emit.THREAD)

    replace(module, name, save)


def _patch_save(module):
    _patch_function(module, "save", "torch.save", True)


def _patch_distributed(module):
    for name in ("save", "save_state_dict", "async_save"):
        _patch_function(module, name, "torch.distributed.checkpoint." + name, False)


TARGETS = {"torch.serialization": _patch_save,
           "torch.distributed.checkpoint.state_dict_saver": _patch_distributed,
           "torch.distributed._shard.checkpoint.state_dict_saver": _patch_distributed}  # 1.13
