"""What the hooks of the training thread share."""
import os
import threading
import time
import weakref

from firstwait import emit


class State:
    """`inside`: a span of the training thread is open that no other hook may split (a forward pass, a backward pass, or this
    is a loader worker, whose training hooks are off)."""

    __slots__ = ("inside", "main", "own_steps", "fed", "loader", "loaders", "steps", "worker", "device")

    def __init__(self):
        self.reset()

    def reset(self):
        self.inside = False
        self.main = threading.main_thread().ident
        self.own_steps = False
        self.fed = {}  # samples since the last step, by loader
        self.loader = -1  # the one that fed the last backward pass
        self.loaders = 0
        self.steps = 0
        self.worker = False
        self.device = None  # a DeviceTimer where torch was built for one


class Objects:
    """Those of a set that still live, by id: asked in each step, where a WeakSet takes ten times as long."""

    def __init__(self):
        self.known = {}  # id -> weak reference

    def add(self, thing):
        known, key = self.known, id(thing)
        known[key] = weakref.ref(thing, lambda _: known.pop(key, None))


S = State()
get_ident = threading.get_ident
now = time.monotonic_ns

os.register_at_fork(after_in_child=S.reset)

_codes = []  # of all wrappers: no compiler should look into them, no traceback show them
_skip = []   # how torch.compile is told so, once it is there


def wrapper(function):
    """Marks a wrapper as not the program's own."""
    _codes.append(function.__code__)
    for skip in _skip:
        skip(function.__code__)
    return function


def skip_with(skip):
    _skip.append(skip)
    for code in _codes:
        skip(code)


def strip(error):
    """Takes the wrappers' frames out of a traceback: the program's errors look as they do without Firstwait."""
    previous, entry = None, error.__traceback__
    while entry is not None:
        if entry.tb_frame.f_code in _codes:
            if previous is None:
                error.__traceback__ = entry.tb_next
            else:
                previous.tb_next = entry.tb_next
        else:
            previous = entry
        entry = entry.tb_next


_replaced = []  # (owner, name, what was there, wrapper)


def replace(owner, name, wrapped):
    """Sets a hook, so that it can be taken away again."""
    _replaced.append((owner, name, owner.__dict__.get(name, getattr(owner, name, None)), wrapped))
    setattr(owner, name, wrapped)


def switch(on):
    """All hooks away, or back: for measuring what they cost. What the program holds by another name stays as it was."""
    for owner, name, original, wrapped in _replaced:
        setattr(owner, name, wrapped if on else original)


def is_main():
    return get_ident() == S.main


def identify(rank=None, world=None):
    """Tells who this process is, from its environment where not said."""
    def number(*names):
        for name in names:
            try:
                return int(os.environ[name])
            except (KeyError, ValueError):
                pass
        return -1
    if rank is None:
        rank = number("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
    if world is None:
        world = number("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE")
    emit.identity(rank, world, number("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"), emit.TRAINER)
