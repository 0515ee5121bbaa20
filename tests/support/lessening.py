"""Edits a notch smaller than they are: what is not quite enough, where the edit is the least that helps."""

from __future__ import annotations

import msgspec

from vsched.explain.edits.base import Edit
from vsched.explain.edits.claims import AddDevices, AddVolumes, SetStorage
from vsched.explain.edits.jobs import SetMinMember, SetMinResources, SetRoleMinimum, SetVictimMinimum
from vsched.explain.edits.namespaces import AllowDisruptions, SetQuota
from vsched.explain.edits.nodes import AddNodes, LabelNodes, RemoveTaint, SetNodeAmount, Uncordon
from vsched.explain.edits.pods import AddPods, SetRequest
from vsched.explain.edits.policy import SetOvercommit, SetThreshold
from vsched.explain.edits.queues import LowerGuarantee, SetGroupLimit, SetQueueAmount
from vsched.explain.edits.subgroups import SetMinSubGroups, SetSubGroupSize, SetSubGroupTier


def a_notch_less(edit: Edit) -> Edit | None:
    """The edit, a little smaller; None where there is nothing smaller than it but not making it."""
    with_ = msgspec.structs.replace
    match edit:
        case SetMinMember():
            return with_(edit, minimum=edit.minimum + 1, min_resources={})
        case SetVictimMinimum():
            return with_(edit, minimum=edit.minimum + 1, min_resources={})
        case SetMinResources():
            (name, amount), *others = sorted(edit.amounts.items())
            return with_(edit, amounts={name: amount + _notch(name), **dict(others)})
        case SetRoleMinimum():
            return with_(edit, minimum=edit.minimum + 1, members=edit.members + 1)
        case SetSubGroupTier():
            return with_(edit, tier=edit.tier - 1)
        case SetMinSubGroups():
            return with_(edit, minimum=edit.minimum + 1, min_resources={})
        case SetSubGroupSize():
            return with_(edit, size=edit.size + 1, min_resources={})
        case SetRequest():
            return with_(edit, amount=edit.amount + _notch(edit.resource))
        case SetQueueAmount() | SetNodeAmount() | SetGroupLimit():
            return with_(edit, amount=edit.amount - _notch(edit.resource))
        case LowerGuarantee():
            return with_(edit, amount=edit.amount + _notch(edit.resource))
        case SetQuota():
            return with_(edit, hard=edit.hard - _notch(edit.resource.removeprefix("requests.")))
        case Uncordon() | RemoveTaint() | LabelNodes():
            return with_(edit, nodes=edit.nodes[:-1]) if len(edit.nodes) > 1 else None
        case AddNodes() | AddPods() | AddDevices() | AddVolumes():
            return with_(edit, count=edit.count - 1) if edit.count > 1 else None
        case SetStorage():
            return with_(edit, amount=edit.amount - (1 << 30))
        case AllowDisruptions():
            return with_(edit, allowed=edit.allowed - 1) if edit.allowed > 1 else None
        case SetThreshold():
            return with_(edit, percent=edit.percent - 1)
        case SetOvercommit():
            return with_(edit, factor=round(edit.factor - 0.1, 1))
    return None


def _notch(resource: str) -> int:
    """The smallest step that searches look at."""
    if resource in ("cpu", "pods"):
        return 10 if resource == "cpu" else 1
    return 1 << 20 if resource == "memory" else 1000
