"""The objects of Volcano in the cluster, as our own readers take them: queues, PodGroups, jobs, and pods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import orjson

from vsched import api
from vsched.api.resources import HEEDED, RESOURCES, VCJOB, VOLCANO_CRON_JOB
from vsched.cli.migrate.check.findings import Finding, Obj, Verdict, key_of, of_many
from vsched.cli.migrate.check.words import verdicts as words
from vsched.cli.migrate.check.words.differences import (
    HARD_WITHOUT_TIER,
    NO_PRIORITY_CLASS,
    POINTS,
    SUBGROUPS_WITHOUT_KEYS,
)
from vsched.controllers.vcjobs.read import job_of
from vsched.controllers.vcjobs.spec import JobPhase
from vsched.controllers.vcjobs.states import FINISHED
from vsched.errors import BadObject
from vsched.mirror.ingest.podgroups import job_spec_of
from vsched.mirror.ingest.queues import queue_of
from vsched.mirror.ingest.unsupported import NODE_BOUND
from vsched.model.amounts.resources import ResourceAxis
from vsched.model.queues.queue import ROOT

PART, POD_PART = "objects", "pods"
Said = list[tuple[str, str]]
"""Names of objects, and what is to be said of each."""

OTHERS: dict[str, str] = {
    VOLCANO_CRON_JOB: words.VOLCANO_CRON_JOBS,
    "JobFlow": "jobflows",
    "JobTemplate": "jobtemplates",
    "HyperJob": "hyperjobs",
}
"""Kinds that controllers make vcjobs of, and what they are called."""
MADE_FOR_SCHEDULERS: dict[str, tuple[Verdict, str]] = {
    "HyperNode": (Verdict.WORKS, ""),
    "Numatopology": (Verdict.DIFFERS, POINTS["numa-aware"]),
    "NodeShard": (Verdict.WORKS, words.WHERE_SHARDS_COUNT),
}
"""Kinds that Volcano's scheduler reads."""


def queue_findings(queues: Sequence[Obj]) -> Iterator[Finding]:
    """Queues that can be read, and what is to be said of the others."""
    axis, broken, remarked = ResourceAxis(), Said(), Said()
    names = {obj["metadata"]["name"] for obj in queues}
    for obj in queues:
        name, remarks = obj["metadata"]["name"], list[str]()
        try:
            found = queue_of(_decoded("Queue", obj, api.Queue), axis, True, remarks).queue
        except BadObject as error:
            broken.append((name, _without_name(error)))
            continue
        remarked += ((name, remark) for remark in remarks)
        if found.parent and found.parent not in names and found.parent != ROOT:
            remarked.append((name, words.NO_PARENT))
    yield from _of_kind("queues", queues, broken, remarked, _state)


def podgroup_findings(groups: Sequence[Obj], classes: Iterable[Obj] | None) -> Iterator[Finding]:
    """PodGroups; those that name a PriorityClass which is not there, where the classes are known."""
    axis, broken, remarked = ResourceAxis(), Said(), Said()
    known = None if classes is None else {one["metadata"]["name"] for one in classes}
    for obj in groups:
        name, remarks = key_of(obj), list[str]()
        try:
            spec = job_spec_of(_decoded("PodGroup", obj, api.PodGroup), axis, "default", remarks)
        except BadObject as error:
            broken.append((name, _without_name(error)))
            continue
        if spec.unsupported:
            broken.append((name, spec.unsupported))
        remarked += ((name, remark) for remark in remarks)
        if known is not None and spec.priority_class and spec.priority_class not in known:
            point = NO_PRIORITY_CLASS
            remarked.append((name, f"{point}: {POINTS[point]}"))
        remarked += ((name, f"{point}: {POINTS[point]}") for point in _closeness(obj.get("spec") or {}))
    yield from _of_kind("podgroups", groups, broken, remarked, _phase)


def _closeness(spec: Mapping[str, Any]) -> Iterator[str]:
    """The points in which closeness that is asked for differs."""
    topology = spec.get("networkTopology") or {}
    tiers = (topology.get("highestTierAllowed"), topology.get("highestTierName"))
    if topology.get("mode") == "hard" and not any(tier is not None and tier != "" for tier in tiers):
        yield HARD_WITHOUT_TIER
    for policy in spec.get("subGroupPolicy") or ():
        if policy.get("labelSelector") and not policy.get("matchLabelKeys"):
            yield SUBGROUPS_WITHOUT_KEYS


