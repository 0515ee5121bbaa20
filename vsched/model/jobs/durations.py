"""How long work ran that has finished, and under which names that is remembered."""

from __future__ import annotations

import re

import msgspec

from vsched.model.jobs.job import JobSpec
from vsched.model.pods.task import Task
from vsched.model.shared import shared

_GENERATED = re.compile(
    r"-(?:"
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"  # a uid, as in the names of PodGroups of Volcano jobs
    r"|[0-9]+"  # an index, or the time in the names of a CronJob's jobs
    r"|[bcdf-hj-np-tv-xz2456789]{5}"  # what the API server puts behind generateName
    r")$"
)


class Learnt(msgspec.Struct, frozen=True):
    """How long the last pods of one name ran."""

    seconds: tuple[float, ...]
    """Sorted; a few dozens at most."""


def stem(name: str) -> str:
    """A name without what sets one run apart from the next: ``train-7`` and ``train-8`` are both ``train``."""
    while (shorter := _GENERATED.sub("", name)) and shorter != name:
        name = shorter
    return name


def names_of(spec: JobSpec, task: Task) -> tuple[str, str, str]:
    """What is known of a pod's like is known under these, the nearest first: its kind, its namespace, its queue."""
    own = stem(task.name if spec.implicit or spec.made else spec.name)
    queue, namespace = spec.queue, spec.namespace
    return shared(f"{queue}/{namespace}/{own}"), shared(f"{queue}/{namespace}/"), shared(f"{queue}//")
