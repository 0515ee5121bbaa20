"""Parts of the sentences of edits: amounts, and names of things of which there may be many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vsched.explain.words import edits
from vsched.framework.words.lists import counted
from vsched.model.amounts.counted import format_counted
from vsched.model.amounts.resources import format_amount
from vsched.model.jobs.spec import JobSpec
from vsched.model.snapshot import Snapshot
from vsched.model.topology.constraints import NetworkTopology

NAMED_MAX = 3
"""A phrase names at most this many things, and counts the others."""


def minimum_of(spec: JobSpec) -> str:
    """What the object that states it calls the minimum of a job."""
    return "minAvailable" if spec.written_for else "minMember" if spec.native is None else "minCount"


def with_less(spec: JobSpec, stated: Mapping[str, int]) -> str:
    """The change of ``minResources`` that goes with an edit, without which admission would use the old amounts.

    Those of a vcjob follow by themselves.
    """
    return edits.and_min_resources(amounts_text(stated)) if stated and not spec.written_for else ""


def limit_of(topology: NetworkTopology | None) -> str:
    """The highest tier that a topology allows."""
    return edits.NO_LIMIT if topology is None else topology.tier_name or str(topology.highest_tier)


def amounts_text(amounts: Mapping[str, int]) -> str:
    """``cpu 4, memory 8Gi``."""
    return ", ".join(f"{name} {format_amount(name, amount)}" for name, amount in sorted(amounts.items()))


def more_text(resource: str, has: int, amount: int) -> str:
    """The difference as ``2 more nvidia.com/gpu``; ``resource`` may be a name in a quota, as ``requests.cpu``."""
    if resource == "pods":
        return counted(amount - has, "more pod", "more pods")
    return f"{format_counted(resource.removeprefix('requests.'), amount - has)} more {resource}"


def claims_text(names: Sequence[str]) -> str:
    """``PersistentVolumeClaims a, b, c and 2 more``."""
    return f"PersistentVolumeClaim{'s' if len(names) > 1 else ''} {_first(names)}"


def nodes_text(names: Sequence[str]) -> str:
    """``nodes a, b, c and 2 more``."""
    return f"node{'s' if len(names) > 1 else ''} {_first(names)}"


def jobs_text(snapshot: Snapshot, keys: Sequence[str]) -> str:
    """``jobs a, b, c and 2 more``; without the noun where a name has its own."""
    called = [*map(snapshot.called, keys[:NAMED_MAX])]
    noun = "" if any(" " in one for one in called) else "job " if len(keys) == 1 else "jobs "
    return noun + _first([*called, *keys[NAMED_MAX:]])


def pairs_text(labels: Mapping[str, str]) -> str:
    """``zone=a, kind=b``."""
    return ", ".join(f"{key}={value}" for key, value in sorted(labels.items()))


def _first(names: Sequence[str]) -> str:
    others = len(names) - NAMED_MAX
    return ", ".join(names[:NAMED_MAX]) + (f" and {others} more" if others > 0 else "")


WAITS_FOR_NOTHING = "it waits for nothing"
NEEDS_NO_MOVES = "it has room without any move"


def no_moves(why: str) -> str:
    """``why`` is what the job waits for."""
    return f"no moves were found that would make room for it: {why}" if why else "no moves were found for it"
