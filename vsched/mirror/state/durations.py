"""How long work runs: the last durations of pods that succeeded, and what they declared, by names; bounded.

Failed pods do not count, as they say nothing about how long the work takes. Finished pods that still exist when the
daemon starts count, so a restart loses only the durations of pods that are gone.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Mapping
from typing import NamedTuple

from vsched.model.jobs.durations import Learnt, names_of
from vsched.model.jobs.spec import JobSpec
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task

NAMES_MAX = 2048
"""How many names are remembered; the least recent ones are dropped first."""
SAMPLES_MAX = 32
"""How many of the last durations are stored of each name."""
ALIKE_SECONDS, ALIKE_SHARE = 2.0, 0.01
"""Durations that differ by less, or by this share, are the same: time stamps have whole seconds."""


class Sample(NamedTuple):
    """What a pod took."""

    job: str
    seconds: float
    declared: float
    """Seconds; 0 where it declared nothing."""

    @property
    def worth(self) -> float:
        """How many times as long as declared it took."""
        return 1.0 if _alike(self.seconds, self.declared) else self.seconds / self.declared


class DurationStore:
    """The last durations by name."""

    def __init__(self, names_max: int = NAMES_MAX) -> None:
        self._names_max = names_max
        self._samples: OrderedDict[str, deque[Sample]] = OrderedDict()
        self._published: dict[str, Learnt] = {}
        self._dirty: dict[str, None] = {}

    def __len__(self) -> int:
        return len(self._samples)

    def learn(self, spec: JobSpec, task: Task) -> None:
        """Add a finished pod of a job; one that failed, or has no start or end time, is skipped.

        Pods of a job that took the same time are one sample: a gang ends as a whole, and says no more than one pod.
        """
        if task.status is not Status.SUCCEEDED or not 0.0 < task.started <= task.finished:
            return
        sample = Sample(task.job, task.finished - task.started, task.expected or spec.expected)
        for name in names_of(spec, task):
            samples = self._samples.get(name)
            if samples is None:
                samples = self._samples[name] = deque(maxlen=SAMPLES_MAX)
            self._samples.move_to_end(name)
            if any(one.job == sample.job and _alike(one.seconds, sample.seconds) for one in samples):
                continue
            samples.append(sample)
            self._dirty[name] = None
        while len(self._samples) > self._names_max:
            name, _ = self._samples.popitem(last=False)
            self._dirty[name] = None

    def publish(self) -> Mapping[str, Learnt]:
        """Durations by name. The cost follows what is new; valid until the next call."""
        for name in self._dirty:
            samples = self._samples.get(name)
            if samples is None:
                self._published.pop(name, None)
            else:
                seconds = sorted(one.seconds for one in samples)
                worth = sorted(one.worth for one in samples if one.declared)
                self._published[name] = Learnt(tuple(seconds), tuple(worth))
        self._dirty.clear()
        return self._published


def _alike(seconds: float, others: float) -> bool:
    return abs(seconds - others) <= max(ALIKE_SECONDS, ALIKE_SHARE * min(seconds, others))
