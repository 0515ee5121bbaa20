"""The mix of pods that ask for devices, learnt from the pods that the cluster has.

A pod counts by when it was made: half as much for each half-life that it is older than the newest. Waiting, running
and ended pods count alike, as long as they exist. Only ratios of these weights matter, so the mix does not depend on
the present time, and it is the same in each session in which the pods are the same. Pods are counted in whole numbers
by shape and time, so what is counted step by step equals what is counted at once; only changed jobs are counted again.

The mix would change a little with each pod, and with it all that is worked out for it. So time is divided into steps,
and pods of the newest step count only while they are a large part of all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from vsched.kernels.deviceshare.fragments import DeviceMix
from vsched.model.amounts.resources import CPU, MEMORY
from vsched.model.jobs.job import Job
from vsched.model.nodes.table import Ints, Mask, NodeStatics
from vsched.model.pods.shape import Shape
from vsched.model.snapshot import Snapshot

OTHERS = (CPU, MEMORY)
"""The resources besides devices that count, by column of the node table."""
KINDS_MAX = 256
"""The most kinds of pods in a mix; those that come most."""
MODELS_MAX = 64
"""The most models of devices that are told apart."""
STEPS = 8
"""Into how many parts a half-life is divided: pods of one part count alike."""
STEP_SECONDS = 3600.0
"""A step where pods do not lose weight."""
OLDEST = 64 * STEPS
"""Pods this many steps older than the newest do not count, where they lose weight."""
NEWEST_PART = 8
"""Pods of the newest step count where they are at least one in so many."""
UNIT = float(1 << 24)
"""Shares are multiples of 1 / UNIT, so that sums of them are exact in any order."""
Counts = Counter[tuple[Shape, int]]
"""How many pods of a shape were made in which step of time."""


class DeviceWant(NamedTuple):
    """What a pod asks of devices."""

    number: int
    """Of devices, each another one; 0 for pods that ask for none."""
    thousandths: int
    """Of each of them."""
    cpu: int
    memory: int


class DeviceAskers(NamedTuple):
    """Pods that ask for the same, and how many of them there are."""

    want: DeviceWant
    accepts: Mask
    """bool[nodes]: nodes whose devices they could use."""
    weight: float


class CountedPods(NamedTuple):
    """The pods of one snapshot, counted."""

    jobs: Mapping[str, Job]
    """The snapshot's own map."""
    at: float
    """``now`` of the snapshot."""
    rule: tuple[float, str]
    """By which half-life, and which devices, pods were counted."""
    by_job: dict[str, tuple[Job, Counts]]
    """Only jobs with pods that ask for devices."""
    total: Counts


def count_pods(
    snapshot: Snapshot,
    statics: NodeStatics,
    half_life: float,
    resources: str,
    asks: Callable[[Shape], bool],
) -> Mapping[tuple[Shape, int], int]:
    """The pods that ask for devices, by shape and step of time; jobs that did not change are not counted again.

    ``resources`` names what ``asks`` depends on.
    """
    renewed = partial(_counted, snapshot, (half_life, resources), asks)
    return statics.memo.renewed("device mix", "", CountedPods, renewed).total


def _counted(
    snapshot: Snapshot, rule: tuple[float, str], asks: Callable[[Shape], bool], last: CountedPods | None
) -> CountedPods:
    half_life, jobs = rule[0], snapshot.jobs
    names: Iterable[str] = jobs
    by_job: dict[str, tuple[Job, Counts]] = {}
    total: Counts = Counter()
    if last is not None and last.rule == rule and last.jobs is jobs:
        by_job, total = last.by_job.copy(), last.total.copy()
        names = snapshot.changed if last.at == snapshot.previous else {*jobs, *by_job}
    for name in names:
        job, known = jobs.get(name), by_job.get(name)
        if known is not None and known[0] is job:
            continue
        if known is not None:
            total.subtract(known[1])
            del by_job[name]
        counts = _counts(job, half_life, asks) if job is not None else None
        if job is not None and counts:
            by_job[name] = job, counts
            total.update(counts)
    total = Counter({key: count for key, count in total.items() if count})
    return CountedPods(jobs, snapshot.now, rule, by_job, total)


