"""What follows for queues from their objects and from the size of the cluster: their terms and their tree.

This changes seldom, so one frame serves many sessions. ``accounts`` counts what queues hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from vsched.framework.refusal import Refusal
from vsched.kernels.quota import QueueQuota, Stated, dense, in_force, limit_of, real_limits, tree_of
from vsched.model.amounts.resources import CPU, MEMORY, PODS, Amounts, format_amount
from vsched.model.nodes.table import Floats, Mask
from vsched.model.queues.queue import ROOT, Queue
from vsched.model.snapshot import Snapshot
from vsched.plugins.queues.tree import QueueParents
from vsched.plugins.words import queues as words

LEFT_OUT = "LeftOut"
CLIPPED = "LimitsClipped"


class Terms(NamedTuple):
    """The amounts in force for one queue: base units by resource column."""

    deserved: Mapping[int, int]
    """An amount of 0 is kept for a resource other than cpu and memory that the queue names with 0."""
    guarantee: Amounts
    limit: Mapping[int, float]
    """The most it may hold of each resource; infinity means no limit. Pods are present only where they are limited."""
    ceiling: Mapping[int, float]
    """The most it may hold and have admitted, together."""


class QueuePlace(NamedTuple):
    """A queue among the others."""

    terms: Terms
    above: tuple[str, ...] = ()
    """The queues above it, nearest first, the root last; empty where queues are flat."""
    inner: bool = False
    """Whether it has children."""
    rank: int = 0
    """By age, then name."""


class Frame(NamedTuple):
    """The places of all queues, and what they were worked out from. Never changes."""

    queues: Mapping[str, Queue]
    total: Sequence[int]
    resources: Sequence[str]
    places: Mapping[str, QueuePlace]
    """By queue name, all queues except those left out."""
    problems: Mapping[str, Refusal]
    """By queue name, what its object is the reason of."""
    inner: frozenset[str]
    """Queues with children."""
    guaranteed: Mapping[str, Sequence[tuple[str, Amounts]]]
    """By the queue above, empty where queues are flat: the queues with guarantees, and those to which pods of jobs come
    back that restart, with what stays free for them. Without the root."""

    def holds_for(self, snapshot: Snapshot) -> bool:
        """Whether queues and cluster are those that the frame was made for."""
        return (
            self.queues is snapshot.queues
            and self.total == snapshot.total
            and self.resources == tuple(snapshot.axis.names)
        )


def flat_frame(snapshot: Snapshot) -> Frame:
    """The frame without a tree: each queue may hold the cluster minus what others are guaranteed."""
    queues = [Queue(ROOT), *snapshot.queues.values()]
    quota, stated = _stated(queues, len(snapshot.total))
    limits = real_limits(_total(snapshot), quota, tree_of([0] * len(queues)))
    deserved = np.maximum(np.minimum(quota.deserved, limits), quota.guarantee)
    terms = _terms(QueueQuota(quota.guarantee, deserved, quota.capability), stated, limits, limits)
    places = {queue.name: QueuePlace(found) for queue, found in zip(queues[1:], list(terms)[1:], strict=True)}
    return _framed(snapshot, places, {}, frozenset())


def tree_frame(snapshot: Snapshot) -> Frame:
    """The frame of queues in a tree: the parent's amounts bound those of its children.

    There are two limits. For admission (``ceiling``) only the root's capability limits the root, so jobs may be
    admitted that the cluster has to grow for. For placement (``limit``) the resources of the cluster limit it, so that
    guarantees stay free.
    """
    tree, known = QueueParents(snapshot.queues), snapshot.queues
    queues = [known.get(ROOT) or Queue(ROOT), *(known[name] for name in tree.parents)]
    rows = {queue.name: row for row, queue in enumerate(queues)}
    shape = tree_of([0, *(rows[parent] for parent in tree.parents.values())])
    asked, stated = _stated(queues, len(snapshot.total))
    quota = in_force(asked, stated, shape)
    total = _total(snapshot)
    limits, ceilings = (real_limits(top, quota, shape) for top in (total, np.full_like(total, np.inf)))
    aged = sorted(queues, key=lambda queue: (queue.created, queue.name))
    ranks = {queue.name: rank for rank, queue in enumerate(aged)}
    places: dict[str, QueuePlace] = {}
    for queue, terms in zip(queues, _terms(quota, stated, limits, ceilings), strict=True):
        name, parent = queue.name, tree.parents.get(queue.name)
        above = () if parent is None else (parent, *places[parent].above)
        places[name] = QueuePlace(terms, above, name in tree.inner, ranks[name])
    cuts = {queues[row].name: cut for row, cut in _cuts(snapshot.axis.names, asked, quota).items()}
    return _framed(snapshot, places, _problems(tree, cuts), tree.inner)


def _framed(
    snapshot: Snapshot, places: Mapping[str, QueuePlace], problems: Mapping[str, Refusal], inner: frozenset[str]
) -> Frame:
    guaranteed: dict[str, list[tuple[str, Amounts]]] = {}
    for name, place in places.items():
        kept = _kept_free(place.terms, snapshot.queues.get(name))
        if kept and name != ROOT:
            guaranteed.setdefault(place.above[0] if place.above else "", []).append((name, kept))
    names = tuple(snapshot.axis.names)
    return Frame(snapshot.queues, snapshot.total, names, places, problems, inner, guaranteed)


def _kept_free(terms: Terms, queue: Queue | None) -> Amounts:
    """What stays free for a queue: its guarantee, and while some of its jobs restart, what it asks for and deserves."""
    if queue is None or not queue.asked:
        return terms.guarantee
    kept = dict(terms.guarantee)
    for column, asked in queue.asked:
        kept[column] = max(kept.get(column, 0), min(asked, terms.deserved.get(column, 0)))
    return tuple(sorted((column, amount) for column, amount in kept.items() if amount))


def _problems(tree: QueueParents, cuts: Mapping[str, str]) -> dict[str, Refusal]:
    """The problem of each queue: it is left out of the tree, or its amounts are clipped."""
    problems = {name: Refusal(LEFT_OUT, why) for name, why in tree.left_out.items()}
    for name, cut in cuts.items():
        problems[name] = Refusal(CLIPPED, words.reduced(tree.parents[name], cut))
    return problems


def _stated(queues: Sequence[Queue], width: int) -> tuple[QueueQuota, Stated]:
    """The amounts that the queues state, one row a queue."""
    guarantees, deserved = [queue.guarantee for queue in queues], [queue.deserved for queue in queues]
    quota = QueueQuota(
        np.array([dense(amounts, width) for amounts in guarantees]),
        np.array([dense(amounts, width) for amounts in deserved]),
        np.array([limit_of(queue.capability, width) for queue in queues]),
    )
    return quota, Stated(_named(guarantees, width), _named(deserved, width))


def _named(found: Sequence[Amounts], width: int) -> Mask:
    named = np.zeros((len(found), width), dtype=np.bool_)
    for row, amounts in enumerate(found):
        for column, _ in amounts:
            named[row, column] = True
    return named


def _terms(quota: QueueQuota, stated: Stated, limits: Floats, ceilings: Floats) -> Iterator[Terms]:
    """The terms of each row."""
    kept = quota.deserved > 0
    kept |= (stated.deserved | stated.guarantee) & ~np.isin(np.arange(kept.shape[1]), (CPU, MEMORY))
    rows = zip(
        kept.tolist(),
        quota.deserved.tolist(),
        quota.guarantee.tolist(),
        limits.tolist(),
        ceilings.tolist(),
        quota.capability[:, PODS].tolist(),
        strict=True,
    )
    for keeps, deserved, guarantee, limit, ceiling, most in rows:
        yield Terms(
            {column: int(deserved[column]) for column, keep in enumerate(keeps) if keep},
            tuple((column, int(value)) for column, value in enumerate(guarantee) if value),
            _bounds(limit, most),
            _bounds(ceiling, most),
        )


def _bounds(limits: Sequence[float], most_pods: float) -> dict[int, float]:
    """Limits by column; pods are limited only where a capability names them."""
    return {column: limit for column, limit in enumerate(limits) if column != PODS or most_pods < float("inf")}


def _total(snapshot: Snapshot) -> Floats:
    return np.array(snapshot.total, dtype=np.float64)


def _cuts(names: Sequence[str], stated: QueueQuota, found: QueueQuota) -> dict[int, str]:
    """Which stated amounts are clipped, by row, as the end of a sentence; ``names`` are those of the resources."""
    phrases: dict[int, list[str]] = {}
    for word, before, after in zip(QueueQuota._fields, stated, found, strict=True):
        cuts: dict[int, list[str]] = {}
        for row, column in np.argwhere((after < before) & np.isfinite(before)).tolist():
            if row:
                name = names[column]
                amounts = (format_amount(name, int(rows[row, column])) for rows in (before, after))
                cuts.setdefault(row, []).append(f"{name} {' to '.join(amounts)}")
        for row, cut in cuts.items():
            phrases.setdefault(row, []).append(f"{word} of {', '.join(cut)}")
    return {row: "; ".join(words) for row, words in phrases.items()}
