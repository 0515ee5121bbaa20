"""numa-aware: places Guaranteed pods with whole cpus only where the kubelet can align them.

A node's kubelet aligns what containers ask for with NUMA zones, by a policy of its own, and refuses pods where it
cannot. The plugin foresees this from reports on the nodes' zones. A pod may also require a policy of its node, in the
annotation ``volcano.sh/numa-topology-policy``: then nodes of other policies, or without reports, are out of the
question, and nodes where it uses fewer zones have higher scores.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Annotated

import msgspec
import numpy as np
import orjson

from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.points.extension import BindAnnotations, PlacementListener, Plugin, SessionContext
from vsched.framework.points.nodes import Check, NodeFilter, NodeScore
from vsched.framework.points.terms import PlacementTerm
from vsched.kernels.numa import SINGLE, count_zones
from vsched.model.amounts.resources import format_amount
from vsched.model.nodes.table import Floats, Mask, NodeTable
from vsched.model.plan import TOPOLOGY_DECISION
from vsched.model.pods.shape import PodLabels, Shape, ZoneRequest
from vsched.model.pods.task import Task
from vsched.plugins.pods.zones import ZoneBooks
from vsched.plugins.words import nodes as words


class NumaAwareArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of numa-aware."""

    weight: Annotated[int, msgspec.Meta(ge=0)] = 1
    """Of the score; 0 leaves only the filter."""


class NumaAware(Plugin[NumaAwareArgs], NodeFilter, NodeScore, PlacementListener, BindAnnotations):
    """Filters and scores nodes by the NUMA zones that pods would use, and tells kubelets which."""

    name = "numa-aware"
    terms = frozenset({PlacementTerm.NUMA})
    args_type = NumaAwareArgs

    def open(self, context: SessionContext) -> None:
        """Zones are looked at once the first pod asks for them."""
        self._catalogue, self._now = context.snapshot.zones, context.snapshot.now
        self._nodes = context.nodes
        self._books: ZoneBooks | None = None

    # -- which nodes are possible -----------------------------------------------------------------------------------

    def static_checks(self, shape: Shape, nodes: NodeTable) -> Sequence[Check]:
        """What a pod requires of a node's policy; nothing where it requires none."""
        if shape.zones is None or not shape.zones.policy:
            return ()
        books, wanted, count = self._opened(), shape.zones.policy, len(nodes)
        static, busy = np.ones(count, np.bool_), np.zeros(count, np.bool_)
        unknown = np.ones(count, np.bool_)
        others: dict[str, Mask] = {}
        for place, found in enumerate(books.reports):
            row = books.rows[place]
            unknown[row] = False
            if not found.static_cpus:
                static[row] = False
            elif found.policy != wanted:
                others.setdefault(found.policy, np.zeros(count, np.bool_))[row] = True
            elif not any(amount for zone in found.zones for name, amount in zone.allocatable if name == "cpu"):
                busy[row] = True
        checks = [
            Check(words.NO_REPORT, ~unknown, code=Code.TOPOLOGY),
            Check(words.NOT_STATIC, static, code=Code.TOPOLOGY),
            *(
                Check(words.other_policy(policy, wanted), ~others[policy], code=Code.TOPOLOGY)
                for policy in sorted(others)
            ),
            Check(words.NO_CPUS, ~busy, code=Code.TOPOLOGY),
        ]
        return [check for check in checks if not check.passes.all()]

    def is_dynamic(self, shape: Shape, task_class: Hashable) -> bool:
        """Whether some kubelet could refuse such a pod."""
        return shape.zones is not None and bool(self._catalogue.nodes)

    def dynamic_checks(self, shape: Shape, task_class: Hashable, nodes: NodeTable) -> Sequence[Check]:
        """Where the kubelet could align the pod with what is free in the zones now."""
        if shape.zones is None or not self._catalogue.nodes:
            return ()
        books = self._opened()
        passes = books.fit(shape.zones).passes
        if passes.all():
            return ()
        later = books.fit(shape.zones, later=True).passes if books.in_motion else None
        return [
            Check(
                reason,
                _elsewhere(books, those, len(nodes)),
                resolvable=True,
                code=Code.TOPOLOGY,
                later=None if later is None else _elsewhere(books, those & ~later, len(nodes)),
            )
            for reason, those in self._reasons(books, shape.zones, passes)
        ]

    def _reasons(self, books: ZoneBooks, asked: ZoneRequest, passes: Mask) -> Iterator[tuple[str, Mask]]:
        """By resource, the places that lack it; those that no single resource explains lack all together."""
        left, single = ~passes, books.later.policy == SINGLE
        for column, row in books.columns.items():
            lacks = left & ~books.fit(asked, row).passes
            left = left & ~lacks
            for reason, those in ((words.no_zone, lacks & single), (words.too_few_zones, lacks & ~single)):
                if those.any():
                    yield reason(self._nodes.axis.names[column]), those
        if left.any():
            yield words.NOT_TOGETHER, left

    # -- which node is best -------------------------------------------------------------------------------------------

    def is_relative(self, shape: Shape, labels: PodLabels) -> bool:
        """Whether the pod requires a policy."""
        return shape.zones is not None and bool(shape.zones.policy) and self.args.weight > 0

    def relative_score(self, shape: Shape, labels: PodLabels, nodes: NodeTable, candidates: Mask) -> Floats | None:
        """Fewer zones are better: 100 for none, 0 for as many as the candidate with most of them."""
        if shape.zones is None or not self.is_relative(shape, labels):
            return None
        books = self._opened()
        used = np.zeros(len(nodes), np.int64)
        used[books.rows] = count_zones(books.fit(shape.zones).chosen)
        most = int(used[candidates].max(initial=0))
        if not most:
            return None
        return (100.0 - 100 * np.minimum(used, most) // most) * self.args.weight

    # -- what is placed -----------------------------------------------------------------------------------------------

    def on_allocate(self, job: JobView, task: Task, row: int) -> None:
        """Take what the task gets from the node's zones."""
        if task.shape.zones is not None and self._catalogue.nodes:
            self._opened().take(task, row)

    def on_release(self, job: JobView, task: Task, row: int) -> None:
        """Give it back."""
        if task.shape.zones is not None and self._catalogue.nodes:
            self._opened().give_back(task, row)

    def bind_annotations(self, task: Task) -> Sequence[tuple[str, str]]:
        """What the task gets of each zone, where the kubelet aligns it."""
        if task.shape.zones is None or self._books is None:
            return ()
        shares = self._books.shares(task)
        if not shares:
            return ()
        numa = {str(zone): {name: format_amount(name, amount) for name, amount in some} for zone, some in shares}
        return ((TOPOLOGY_DECISION, orjson.dumps({"numa": numa}).decode()),)

    def _opened(self) -> ZoneBooks:
        if self._books is None:
            self._books = ZoneBooks(self._catalogue, self._nodes, self._now)
        return self._books


def _elsewhere(books: ZoneBooks, places: Mask, count: int) -> Mask:
    """bool[nodes]: all nodes but those at these places."""
    found = np.ones(count, np.bool_)
    found[books.rows[places]] = False
    return found