def _counts(job: Job, half_life: float, asks: Callable[[Shape], bool]) -> Counts:
    step = half_life / STEPS or STEP_SECONDS
    return Counter((task.shape, int(task.created // step)) for task in job.tasks.values() if asks(task.shape))


def weights(counts: Mapping[tuple[Shape, int], int], half_life: float) -> dict[Shape, float]:
    """How much each shape counts; 1 for a pod that was made in the newest step."""
    newest = max((step for _, step in counts), default=0)
    found: dict[Shape, float] = {}
    latest: dict[Shape, float] = {}
    for (shape, step), count in sorted(counts.items(), key=lambda item: (item[0][0].number, item[0][1])):
        if step == newest:
            latest[shape] = float(count)
        elif not half_life:
            found[shape] = found.get(shape, 0.0) + count
        elif newest - step < OLDEST:
            found[shape] = found.get(shape, 0.0) + count * 0.5 ** ((newest - step) / STEPS)
    if sum(latest.values()) * (NEWEST_PART - 1) >= sum(found.values()):
        for shape, weight in latest.items():
            found[shape] = found.get(shape, 0.0) + weight
    return found


class NodeMix(NamedTuple):
    """The mix for the nodes of one session."""

    mix: DeviceMix
    model: Ints
    """int64[nodes]: nodes of one model are accepted by the same kinds."""
    devices: Ints
    """int64[models]: how many devices there are."""

    @property
    def key(self) -> Hashable:
        """Equal where the mixes are."""
        mix = self.mix
        parts = (mix.share, mix.number, mix.thousandths, mix.others, mix.accepts, self.model, self.devices)
        return tuple((part.shape, part.tobytes()) for part in parts)


def mix_of(kinds: Sequence[DeviceAskers], devices: Ints) -> NodeMix | None:
    """The mix of these kinds; ``devices`` (int64[nodes]) says how many each node has. None where nothing is known."""
    merged: dict[tuple[DeviceWant, bytes], DeviceAskers] = {}
    for kind in kinds:
        key = kind.want, np.packbits(kind.accepts).tobytes()
        known = merged.get(key)
        merged[key] = kind if known is None else known._replace(weight=known.weight + kind.weight)
    ranked = sorted(merged.items(), key=lambda item: (-item[1].weight, item[0]))[:KINDS_MAX]
    chosen = [kind for _, kind in ranked]
    total = sum(kind.weight for kind in chosen)
    if not total or not devices.any():
        return None
    accepts = np.stack([kind.accepts for kind in chosen])
    model = _models([*{key[1]: kind.accepts for key, kind in ranked}.values()], devices)
    count = int(model.max()) + 1
    by_model = np.zeros((count, len(chosen)), np.bool_)
    for number in range(count):
        by_model[number] = accepts[:, (model == number) & (devices > 0)].any(axis=1)
    wants = [kind.want for kind in chosen]
    mix = DeviceMix(
        np.rint(np.array([kind.weight for kind in chosen]) / total * UNIT) / UNIT,
        np.array([want.number for want in wants], np.int64),
        np.array([want.thousandths for want in wants], np.int64),
        np.array([[want.cpu for want in wants], [want.memory for want in wants]], np.int64),
        by_model,
    )
    return NodeMix(mix, model, np.bincount(model, devices, minlength=count).astype(np.int64))


def _models(patterns: Sequence[Mask], devices: Ints) -> Ints:
    """int64[nodes]: a number for the kinds that accept a node; by the first patterns if there are too many."""
    has = devices > 0
    model = has.astype(np.int64)
    for accepts in patterns:
        found, numbers = np.unique(model * 2 + (accepts & has), return_inverse=True)
        if len(found) > MODELS_MAX:
            break
        model = numbers.reshape(-1).astype(np.int64)
    return model
