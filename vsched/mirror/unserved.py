"""Problems of objects that state what no plugin of the policy in force acts on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from vsched import api
from vsched.framework.policy import Policy
from vsched.framework.registry import Registry
from vsched.framework.unserved import Unserved, first_of, of_job, of_queue, unserved
from vsched.mirror.problems import NO_PLUGIN, Problem, Problems, note_problem
from vsched.model.jobs.job import Job
from vsched.model.queues.queue import Queue
from vsched.model.snapshot import Snapshot

STEP = 256
"""How many jobs are looked at in one step."""


class UnservedTerms:
    """Keeps a table of these problems, from snapshot to snapshot."""

    def __init__(self, problems: Problems, registry: Registry, policy: Callable[[], Policy]) -> None:
        self._problems = problems
        self._registry = registry
        self._policy_in_force = policy
        self._policy: Policy | None = None
        self._missing: Unserved = {}
        self._queues: Mapping[str, Queue] = {}

    def looking(self, snapshot: Snapshot) -> Iterator[None]:
        """Look at what changed since the snapshot before, and at everything where the policy did; in steps."""
        policy, jobs = self._policy_in_force(), snapshot.changed
        if policy is not self._policy:
            self._policy, self._missing, self._queues = policy, unserved(policy, self._registry), {}
            self._problems.clear()
            jobs = list(snapshot.jobs)
        if snapshot.queues is not self._queues:
            self._queues = snapshot.queues
            self._look_at_queues(snapshot.queues)
            yield
        for number, key in enumerate(jobs):
            self._look_at_job(key, snapshot.jobs.get(key))
            if number % STEP == STEP - 1:
                yield

    def _look_at_queues(self, queues: Mapping[str, Queue]) -> None:
        for kind, name in [one for one in self._problems if one[0] == "Queue" and one[1] not in queues]:
            del self._problems[kind, name]
        for name, queue in queues.items():
            self._put("Queue", name, queue.uid, "", name, of_queue(queue, self._missing))

    def _look_at_job(self, key: str, job: Job | None) -> None:
        if job is None:
            for kind in ("PodGroup", "Pod"):
                self._problems.pop((kind, key), None)
            return
        spec = job.spec
        found = of_job(job, self._missing)
        if not spec.implicit and spec.native is None:
            self._put("PodGroup", key, spec.uid, spec.namespace, spec.name, found)
        elif (pod := first_of(job)) is not None:
            self._put("Pod", key, pod.uid, pod.namespace, pod.name, found)
        else:
            self._problems.pop(("Pod", key), None)

    def _put(self, kind: str, key: str, uid: str, namespace: str, name: str, sentences: list[str]) -> None:
        if not sentences or not uid:
            self._problems.pop((kind, key), None)
            return
        named = api.named(kind, api.Metadata(name=name, namespace=namespace))
        message = f"{named}: {'; '.join(sentences)}"
        note_problem(self._problems, key, Problem(kind, namespace, name, uid, message, False, NO_PLUGIN))
