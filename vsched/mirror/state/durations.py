"""How long work runs: the last durations of pods that succeeded, by names; bounded.

Failed pods do not count, as they say nothing about how long the work takes. Finished pods that still exist when the
daemon starts count, so a restart loses only the durations of pods that are gone.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Mapping

from vsched.model.jobs.durations import Learnt, names_of
from vsched.model.jobs.job import JobSpec
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task

NAMES_MAX = 2048
"""How many names are remembered; the least recent ones are dropped first."""
SAMPLES_MAX = 32
"""How many of the last durations are kept of each name."""


class DurationStore:
    """The last durations by name."""

    def __init__(self, names_max: int = NAMES_MAX) -> None:
        self._names_max = names_max
        self._samples: OrderedDict[str, deque[float]] = OrderedDict()
        self._published: dict[str, Learnt] = {}
        self._dirty: dict[str, None] = {}

    def __len__(self) -> int:
        return len(self._samples)

    def learn(self, spec: JobSpec, task: Task) -> None:
        """Add a finished pod of a job; one that failed, or has no start or end time, is skipped."""
        if task.status is not Status.SUCCEEDED or not 0.0 < task.started <= task.finished:
            return
        for name in names_of(spec, task):
            samples = self._samples.get(name)
            if samples is None:
                samples = self._samples[name] = deque(maxlen=SAMPLES_MAX)
            samples.append(task.finished - task.started)
            self._samples.move_to_end(name)
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
                self._published[name] = Learnt(tuple(sorted(samples)))
        self._dirty.clear()
        return self._published
