"""torch.utils.data.DataLoader: how long the training thread waits for a batch, how full the queue is, and what the workers do.

The work of a batch is split by what the operating system counts: time on a CPU, or waiting for one, is preparation
(`transform`; of it `decode`, where PIL decodes); the rest of the time in the data set is `fetch`, waiting for reads; `collate` is
measured where it runs."""
import functools
import os
import weakref

from firstwait import emit
from firstwait.hooks.state import S, get_ident, is_main, replace, strip, wrapper

_ops = {}
_loaders = weakref.WeakKeyDictionary()  # loader -> running number
_facts = {}  # settings by that number; under None those that were told


def _op(name, phase):
    op = _ops.get(name)
    if op is None:
        op = _ops[name] = emit.name(name, phase)
    return op


def _path_of(dataset):
    """Where the data lies, if the data set says so in a usual way."""
    for _ in range(4):  # subsets and wrappers
        for key in ("root", "data_dir", "data_path", "path", "root_dir", "img_dir", "folder", "filename", "file_path"):
            value = getattr(dataset, key, None)
            if isinstance(value, (str, os.PathLike)) and os.path.exists(value):
                return os.path.abspath(os.fspath(value))
        for key in ("paths", "files", "samples", "imgs", "file_list"):
            value = getattr(dataset, key, None)
            if isinstance(value, (list, tuple)) and value:
                first = value[0][0] if isinstance(value[0], (list, tuple)) and value[0] else value[0]
                if isinstance(first, (str, os.PathLike)) and os.path.exists(first):
                    return os.path.dirname(os.path.abspath(os.fspath(first)))
        inner = getattr(dataset, "dataset", None)
        if inner is None:
            return None
        dataset = inner
    return None


def _describe(loader):
    facts = {}
    for key in ("num_workers", "prefetch_factor", "persistent_workers", "pin_memory", "batch_size"):
        value = getattr(loader, key, None)
        if value is not None and not (key == "prefetch_factor" and not getattr(loader, "num_workers", 0)):
            facts["loader." + key] = str(value).lower() if isinstance(value, bool) else value
    facts["dataset.path"] = _path_of(loader.dataset)
    return facts


def describe_training_loader():
    """Settings of the loader that feeds the training; another one later is a change of settings."""
    facts = _facts.get(S.loader)
    told = _facts.get(None)
    if facts is not told and facts is not None and facts != told:
        _facts[None] = facts
        for key, value in facts.items():
            emit.setting(key, value)


def _patch_loader(module):
    op_iter, op_next = _op("DataLoader.__iter__", emit.INPUT_WAIT), _op("DataLoader.__next__", emit.INPUT_WAIT)
    DataLoader, Base = module.DataLoader, module._BaseDataLoaderIter
    original_iter, original_next = DataLoader.__iter__, Base.__next__

    @wrapper
    @functools.wraps(original_iter)
    def __iter__(self):
        if S.worker or not is_main():
            return original_iter(self)
        start = emit.begin(op_iter)
        try:
            iterator = original_iter(self)
        except BaseException as error:
            strip(error)
            raise
        finally:
            number = _loaders.get(self)
            if number is None:
                number = _loaders[self] = S.loaders
                S.loaders += 1
            emit.span_full(op_iter, start, 0, 0, number, -1, emit.THREAD)
        try:
            iterator._firstwait = (number, getattr(self, "batch_size", None) or 0)
            if number not in _facts:
                if len(_facts) > 64:  # a loader for every epoch: the latest count
                    _facts.pop(next(key for key in _facts if key is not None))
                _facts[number] = _describe(self)
        except Exception:
            pass
        return iterator

    @wrapper
    @functools.wraps(original_next)
    def __next__(self):
        if S.inside or get_ident() != S.main:
            return original_next(self)
        queued = -1
        if getattr(self, "_num_workers", 0):
            try:
                queued = self._data_queue.qsize() + len(self._task_info) - self._tasks_outstanding
            except Exception:
                pass
        start = emit.begin(op_next)
        number, samples = getattr(self, "_firstwait", (-1, 0))
        try:
            batch = original_next(self)
            S.loader = number
            if samples:
                S.fed[number] = S.fed.get(number, 0) + samples
            return batch
        except BaseException as error:
            strip(error)
            raise
        finally:
            emit.span_full(op_next, start, 0, 0, number, queued, emit.THREAD)

    replace(DataLoader, "__iter__", __iter__)
    replace(Base, "__next__", __next__)


def _become_worker():
    """This process is a loader worker: it needs a small ring, and no hooks of the training thread."""
    S.worker = S.inside = True
    emit.open_ring(2048)
    emit.identity(-1, -1, -1, emit.LOADER)


def _patch_fetchers(module):
    import torch.utils.data._utils.worker as torch_worker  # not whole yet when this runs
    batch_begin, batch_end = emit.batch_begin, emit.batch_end
    batch_part, batch_part_end, COLLATE = emit.batch_part, emit.batch_part_end, emit.COLLATE
    Base = module._BaseDatasetFetcher
    original_init = Base.__init__

    @wrapper
    @functools.wraps(original_init)
    def __init__(self, *args, **kwargs):
        original_init(self, *args, **kwargs)
        if not S.worker and torch_worker.get_worker_info() is not None:
            _become_worker()
        collate = self.collate_fn

        @wrapper
        def timed_collate(batch):
            batch_part(COLLATE)
            try:
                return collate(batch)
            finally:
                batch_part_end(COLLATE)

        if collate is not None:
            self.collate_fn = timed_collate

    def patch(cls):
        original = cls.fetch

        @wrapper
        @functools.wraps(original)
        def fetch(self, index):
            if S.inside and not S.worker:
                return original(self, index)
            batch_begin()
            try:
                return original(self, index)
            except BaseException as error:
                strip(error)
                raise
            finally:
                batch_end()

        replace(cls, "fetch", fetch)

    replace(Base, "__init__", __init__)
    patch(module._MapDatasetFetcher)
    patch(module._IterableDatasetFetcher)


def _patch_pil(module):
    original = module.ImageFile.load
    batch_part, batch_part_end, DECODE = emit.batch_part, emit.batch_part_end, emit.DECODE

    @wrapper
    @functools.wraps(original)
    def load(self, *args, **kwargs):
        batch_part(DECODE)
        try:
            return original(self, *args, **kwargs)
        finally:
            batch_part_end(DECODE)

    replace(module.ImageFile, "load", load)


TARGETS = {"torch.utils.data.dataloader": _patch_loader, "torch.utils.data._utils.fetch": _patch_fetchers,
           "PIL.ImageFile": _patch_pil}
