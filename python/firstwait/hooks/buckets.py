"""When the buckets in which DistributedDataParallel reduces its gradients were ready. Its reducer notes when each gradient came,
and once it has sorted the buckets (after the second step) tells which gradients lie in which. Nothing is registered with it."""
import weakref
from operator import itemgetter

from firstwait import emit

_LOOKS = 20           # steps in which it may sort its buckets; those with unused parameters never are
_MOST_GRADIENTS = 512  # of more than these only every so many steps are told
_known = weakref.WeakKeyDictionary()


class _Buckets:
    def __init__(self):
        self.looks = 0
        self.buckets = None  # (op, the bucket's entries of a list of all gradients, bytes)

    def look(self, replica):
        self.looks += 1
        told = replica._get_ddp_logging_data()
        indices, sizes = told.get("rebuilt_per_bucket_param_indices"), told.get("rebuilt_bucket_sizes")
        if not indices or not sizes:
            return
        buckets = []
        for number, (entries, size) in enumerate(zip(indices.split(","), sizes.split(","))):
            entries = [int(i) for i in entries.split()]
            pick = itemgetter(*entries) if len(entries) > 1 else (lambda stats, i=entries[0]: (stats[i],))
            buckets.append((emit.name(f"DDP bucket {number}", emit.BACKWARD), pick, int(size)))
        self.buckets = buckets


def tell(replica, start, ready, number):
    """One span a bucket, from its first gradient to its last, beside the backward pass that began at `start` and whose last
    gradient came at `ready`. The clock of the reducer is not ours: only differences of its times are used."""
    known = _known.get(replica)
    if known is None:
        known = _known[replica] = _Buckets()
    if known.buckets is None:
        if known.looks < _LOOKS:
            known.look(replica)
        if known.buckets is None:
            return
    stats = replica.reducer.get_backward_stats()
    if number % (1 + len(stats) // _MOST_GRADIENTS):
        return
    offset = ready - max(stats)
    for op, pick, size in known.buckets:
        times = pick(stats)
        first = min(times) + offset
        if first >= start:  # a gradient that did not come this time keeps its old time
            emit.span_full(op, first, max(times) + offset, 0, number, size, emit.BACKGROUND)
