"""The mirror's books of how long work runs: the last durations of pods that finished well, by names; bounded.

Pods that failed are passed over, as they say nothing of how long the work takes. Finished pods that are still there
when the mirror is filled are learnt from, so a restart costs what was learnt of pods that are gone.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Mapping

from vsched.model.durations import Learnt, names_of
from vsched.model.job import JobSpec
from vsched.model.status import Status
from vsched.model.task import Task

NAMES_MAX = 2048
"""So many names are remembered; those that nothing finished under for longest are forgotten first."""
SAMPLES_MAX = 32
"""So many durations of each name, the last ones."""


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
        """A pod of a job has finished; one that failed, or does not say when it began and ended, is passed over."""
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
        """What is known by now, at the cost of what is new; valid until the next call."""
        for name in self._dirty:
            samples = self._samples.get(name)
            if samples is None:
                self._published.pop(name, None)
            else:
                self._published[name] = Learnt(tuple(sorted(samples)))
        self._dirty.clear()
        return self._published