def vcjob_findings(jobs: Sequence[Obj]) -> Iterator[Finding]:
    """vcjobs that have not ended, and those that vsched would not run as they are written."""
    broken, remarked = Said(), Said()
    for obj in jobs:
        name = key_of(obj)
        if _job_phase(obj) in FINISHED:
            continue
        try:
            read = job_of(_decoded(VCJOB, obj, api.VolcanoJob))
        except BadObject as error:
            broken.append((name, _without_name(error)))
            continue
        broken += ((name, refusal) for refusal in read.refusals)
        if any(task.dependency is not None for task in read.tasks):
            remarked.append((name, f"dependsOn: {POINTS['vcjobs: dependsOn']}"))
    yield from _of_kind("vcjobs", jobs, broken, remarked, _job_phase)


def other_findings(objects: Mapping[str, Sequence[Obj]], controllers: bool) -> Iterator[Finding]:
    """Kinds that become vcjobs, and kinds that schedulers read."""
    for kind, called in OTHERS.items():
        found = objects.get(kind, ())
        if not found:
            continue
        if kind in HEEDED or kind in RESOURCES:
            yield Finding(PART, called, Verdict.WORKS, "", len(found))
        elif controllers:
            says = words.KEEP_CONTROLLERS
            yield Finding(PART, called, Verdict.DIFFERS, says, len(found))
        else:
            says = words.NO_CONTROLLER
            yield Finding(PART, called, Verdict.MISSING, says, len(found))
    for kind, (verdict, says) in MADE_FOR_SCHEDULERS.items():
        if objects.get(kind):
            yield Finding(PART, f"{kind}s", verdict, says, len(objects[kind]))


def pod_findings(pods: Iterable[Obj], ours: Sequence[str]) -> Iterator[Finding]:
    """Whose pods there are, and what pods of Volcano ask for that is not supported."""
    names: Counter[str] = Counter()
    broken = Said()
    for pod in pods:
        if (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
            continue
        scheduler = (pod.get("spec") or {}).get("schedulerName") or "default-scheduler"
        names[scheduler] += 1
        if scheduler in ours:
            broken += ((key_of(pod), f"{asked}: {words.POD_WAITS}") for asked in _unsupported(pod["spec"]))
    for name, count in sorted(names.items()):
        says = words.TAKEN_OVER if name in ours else words.LEFT_TO_OTHERS
        yield Finding(POD_PART, f"schedulerName {name}", Verdict.WORKS, says, count)
    yield from of_many(POD_PART, "pods", Verdict.MISSING, broken)


def _unsupported(spec: Mapping[str, Any]) -> Iterator[str]:
    for volume in spec.get("volumes") or ():
        yield from (f"spec.volumes: {kind}" for kind in NODE_BOUND if volume.get(kind))
    if spec.get("workloadRef"):
        yield "spec.workloadRef"


# -- what all kinds have


def _of_kind(
    called: str, objects: Sequence[Obj], broken: Said, remarked: Said, state: Callable[[Obj], str]
) -> Iterator[Finding]:
    """How many there are by state, and what is to be said of some."""
    states = Counter(map(state, objects))
    shown = ", ".join(f"{count} {name}" for name, count in sorted(states.items()))
    yield Finding(PART, called, Verdict.WORKS, shown, len(objects))
    yield from of_many(PART, called, Verdict.MISSING, broken)
    yield from of_many(PART, called, Verdict.DIFFERS, remarked)


def _state(obj: Obj) -> str:
    return str((obj.get("status") or {}).get("state") or "without a state")


def _phase(obj: Obj) -> str:
    return str((obj.get("status") or {}).get("phase") or "Pending")


def _job_phase(obj: Obj) -> str:
    state = (obj.get("status") or {}).get("state") or {}
    return str(state.get("phase") or JobPhase.PENDING)


def _decoded(kind: str, obj: Obj, expected: type[Any]) -> Any:
    found = api.decode(kind, orjson.dumps(obj))
    assert isinstance(found, expected)
    return found


def _without_name(error: BadObject) -> str:
    """What is wrong, without the name of the object, so that the same is said once of all."""
    return str(error).partition(": ")[2] or str(error)
