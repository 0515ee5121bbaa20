"""A mirror of a cluster on paper: what is decided comes true, with the claims that pods need."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from functools import partial
from typing import NamedTuple

from vsched import api
from vsched.mirror.accounts.namespaces import NamespaceAccounts
from vsched.mirror.mirror import Mirror
from vsched.mirror.stores import MakeAccounts, MirrorSettings, Stores
from vsched.mirror.whatif.claims import PaperClaims
from vsched.mirror.whatif.storage import StorageByLabel
from vsched.model.plan import CycleReport, Evict
from vsched.model.pods.task import Task


class Elapsed(NamedTuple):
    """A time, and the pods that have ended by then."""

    now: float
    ended: Sequence[Task] = ()


class PaperMirror(Mirror):
    """A mirror that no watch tells of a cluster: ``settle`` makes decisions true."""

    def __init__(self, settings: MirrorSettings, accounts: MakeAccounts = NamespaceAccounts) -> None:
        super().__init__(settings, make_stores=partial(Stores, claims=PaperClaims, accounts=accounts))
        claims = self.stores.claims
        assert isinstance(claims, PaperClaims)
        self._paper = claims

    def settle(self, report: CycleReport) -> None:
        """Make the decisions of a cycle true, those about claims as well."""
        self.assumptions.settle(report, self._decided_at)
        storage = StorageByLabel(self._paper.volumes)
        for bind in report.binds:
            task = self.task(bind.uid)
            if bind.claims is not None and task is not None and task.node == bind.node:
                node = self.stores.nodes.facts(bind.node)
                self._paper.settle(task, bind.claims, {} if node is None else node.attributes.labels, storage)
        for release in report.released:
            self._paper.settle_release(release)

    @property
    def _decided_at(self) -> float:
        """When the cycle ran whose decisions are made true: at the time of the last snapshot."""
        return self.assumptions.now

    def know_owners(self, kinds: Container[str]) -> None:
        """No other kinds of owners are here: pods do not wait for objects of these."""
        for kind in (*self.intake.workloads.by_id, *api.OWNERS):
            self.intake.set_refused(kind, refused=kind not in kinds)

    def pass_time(self, report: CycleReport, now: float) -> Elapsed:
        """Let time pass until the first of the pods that were asked to end by themselves have ended.

        No time passes if the cycle decided something that the next cycle can go by at once.
        """
        if report.binds or report.ungated or not all(one.asks for one in report.evictions):
            return Elapsed(now)
        asked = [task for job in self.stores.jobs.everyone() if job.asked for task in job.tasks.values() if task.asked]
        then = min((task.asked.end for task in asked if task.asked), default=now)
        ended = [task for task in asked if task.asked and task.asked.end <= max(now, then)]
        ended.sort(key=lambda task: task.key)
        self.settle(CycleReport(evictions=tuple(map(_gone, ended))))
        return Elapsed(max(now, then), ended)

    def bind_volumes(self, claims: Iterable[str]) -> None:
        """Bind those of the claims (``namespace/name``) that do not wait for a pod, as the volume controller would."""
        self._paper.bind_volumes(claims)

    def has_claimed(self, kind: str, key: str) -> bool:
        """Whether there is a volume, a device class or another such object of this kind and key."""
        return self._paper.has(kind, key)


def _gone(task: Task) -> Evict:
    return Evict(task.uid, task.namespace, task.name, task.node, task.job, action="", beneficiary="")
