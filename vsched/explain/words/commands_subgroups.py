"""Renders edits of the sub-groups of a PodGroup as shell commands.

``subGroupPolicy`` is a list, so the commands are JSON patches. Each tests first that the list still has the values of
the snapshot at the places that it changes.
"""

from __future__ import annotations

from typing import Any

from vsched.explain.words.lines import as_json, line
from vsched.mirror.whatif.edits import SetMinSubGroups, SetSubGroupTier, SubGroupEdit
from vsched.model.amounts.counted import format_counted
from vsched.model.jobs.spec import JobSpec

PODGROUPS = "podgroups.scheduling.volcano.sh"


def of_sub_groups(spec: JobSpec, edit: SubGroupEdit) -> list[str]:
    """The command for an edit of one policy of sub-groups."""
    policy, at = spec.sub_groups[edit.policy], f"/spec/subGroupPolicy/{edit.policy}"
    steps = [_test(f"{at}/name", policy.name)] if policy.name else []
    if isinstance(edit, SetSubGroupTier):
        steps += _tier(spec, edit, f"{at}/networkTopology")
    else:
        field, has, becomes = "subGroupSize", policy.size, 0
        if isinstance(edit, SetMinSubGroups):
            field, has, becomes = "minSubGroups", policy.minimum, edit.minimum
        else:
            becomes = edit.size
        steps += [_test(f"{at}/{field}", has), _set(f"{at}/{field}", becomes)]
        if edit.members != spec.min_member:
            steps.append(_set("/spec/minMember", edit.members))
        for name, amount in edit.min_resources.items():
            steps.append(_set(f"/spec/minResources/{name.replace('/', '~1')}", format_counted(name, amount)))
    return [
        line("kubectl", "patch", PODGROUPS, spec.name, "-n", spec.namespace, "--type", "json", "-p", as_json(steps))
    ]


def _tier(spec: JobSpec, edit: SetSubGroupTier, at: str) -> list[dict[str, Any]]:
    """The tier by its number; a tier that was given by name goes, because both together are refused."""
    topology = spec.sub_groups[edit.policy].topology
    if topology is not None and topology.tier_name:
        name = f"{at}/highestTierName"
        return [
            _test(name, topology.tier_name),
            {"op": "remove", "path": name},
            _set(f"{at}/highestTierAllowed", edit.tier),
        ]
    now = None if topology is None else topology.highest_tier
    return [_test(f"{at}/highestTierAllowed", now), _set(f"{at}/highestTierAllowed", edit.tier)]


def _test(path: str, value: object) -> dict[str, Any]:
    return {"op": "test", "path": path, "value": value}


def _set(path: str, value: object) -> dict[str, Any]:
    return {"op": "add", "path": path, "value": value}
