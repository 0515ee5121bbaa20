"""What the pods of each namespace hold in a restored mirror.

A restored mirror has no records of the pods of other schedulers, only their sums.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vsched.mirror.accounts.namespaces import NamespaceAccounts
from vsched.mirror.accounts.pod_sums import CountedAs, part_of, put_sums
from vsched.model.amounts.counted import Counted
from vsched.model.amounts.resources import ResourceAxis, Vector, add, subtract
from vsched.model.jobs.job import Job
from vsched.model.nodes.table import Ints
from vsched.model.pods.task import Task


class RestoredAccounts(NamespaceAccounts):
    """The sums in a snapshot, plus what pods took since then, less what they gave back.

    The division among namespaces stays as it was in the snapshot, so this counts nothing else about pods.
    """

    def __init__(
        self,
        axis: ResourceAxis,
        weight_of: Callable[[str], int],
        *,
        held: Mapping[str, Vector],
        limits: Mapping[str, Counted],
    ) -> None:
        super().__init__(axis, weight_of)
        self._held = {name: dict(amounts) for name, amounts in held.items()}
        self._limits: dict[str, Counted] = {name: dict(amounts) for name, amounts in limits.items()}

    def move(self, old: Task | None, new: Task | None) -> None:
        """Replace what a pod held before with what it holds now."""
        for task, sign in ((old, -1), (new, 1)):
            if task is not None and part_of(task) is CountedAs.HELD:
                self._shift(task, sign)

    def see_job(self, key: str, job: Job | None) -> None:
        """Do nothing: the sums do not count waiting pods."""

    def see_nodes(self, version: int, allocatable: Ints) -> None:
        """Do nothing: the allocatable amounts of nodes only matter to waiting pods."""

    def publish_kept(self) -> tuple[Mapping[str, Vector], Mapping[str, Counted]]:
        """What the pods of each namespace hold: amounts of node resources by column, and limits by name."""
        return self._held, self._limits

    def _shift(self, task: Task, sign: int) -> None:
        """Add (``sign`` 1) or subtract (-1) what a pod holds."""
        name = task.namespace
        held, limits = dict(self._held.get(name, {})), dict(self._limits.get(name, {}))
        (add if sign > 0 else subtract)(held, task.shape.request)
        for limit, amount in task.shape.limits:
            limits[limit] = limits.get(limit, 0) + sign * amount
        put_sums(self._held, name, {column: value for column, value in held.items() if value})
        put_sums(self._limits, name, {limit: value for limit, value in limits.items() if value})
