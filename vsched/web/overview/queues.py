"""Queues and namespaces in an overview: the tree, and their allocated and deserved amounts and limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from vsched.model.amounts.quantity import UNLIMITED
from vsched.model.arbitration.records import Award
from vsched.model.plan import CycleReport, NamespaceOutcome, QueueOutcome
from vsched.model.queues.queue import ROOT, Queue
from vsched.model.queues.tree import lineage, tree
from vsched.model.snapshot import Snapshot
from vsched.web.overview.document import NamespaceRow, QueueRow
from vsched.web.overview.jobs import JobTable, Pair

DIGITS = 4
"""Digits of shares: smaller changes are not shown."""

MOST_QUEUES, MOST_NAMESPACES = 2_000, 2_000

Amounts = tuple[int | None, ...]


def queue_rows(
    snapshot: Snapshot, report: CycleReport, jobs: JobTable, columns: Sequence[int], most: int
) -> dict[str, QueueRow]:
    """Queues by name, with the amounts of all below them: every queue, or of more than ``most`` those that say most."""
    parents = tree(snapshot.queues)
    names = [snapshot.axis.names[column] for column in columns]
    outcomes = {
        name: report.queues.get(name) or QueueOutcome(name, queue.weight) for name, queue in snapshot.queues.items()
    }
    allocated = {name: [found.allocated.get(resource, 0) for resource in names] for name, found in outcomes.items()}
    held = {name: [0] * len(names) for name in parents}
    listed, waiting = Counter[str](), Counter[str]()
    own_listed, own_waiting = _by_queue(jobs.listed), _by_queue(jobs.waiting)
    for name in parents:
        for above in (name, *lineage(name, parents)):
            held[above] = [mine + more for mine, more in zip(held[above], allocated[name], strict=True)]
            listed[above] += own_listed[name]
            waiting[above] += own_waiting[name]
    deserved = {name: _deserved(found, names) for name, found in outcomes.items()}
    if ROOT in deserved:
        deserved[ROOT] = (None,) * len(names)  # all of the cluster is its own
    shares = {name: found.share for name, found in outcomes.items()}
    if is_flat(outcomes):
        deserved, shares = _summed(deserved, shares, held, parents)
    return {
        name: QueueRow(
            name=name,
            parent=parents[name],
            state=queue.state,
            weight=queue.weight,
            priority=queue.priority,
            share=round(shares[name], DIGITS),
            overused=outcomes[name].overused and name != ROOT,
            allocated=tuple(held[name]),
            deserved=deserved[name],
            guarantee=_stated(queue.guarantee, {}, columns, names),
            capability=_stated(queue.capability, outcomes[name].capability, columns, names),
            jobs=listed[name],
            waiting=waiting[name],
            problem=outcomes[name].problem,
        )
        for name, queue in _shown(snapshot.queues, parents, listed, most)
    }


def _shown(
    queues: Mapping[str, Queue], parents: Mapping[str, str], listed: Mapping[str, int], most: int
) -> Iterable[tuple[str, Queue]]:
    """The queues with a row: those with others below them from the top down, then those with jobs, then others."""
    if len(queues) <= most:
        return queues.items()
    inner, places = set(parents.values()), {name: place for place, name in enumerate(parents)}

    def rank(name: str) -> tuple[bool, bool, int]:
        return name not in inner, not listed[name], places[name]

    return [(name, queues[name]) for name in sorted(queues, key=rank)[:most]]


def _by_queue(counts: Mapping[Pair, int]) -> Counter[str]:
    found = Counter[str]()
    for (queue, _), count in counts.items():
        found[queue] += count
    return found


def is_flat(outcomes: Mapping[str, QueueOutcome]) -> bool:
    """Whether the policy divides among queues without regard to their tree."""
    return any(found.allocated for found in outcomes.values()) and not any(found.subtree for found in outcomes.values())


def _summed(
    deserved: Mapping[str, Amounts],
    shares: Mapping[str, float],
    held: Mapping[str, Sequence[int]],
    parents: Mapping[str, str],
) -> tuple[dict[str, Amounts], dict[str, float]]:
    """What queues deserve with their children, and the shares of that which they use."""
    sums, above_others = dict(deserved), set[str]()
    for name in parents:
        for above in lineage(name, parents):
            above_others.add(above)
            sums[above] = tuple(
                [
                    own if own is None else own + (more or 0)
                    for own, more in zip(sums[above], deserved[name], strict=True)
                ]
            )
    parts = {name: _part(held[name], sums[name]) for name in above_others if any(deserved[name])}
    return sums, {**shares, **parts}


def _part(held: Iterable[int], deserved: Iterable[int | None]) -> float:
    """The largest part of a deserved amount that is used; 1.0 where a used resource is not deserved."""
    pairs = zip(held, deserved, strict=True)
    return max((mine / due if due else float(mine > 0) for mine, due in pairs if due is not None), default=0.0)


def _deserved(outcome: QueueOutcome, names: Sequence[str]) -> Amounts:
    """The deserved amounts; None where unknown, which differs from zero."""
    return tuple([_limit(outcome.deserved.get(name)) for name in names])


def _stated(
    stated: Iterable[tuple[int, int]], comes_to: Mapping[str, int], columns: Sequence[int], names: Sequence[str]
) -> Amounts:
    """The amounts that a queue states, zeros included, or the effective amounts where these differ."""
    said = dict(stated)
    return tuple([_limit(comes_to.get(name, said.get(column))) for column, name in zip(columns, names, strict=True)])


def _limit(amount: int | None) -> int | None:
    return None if amount is None or amount >= UNLIMITED else amount


# -- namespaces


class HeldByNamespaces:
    """The namespaces that hold something in a queue, or have jobs there."""

    def __init__(self, outcomes: Mapping[Pair, NamespaceOutcome], jobs: JobTable) -> None:
        self._outcomes = outcomes
        self._jobs = jobs
        self._pairs = {pair for pair, found in outcomes.items() if found.allocated} | jobs.listed.keys()

    def __len__(self) -> int:
        return len(self._pairs)

    def rows(
        self,
        snapshot: Snapshot,
        awards: Mapping[str, Award],
        weights: Mapping[str, int],
        columns: Sequence[int],
        most: int = MOST_NAMESPACES,
    ) -> dict[str, NamespaceRow]:
        """A row for each; of more than ``most`` those with jobs that wait, then those that hold most."""
        names, waiting = [snapshot.axis.names[column] for column in columns], self._jobs.waiting
        shown = {}
        for pair in self._first(most):
            queue, namespace = pair
            known = snapshot.namespaces.get(namespace)
            weight = 1 if known is None else known.weight
            found = self._outcomes.get(pair) or NamespaceOutcome(queue, namespace, weight, 0.0)
            shown[f"{queue}/{namespace}"] = NamespaceRow(
                queue=queue,
                namespace=namespace,
                weight=weights.get(namespace, found.weight),
                share=round(found.share, DIGITS),
                allocated=tuple([found.allocated.get(name, 0) for name in names]),
                waiting=waiting[pair],
                deserved=_awarded(awards.get(namespace), names),
            )
        return shown

    def _first(self, most: int) -> list[Pair]:
        if len(self._pairs) <= most:
            return sorted(self._pairs)

        def rank(pair: Pair) -> tuple[bool, float, Pair]:
            held = self._outcomes.get(pair)
            return not self._jobs.waiting[pair], 0.0 if held is None else -held.share, pair

        return sorted(self._pairs, key=rank)[:most]


def namespaces_of(report: CycleReport, jobs: JobTable) -> HeldByNamespaces:
    """What each namespace uses in each queue, where it uses something or has jobs."""
    return HeldByNamespaces({(found.queue, found.namespace): found for found in report.namespaces.values()}, jobs)


def _awarded(award: Award | None, names: Sequence[str]) -> Amounts:
    return tuple([None if award is None else award.deserved.get(name) for name in names])
