"""Run times of finished pods, what declared run times were worth, and the names that both are recorded under."""

from __future__ import annotations

import re

import msgspec

from vsched.model.jobs.spec import JobSpec
from vsched.model.names import shared
from vsched.model.pods.task import Task

_GENERATED = re.compile(
    r"-(?:"
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"  # a uid, as in the names of PodGroups of Volcano jobs
    r"|[0-9]+"  # an index, or the time in the names of a CronJob's jobs
    r"|[bcdf-hj-np-tv-xz2456789]{5}"  # what the API server puts behind generateName
    r")$"
)


class Learnt(msgspec.Struct, frozen=True):
    """What the last pods recorded under one name took."""

    seconds: tuple[float, ...]
    """Seconds, sorted; a few dozen at most."""
    worth: tuple[float, ...] = ()
    """Of those that declared a run time: how many times as long they took, sorted."""


def stem(name: str) -> str:
    """A name without generated endings: ``train-7`` and ``train-8`` both become ``train``."""
    while (shorter := _GENERATED.sub("", name)) and shorter != name:
        name = shorter
    return name


def names_of(spec: JobSpec, task: Task) -> tuple[str, str, str, str]:
    """The names that a pod's run time is recorded under, most specific first: similar work, namespace, queue, all."""
    own = stem(task.name if spec.implicit or spec.made else spec.name)
    queue, namespace = spec.queue, spec.namespace
    return shared(f"{queue}/{namespace}/{own}"), shared(f"{queue}/{namespace}/"), shared(f"{queue}//"), "//"
