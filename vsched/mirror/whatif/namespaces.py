"""Applies edits of namespaces: resource quotas, disruption budgets, and limits in the division among namespaces."""

from __future__ import annotations

import msgspec

from vsched.mirror.whatif.edits import AllowDisruptions, NamespaceEdit, SetConsumerLimit, SetQuota
from vsched.mirror.whatif.records import EditableMirror
from vsched.model.arbitration.records import Claim


def edit_namespace(cluster: EditableMirror, edit: NamespaceEdit) -> None:
    """Apply an edit; does nothing if the quota or the budget does not exist."""
    match edit:
        case SetConsumerLimit():
            _limit(cluster, edit)
        case SetQuota():
            for quota in cluster.quotas(edit.namespace):
                if quota.name == edit.quota:
                    lines = tuple(
                        msgspec.structs.replace(line, hard=edit.hard) if line.name == edit.resource else line
                        for line in quota.lines
                    )
                    cluster.put_quota(edit.namespace, msgspec.structs.replace(quota, lines=lines))
        case AllowDisruptions():
            for budget in cluster.budgets(edit.namespace):
                if budget.name == edit.budget:
                    cluster.put_budget(edit.namespace, msgspec.structs.replace(budget, allowed=edit.allowed))


def _limit(cluster: EditableMirror, edit: SetConsumerLimit) -> None:
    """Set the limit of the Consumer; if the snapshot has no arbitration for the namespace, set its ceiling instead."""
    arbitrated = cluster.arbitrated
    party = None if arbitrated is None else arbitrated.parties.get(edit.namespace)
    if arbitrated is None or party is None:
        _lift(cluster, edit)
        return
    claim = party.claim or Claim(edit.namespace, "defaults")
    claim = msgspec.structs.replace(claim, hard={**claim.hard, edit.resource: edit.amount})
    parties = {**arbitrated.parties, edit.namespace: msgspec.structs.replace(party, claim=claim)}
    cluster.put_arbitration(msgspec.structs.replace(arbitrated, parties=parties))


def _lift(cluster: EditableMirror, edit: SetConsumerLimit) -> None:
    ceiling, column = cluster.ceiling(edit.namespace), cluster.axis.find(edit.resource)
    if ceiling is None:
        return
    if edit.resource in ceiling.limits:
        limits = {**ceiling.limits, edit.resource: edit.amount}
        cluster.put_ceiling(edit.namespace, msgspec.structs.replace(ceiling, limits=limits))
    elif column is not None and column in ceiling.most:
        most = {**ceiling.most, column: edit.amount}
        cluster.put_ceiling(edit.namespace, msgspec.structs.replace(ceiling, most=most))
