"""Priority classes, queues, namespaces and weights of quotas, and what they mean for pods and jobs.

It answers which priority or default queue applies, and reports when answers may have changed. It walks no pods or jobs.
"""

from __future__ import annotations

from collections.abc import Container, Mapping

import msgspec

from vsched.mirror.ingest.pods import DEFAULT_PRIORITY
from vsched.mirror.ingest.queues import ParsedQueue
from vsched.mirror.ingest.unsupported import no_such_class
from vsched.mirror.state import words
from vsched.model.jobs.job import Judgement
from vsched.model.jobs.spec import JobSpec
from vsched.model.pods.ignorable import PRIORITY_CLASSES
from vsched.model.queues.queue import Namespace, PriorityClass, Queue

USER_PRIORITY_MAX = 1_000_000_000
"""The highest value that Kubernetes allows for users' priority classes; higher ones belong to the system."""
SYSTEM_CLASSES = {
    found.name: found
    for found in (
        PriorityClass("system-cluster-critical", 2_000_000_000),
        PriorityClass("system-node-critical", 2_000_001_000),
    )
}
"""Classes that every cluster has, listed or not."""


class ClusterDefaults:
    """Priority classes, queues and namespaces by name."""

    def __init__(self, default_queue: str, ignored: frozenset[str]) -> None:
        self._default_queue = default_queue
        self.ignored = ignored
        """Unsupported features that are to be ignored."""
        self._classes: dict[str, PriorityClass] = {}
        self._published_classes: Mapping[str, PriorityClass] | None = None
        self._queues: dict[str, ParsedQueue] = {}
        self._namespaces: dict[str, Namespace] = {}
        self._weights: dict[str, dict[str, int]] = {}
        """By namespace, then by quota."""
        self._published_queues: Mapping[str, Queue] | None = None
        self._with_default: tuple[Mapping[str, Queue], Mapping[str, Queue]] | None = None
        """The published queues, and the same with the default queue, which has no object."""
        self._published_namespaces: Mapping[str, Namespace] | None = None
        self._range: tuple[Mapping[str, Queue], tuple[int, int]] | None = None
        """The range of priorities, and the queues it was computed for (a change of classes publishes new ones)."""
        self._priorities_changed = False
        self._default_queues_changed = False

    def put_class(self, facts: PriorityClass) -> bool:
        """Take in a priority class; True where it has changed."""
        if self._classes.get(facts.name) == facts:
            return False
        self._classes[facts.name] = facts
        self._note_priorities()
        return True

    def put_queue(self, facts: ParsedQueue) -> bool:
        """Take in a queue; True where it has changed."""
        name = facts.queue.name
        before = self._queues.get(name)
        if before == facts:
            return False
        self._queues[name] = facts
        self._published_queues = None
        if before is None or before[1:] != facts[1:]:
            self._note_priorities()
        return True

    def put_namespace(self, namespace: Namespace) -> bool:
        """Take in a namespace; True where it has changed."""
        before = self._namespaces.get(namespace.name)
        if before == namespace:
            return False
        self._namespaces[namespace.name] = namespace
        self._published_namespaces = None
        if (before.queue if before is not None else "") != namespace.queue:
            self._default_queues_changed = True
        return True

    def put_weight(self, namespace: str, quota: str, weight: int) -> bool:
        """Set the weight that a quota gives its namespace, 0 for none; True where it has changed."""
        weights = self._weights.setdefault(namespace, {})
        if weights.get(quota, 0) == weight:
            return False
        if weight:
            weights[quota] = weight
        else:
            del weights[quota]
        self._published_namespaces = None
        return True

    def drop(self, kind: str, key: str) -> bool:
        """An object is gone; True where it was known."""
        match kind:
            case "PriorityClass":
                known = self._classes.pop(key, None) is not None
                self._note_priorities()
                return known
            case "Queue":
                known = self._queues.pop(key, None) is not None
                self._note_priorities()
                return known
            case "Namespace":
                self._published_namespaces = None
                self._default_queues_changed = True
                return self._namespaces.pop(key, None) is not None
            case "ResourceQuota":
                return self.put_weight(key.partition("/")[0], key, 0)
        return False

    def queue_facts(self, name: str) -> ParsedQueue | None:
        """The queue as its object states it, None where there is none."""
        return self._queues.get(name)

    def columns(self) -> set[int]:
        """Columns of resources that queues name."""
        queues = [facts.queue for facts in self._queues.values()]
        amounts = [one for queue in queues for one in (queue.capability, queue.deserved, queue.guarantee)]
        amounts += [one for queue in queues for _, one in queue.group_limits or ()]
        return {column for one in amounts for column, _ in one}

    def queue_names(self) -> list[str]:
        """Names of queues that have an object, sorted."""
        return sorted(self._queues)

    def take_priorities_changed(self) -> bool:
        """Whether priorities may have changed since the last call."""
        changed, self._priorities_changed = self._priorities_changed, False
        return changed

    def take_default_queues_changed(self) -> bool:
        """Whether a namespace's default queue may have changed since the last call."""
        changed, self._default_queues_changed = self._default_queues_changed, False
        return changed

    def judge_pod(self, name: str) -> tuple[int, str]:
        """The priority of a pod that names this class, and why the pod waits if there is no such class."""
        found = self._class(name)
        if found is not None:
            return found.value, ""
        return DEFAULT_PRIORITY, "" if PRIORITY_CLASSES in self.ignored else no_such_class(name)

    def judge(self, spec: JobSpec) -> Judgement:
        """The priority of a job (its class's, else its queue's, else the default class's, else 0), and why it waits.

        A job waits for a class that does not exist, unless its queue gives it a priority.
        """
        unsupported = spec.unsupported
        if spec.native is not None and spec.native.priority is not None:
            return Judgement(spec.native.priority, unsupported)  # the API server has looked its class up
        queue = self._queues.get(spec.queue)
        lost = "" if queue is None else self._missing_class(queue)
        of_queue = f"queue {spec.queue}: " if lost else ""
        found = self._class(spec.priority_class)
        if found is not None:
            notice = words.queue_without_priority(of_queue, no_such_class(lost)) if lost else ""
            return Judgement(found.value, unsupported, notice)
        inherited = None if queue is None else self._queue_priority(queue)
        priority = self._default_class_value() if inherited is None else inherited
        if not lost and (not spec.priority_class or spec.class_only_named):
            return Judgement(priority, unsupported)
        missing, whose = (lost, of_queue) if lost else (spec.priority_class, "")
        if inherited:
            return Judgement(priority, unsupported, words.priority_of_queue_holds(whose, no_such_class(missing)))
        if PRIORITY_CLASSES in self.ignored:
            return Judgement(priority, unsupported, words.its_priority_is(whose, no_such_class(missing), priority))
        if unsupported:
            return Judgement(priority, unsupported)
        return Judgement(priority, f"{whose}{no_such_class(missing)}", awaits_class=missing)

    def queue_of(self, namespace: str) -> str:
        """The queue of jobs in a namespace that name none."""
        found = self._namespaces.get(namespace)
        return found.queue if found is not None and found.queue else self._default_queue

    def priority_range(self, queues: Mapping[str, Queue]) -> tuple[int, int]:
        """The lowest and the highest priority of classes and of these queues; (0, 0) without any.

        Classes of the system do not count, except through the priority of a queue.
        """
        if self._range is None or self._range[0] is not queues:
            values = [found.value for found in self._classes.values() if found.value <= USER_PRIORITY_MAX]
            values += [queue.priority for queue in queues.values()]
            self._range = (queues, (min(values, default=0), max(values, default=0)))
        return self._range[1]

    def queues(self, wanted: Container[str], may_make_up: bool) -> Mapping[str, Queue]:
        """Every queue with its priority. The default queue is added where jobs name it and it has no object."""
        if self._published_queues is None:
            self._published_queues = {name: self._with_priority(facts) for name, facts in sorted(self._queues.items())}
        default, published = self._default_queue, self._published_queues
        if not may_make_up or default in published or default not in wanted:
            return published
        if self._with_default is None or self._with_default[0] is not published:
            self._with_default = published, {**published, default: Queue(default)}
        return self._with_default[1]

    def classes(self) -> Mapping[str, PriorityClass]:
        """Every priority class."""
        if self._published_classes is None:
            self._published_classes = dict(sorted(self._classes.items()))
        return self._published_classes

    def namespaces(self) -> Mapping[str, Namespace]:
        """Every namespace that has an object or a weight."""
        if self._published_namespaces is None:
            names = sorted(self._namespaces.keys() | {name for name, weights in self._weights.items() if weights})
            self._published_namespaces = {name: self._with_weight(name) for name in names}
        return self._published_namespaces

    def weight_of(self, namespace: str) -> int:
        """The weight that quotas give a namespace."""
        return max(self._weights.get(namespace, {}).values(), default=1)

    def _note_priorities(self) -> None:
        self._priorities_changed = True
        self._published_queues = self._published_classes = None

    def _queue_priority(self, facts: ParsedQueue) -> int | None:
        """The priority that a queue states or has from its class, None without either."""
        if facts.priority is not None:
            return facts.priority
        found = self._class(facts.priority_class)
        return None if found is None else found.value

    def _class(self, name: str) -> PriorityClass | None:
        return self._classes.get(name) or SYSTEM_CLASSES.get(name)

    def _missing_class(self, facts: ParsedQueue) -> str:
        """The class that a queue names for its priority, if it does not exist; else empty."""
        if facts.priority is not None or not facts.priority_class or self._class(facts.priority_class) is not None:
            return ""
        return facts.priority_class

    def _default_class_value(self) -> int:
        return min((found.value for found in self._classes.values() if found.is_default), default=0)

    def _with_priority(self, facts: ParsedQueue) -> Queue:
        priority, missing = self._queue_priority(facts) or 0, self._missing_class(facts)
        queue = facts.queue
        if (queue.priority, queue.missing_class) == (priority, missing):
            return queue
        return msgspec.structs.replace(queue, priority=priority, missing_class=missing)

    def _with_weight(self, name: str) -> Namespace:
        namespace = self._namespaces.get(name) or Namespace(name)
        weight = self.weight_of(name)
        return namespace if weight == namespace.weight else msgspec.structs.replace(namespace, weight=weight)
