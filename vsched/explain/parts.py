"""The parts of a change: each has to be needed, or is not told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from vsched.mirror.whatif.edits import (
    AddPods,
    CreatePriorityClass,
    Edit,
    SetMinMember,
    SetMinResources,
    SetMinSubGroups,
    SetPriority,
    SetQuota,
    SetSubGroupSize,
    SetVictimMinimum,
)


def with_one_part_less(edits: tuple[Edit, ...]) -> Iterator[tuple[Edit, ...]]:
    """The edits without one of them, or with one that states one resource less."""
    for at, edit in enumerate(edits):
        before, after = edits[:at], edits[at + 1 :]
        if (before or after) and not _is_named_by(edit, (*before, *after)):
            yield (*before, *after)
        for smaller in _smaller(edit):
            yield (*before, smaller, *after)


def _smaller(edit: Edit) -> Iterator[Edit]:
    match edit:
        case SetMinMember() | SetVictimMinimum() | SetMinSubGroups() | SetSubGroupSize():
            for name in edit.min_resources:
                yield replace(edit, min_resources=_without(edit.min_resources, name))
        case SetMinResources() if len(edit.amounts) > 1:
            for name in edit.amounts:
                yield replace(edit, amounts=_without(edit.amounts, name))


def _without(amounts: dict[str, int], name: str) -> dict[str, int]:
    return {each: amount for each, amount in amounts.items() if each != name}


def _is_named_by(edit: Edit, others: Sequence[Edit]) -> bool:
    """Whether others could not be carried out without this edit."""
    match edit:
        case CreatePriorityClass():
            return any(isinstance(other, SetPriority) and other.priority_class == edit.name for other in others)
        case SetQuota():
            return any(isinstance(other, AddPods) and other.job.startswith(f"{edit.namespace}/") for other in others)
    return False
