"""Edits of namespaces: resource quotas, disruption budgets, and limits in the division among namespaces."""

from __future__ import annotations

from msgspec.structs import replace

from vsched.explain.edits.base import Before, ClusterEdit, Edit
from vsched.explain.edits.pods import AddPods
from vsched.explain.words import edits as words
from vsched.explain.words.lines import is_plain, patch
from vsched.explain.words.phrases import more_text
from vsched.mirror.whatif.records import EditableMirror
from vsched.model.amounts.counted import format_counted
from vsched.model.arbitration.records import Claim
from vsched.model.snapshot import Snapshot

CONSUMERS = "consumers.kube-arbitrator.incubator.k8s.io"


class SetQuota(ClusterEdit, frozen=True, tag="quota"):
    """Set the hard limit of one resource in a ResourceQuota; does nothing if there is no such quota."""

    namespace: str
    quota: str
    resource: str
    """As the quota names it: ``requests.cpu``."""
    hard: int

    def apply(self, cluster: EditableMirror) -> None:
        for quota in cluster.quotas(self.namespace):
            if quota.name == self.quota:
                lines = (replace(one, hard=self.hard) if one.name == self.resource else one for one in quota.lines)
                cluster.put_quota(self.namespace, replace(quota, lines=tuple(lines)))

    def sentence(self, before: Before) -> str:
        quotas = before.snapshot.quotas[self.namespace]
        lines = (line for quota in quotas if quota.name == self.quota for line in quota.lines)
        has = next((line.hard for line in lines if line.name == self.resource), 0)
        whole = format_counted(self.resource.removeprefix("requests."), self.hard)
        more = more_text(self.resource, has, self.hard)
        return words.more_in_quota(more, f"{self.namespace}/{self.quota}", whole)

    def lines(self, snapshot: Snapshot) -> list[str]:
        hard = {self.resource: format_counted(self.resource, self.hard)}
        return [patch("resourcequota", f"{self.namespace}/{self.quota}", {"spec": {"hard": hard}})]

    def is_named_by(self, other: Edit) -> bool:
        return isinstance(other, AddPods) and other.job.startswith(f"{self.namespace}/")


class SetConsumerLimit(ClusterEdit, frozen=True, tag="consumerLimit"):
    """Set the limit of a namespace for one resource in the division among namespaces."""

    namespace: str
    resource: str
    """As the Consumer names it: ``cpu``, ``limits.cpu``."""
    amount: int

    def apply(self, cluster: EditableMirror) -> None:
        """Without arbitration for the namespace, the ceiling is set instead."""
        arbitrated = cluster.arbitrated
        party = None if arbitrated is None else arbitrated.parties.get(self.namespace)
        if arbitrated is None or party is None:
            self._lift(cluster)
            return
        claim = party.claim or Claim(self.namespace, "defaults")
        claim = replace(claim, hard={**claim.hard, self.resource: self.amount})
        parties = {**arbitrated.parties, self.namespace: replace(party, claim=claim)}
        cluster.put_arbitration(replace(arbitrated, parties=parties))

    def _lift(self, cluster: EditableMirror) -> None:
        ceiling, column = cluster.ceiling(self.namespace), cluster.axis.find(self.resource)
        if ceiling is None:
            return
        if self.resource in ceiling.limits:
            limits = {**ceiling.limits, self.resource: self.amount}
            cluster.put_ceiling(self.namespace, replace(ceiling, limits=limits))
        elif column is not None and column in ceiling.most:
            cluster.put_ceiling(self.namespace, replace(ceiling, most={**ceiling.most, column: self.amount}))

    def _consumer(self, snapshot: Snapshot) -> str:
        """The name of the Consumer: ``defaults``, unless the namespace has another one."""
        party = None if snapshot.arbitration is None else snapshot.arbitration.parties.get(self.namespace)
        return "defaults" if party is None or party.claim is None else party.claim.name

    def sentence(self, before: Before) -> str:
        name, amount = self._consumer(before.snapshot), format_counted(self.resource, self.amount)
        return words.limit_of_consumer(amount, self.resource, f"{self.namespace}/{name}")

    def lines(self, snapshot: Snapshot) -> list[str]:
        hard, name = {self.resource: format_counted(self.resource, self.amount)}, self._consumer(snapshot)
        return [patch(CONSUMERS, f"{self.namespace}/{name}", {"spec": {"hard": hard}})] if is_plain(name) else []


class AllowDisruptions(ClusterEdit, frozen=True, tag="disruptions"):
    """Set the number of evictions that a PodDisruptionBudget allows; does nothing if there is no such budget."""

    namespace: str
    budget: str
    allowed: int

    def apply(self, cluster: EditableMirror) -> None:
        for budget in cluster.budgets(self.namespace):
            if budget.name == self.budget:
                cluster.put_budget(self.namespace, replace(budget, allowed=self.allowed))

    def sentence(self, before: Before) -> str:
        budgets = before.snapshot.budgets[self.namespace]
        has = next((one.allowed for one in budgets if one.name == self.budget), 0)
        return words.more_evictions(self.allowed - has, f"{self.namespace}/{self.budget}")
