"""Counts of pods on nodes by topology domain, kept up to date during a cycle. Not a plugin.

The snapshot's index has the pods at the start of the cycle; placements since then are a list of moves. The first use of
a ``DomainCounter`` fills it from both. Later uses read only new moves, so the cost of a choice among thousands of nodes
follows what changed since the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

import msgspec
import numpy as np

from vsched.kernels.domains import LabelDomains, members, tally
from vsched.model.nodes.table import Ints, Mask, NodeStatics
from vsched.model.pods.placed import PlacedPods
from vsched.model.pods.shape import HostPort, PodAffinity, PodLabels, Selector, Shape
from vsched.model.pods.task import Task
from vsched.model.pods.termindex import TermKey

Contribution = Callable[[PodLabels, Shape], int]
Weighted = Iterator[tuple[Mapping[str, int], int]]


class PodMove(msgspec.Struct):
    """One pod more (``by=1``) or less (``by=-1``) on a node in this cycle."""

    labels: PodLabels
    shape: Shape
    row: int
    by: int


class DomainCounter:
    """Counts (or sums of weights) of pods by topology domain, up to date with the first ``position`` moves."""

    __slots__ = ("_clear", "_contribution", "_eligible", "_known", "clear", "domains", "occupied", "position", "sums")

    def __init__(
        self, domains: LabelDomains, sums: Ints, position: int, contribution: Contribution, eligible: Mask | None
    ) -> None:
        self.domains = domains
        self.sums = sums
        """int64[size + 1] by domain; the last element stands for nodes without the label and stays 0."""
        self.position = position
        self.occupied = int(np.count_nonzero(sums))
        """The number of domains with a sum other than 0."""
        self._clear: Mask = (sums == 0).take(domains.ids)
        self.clear = self._clear.view()
        """bool[nodes], read-only: whether the sum of the node's domain is 0; follows the moves."""
        self.clear.flags.writeable = False
        self._contribution = contribution
        self._eligible = eligible
        self._known: dict[tuple[int, int], int] = {}

    def catch_up(self, moves: Sequence[PodMove]) -> None:
        """Apply the moves that were not read yet."""
        known = self._known
        for position in range(self.position, len(moves)):
            move = moves[position]
            labels, shape = move.labels, move.shape
            key = (id(labels), id(shape))  # both live as long as the list of moves
            amount = known.get(key)
            if amount is None:
                amount = known[key] = self._contribution(labels, shape)
            if amount and (self._eligible is None or self._eligible[move.row]):
                self._add(move.row, move.by * amount)
        self.position = len(moves)

    def _add(self, row: int, amount: int) -> None:
        domains = self.domains
        domain = domains.ids.item(row)
        if domain == domains.size:
            return
        before = self.sums.item(domain)
        after = before + amount
        self.sums[domain] = after
        if (before == 0) is not (after == 0):
            self._clear[members(domains, domain)] = after == 0
            self.occupied += 1 if before == 0 else -1


class PodsOnNodes:
    """The pods of the snapshot and the moves of the cycle; makes counters of them and keeps these up to date."""

    def __init__(self, placed: PlacedPods, statics: NodeStatics) -> None:
        self.statics = statics
        self._placed = placed
        self._moved: PlacedPods | None = None
        self._moved_position = 0
        self.moves: list[PodMove] = []
        """What this cycle placed (``by=1``), and what of that it has undone (``by=-1``)."""
        self._counters: dict[Hashable, list[DomainCounter]] = {}
        self._pairs: dict[PodLabels, dict[str, str]] = {}

    def move(self, task: Task, row: int, by: int) -> None:
        """Note one placement (``by=1``), or its undoing (``by=-1``)."""
        self.moves.append(PodMove(task.labels, task.shape, row, by))

    def pairs(self, labels: PodLabels) -> dict[str, str]:
        """The pairs of a label set as a dictionary, cached for the cycle."""
        found = self._pairs.get(labels)
        if found is None:
            found = self._pairs[labels] = dict(labels.pairs)
        return found

    def counters(self, key: Hashable, make: Callable[[], list[DomainCounter]]) -> list[DomainCounter]:
        """The counters with this key, made at the first use, and up to date."""
        found = self._counters.get(key)
        if found is None:
            found = self._counters[key] = make()
        for counter in found:
            if counter.position != len(self.moves):
                counter.catch_up(self.moves)
        return found

    def by_labels(
        self,
        domains: LabelDomains,
        selectors: Sequence[tuple[Selector, frozenset[str] | None]],
        weigh: Callable[[PodLabels], int],
        eligible: Mask | None = None,
    ) -> DomainCounter:
        """A counter of the pods that any of the selectors matches in its namespaces; ``weigh`` gives a pod's weight."""

        def found(pods: PlacedPods) -> Weighted:
            labels = {
                id(one): one for selector, spaces in selectors for one in pods.matching(selector, spaces, self.pairs)
            }
            return ((pods.counts[one], weight) for one in labels.values() if (weight := weigh(one)))

        return self._filled(domains, [found(pods) for pods in self._pods()], lambda one, _: weigh(one), eligible)

    def by_carried(
        self, domains: LabelDomains, carriers: Iterable[TermKey], weigh: Callable[[PodAffinity], int]
    ) -> DomainCounter:
        """A counter of pods by their own affinity terms; ``carriers`` are the snapshot's terms to weigh."""

        def found(pods: PlacedPods, keys: Iterable[TermKey]) -> Weighted:
            return ((pods.terms[key], weight) for key in keys if (weight := weigh(key[0])))

        placed, moved = self._pods()
        weighted = [found(placed, carriers), found(moved, moved.terms)]
        return self._filled(
            domains, weighted, lambda _, shape: 0 if shape.affinity is None else weigh(shape.affinity), None
        )

    def by_ports(self, domains: LabelDomains, conflicts: Callable[[Sequence[HostPort]], int]) -> DomainCounter:
        """A counter of host ports in use that conflict."""
        found = [((by_node, 1) for port, by_node in pods.ports.items() if conflicts((port,))) for pods in self._pods()]
        return self._filled(domains, found, lambda _, shape: conflicts(shape.ports) if shape.ports else 0, None)

    def _filled(
        self, domains: LabelDomains, found: Sequence[Weighted], contribution: Contribution, eligible: Mask | None
    ) -> DomainCounter:
        row = self.statics.row
        sums = tally(domains, found[0], row, eligible)
        for more in found[1:]:
            sums += tally(domains, more, row, eligible)
        return DomainCounter(domains, sums, len(self.moves), contribution, eligible)

    def _pods(self) -> tuple[PlacedPods, PlacedPods]:
        """The snapshot's pods, and the changes of this cycle so far."""
        moved, names = self._moved, self.statics.names
        if moved is None:
            moved = self._moved = PlacedPods()
        for move in self.moves[self._moved_position :]:
            moved.shift(move.labels, move.shape, names[move.row], move.by)
        self._moved_position = len(self.moves)
        return self._placed, moved
