"""Pods to tasks.

A pod that cannot be used raises BadObject with one line: kind, name, field, what was expected. The mirror's stores add
what depends on other objects (priority classes, default queues, membership).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from typing import NamedTuple

import msgspec

from vsched import api
from vsched.api.base import check_names, seconds_of
from vsched.errors import UNUSABLE, BadInput, BadObject, Beyond, NoColumn
from vsched.mirror.ingest.alike import BYTES_MAX, TASK_SPEC, key_of, length_of
from vsched.mirror.ingest.annotations import QUEUE_GATE, Remarks, expected_seconds_of, strategy_of
from vsched.mirror.ingest.bounds import GATES_MAX, LABELS_MAX, read, short
from vsched.mirror.ingest.claims import claims_of
from vsched.mirror.ingest.deviceshare import assigned_to, remark_group_policy
from vsched.mirror.ingest.evictions import checkpoint_of, cooperation_of, deletion_cost_of, request_of
from vsched.mirror.ingest.implicit import (
    GROUP_NAME,
    controller_of,
    group_named,
    implied_job,
    own_name,
    plain_name,
)
from vsched.mirror.ingest.metadata import (
    NUMA_POLICIES,
    NUMA_POLICY,
    PREEMPTABLE,
    choice_of,
    created_of,
    flag_of,
    integer_of,
    maker_of,
)
from vsched.mirror.ingest.native import group_of_pod
from vsched.mirror.ingest.pod_status import (
    finished_at,
    is_let_in,
    is_unready,
    protected_until,
    scheduled_condition,
    status_of,
)
from vsched.mirror.ingest.shape import Shaper, bound_labels
from vsched.mirror.ingest.shape import length_of as shape_length_of
from vsched.mirror.ingest.unsupported import asked_by_pod, remark_wishes_of_pod
from vsched.mirror.ingest.words import fields as words
from vsched.model.amounts.resources import ResourceAxis
from vsched.model.arbitration.records import PREFERRED_VICTIM
from vsched.model.jobs.native import native_key
from vsched.model.jobs.spec import JobSpec
from vsched.model.names import shared
from vsched.model.plan import TOPOLOGY_DECISION
from vsched.model.pods.claims import PodClaims
from vsched.model.pods.shape import PodLabels, Shape
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task

TASK_PRIORITY = "volcano.sh/task-priority"
MIRROR = "kubernetes.io/config.mirror"
"""Annotation of mirror pods, which show static pods of a kubelet."""
PREEMPTION_POLICIES = {"": True, "PreemptLowerPriority": True, "Never": False}
ON_NODES = (Status.BOUND, Status.RUNNING)
"""Statuses in which unsupported features still matter: a replacement of the pod would wait."""
DECISION_MAX = 4096
"""The longest decision about NUMA zones that is kept; a longer one cannot be read."""
ASKS_SECONDS = 3600.0
"""The default of the longest time that a pod is asked to end by itself."""
DEFAULT_PRIORITY = 1
"""The priority of a pod without one."""

_NONE: Mapping[str, str] = {}
_NAMED_AT = f"metadata.annotations[{GROUP_NAME}]"


class PodFacts(msgspec.Struct, frozen=True):
    """A pod as a task, and what the stores need besides."""

    task: Task
    needs_class: bool
    """Whether the pod names a priority class and has no priority of its own."""
    implicit: JobSpec | None
    """The implicit PodGroup of a pod of ours that names none, or the one that was made for it."""
    remarks: Sequence[str]
    """Which of its annotations cannot be used, and why; empty for pods of other schedulers."""


class Occupant(NamedTuple):
    """A pod that cannot be used as a task that takes its room on its node."""

    task: Task
    lacks_column: bool
    """Whether there was no column left for one of its resources."""


class PodReader:
    """Turns pods into tasks; pods of other schedulers only once they have a node, except for arbitration."""

    KNOWN_MAX = 2048
    """How many pods are remembered that stand for others."""

    def __init__(
        self,
        axis: ResourceAxis,
        scheduler_names: frozenset[str],
        *,
        foreign: bool = False,
        queue_gates: bool = True,
        ignored: frozenset[str] = frozenset(),
        asks_seconds: float = ASKS_SECONDS,
        has_owners: Callable[[str], bool] = lambda uid: False,
    ) -> None:
        self.shaper = Shaper(axis, limits=foreign)
        self.scheduler_names = scheduler_names
        self._queue_gates = queue_gates
        """Whether this daemon removes the gates of queues; otherwise they are gates like others."""
        self._axis = axis
        self._ignored = ignored
        """Unsupported features that are to be ignored."""
        self._asks_seconds = asks_seconds
        """How long pods that opt in are asked to end by themselves, at most; 0: they are not asked."""
        self._has_owners = has_owners
        """Whether the owners of a pod may say which gang it belongs to."""
        self._reads_foreign = foreign
        """Whether pods of other schedulers count before they have a node, and limits are read, for arbitration."""
        self.known: dict[Hashable, PodFacts] = {}
        """Pods that stand for others that say the same, by ``alike.key_of``; bounded."""

    def is_ours(self, pod: api.Pod) -> bool:
        """Whether the pod names us as its scheduler."""
        return (pod.spec.scheduler_name or "") in self.scheduler_names

    def read(self, pod: api.Pod) -> PodFacts | None:
        """The pod as a task, None where it does not count; raises BadObject."""
        spec = pod.spec
        ours = self.is_ours(pod)
        if not ours and not spec.node_name and not self._reads_foreign:
            return None
        check_names("Pod", pod.metadata)
        try:
            try:
                return self._read_once(pod, ours)
            except Beyond as error:
                if not ours or spec.node_name:
                    raise
                return self._read(pod, ours, str(error))
        except BadInput as error:
            problem = NoColumn if isinstance(error, NoColumn) else BadObject
            raise problem(f"{api.named('Pod', pod.metadata)}: {error}") from None

    def sweep(self, shapes: Set[Shape], labels: Set[PodLabels]) -> None:
        """Forget what no pod uses any more; these are what pods have."""
        self.known.clear()
        self.shaper.sweep(shapes, labels)

    def occupant(self, pod: api.Pod) -> Occupant | None:
        """The usage of a node by a pod that cannot be read otherwise; None where even that is invalid."""
        if not pod.spec.node_name:
            return None
        try:
            (shape, lacks_column), status = self.shaper.occupant(pod), status_of(pod)
        except UNUSABLE:
            return None
        metadata = pod.metadata
        namespace = shared(metadata.namespace or "default")
        labels = self.shaper.labels(namespace, _seen_labels(pod))
        task = Task(
            api.uid_of(metadata),
            namespace,
            metadata.name,
            "",
            shape,
            labels,
            status,
            shared(pod.spec.node_name),
            claims=_claims_if_valid(pod),
        )
        return Occupant(task, lacks_column)

    def _read_once(self, pod: api.Pod, ours: bool) -> PodFacts:
        """The pod as a task; of one that says what another one has said, only what is its own is read."""
        try:
            namespace = shared(pod.metadata.namespace or "default")
            _, own, job = self._belonging(pod, ours, namespace)
            key = key_of(pod, grouped=bool(job), implied=bool(own))
        except BadInput:
            key = None  # what is wrong with it first is said below
        known = None if key is None or len(pod.metadata.labels or ()) > LABELS_MAX else self.known.get(key)
        if known is not None:
            return self._again(pod, known, own, job)
        facts = self._read(pod, ours)
        if key is not None and facts.task.claims is None and length_of(pod) + shape_length_of(pod) <= BYTES_MAX:
            if len(self.known) >= self.KNOWN_MAX:
                self.known.clear()
            self.known[key] = facts
        return facts

    def _again(self, pod: api.Pod, known: PodFacts, own: str, job: str) -> PodFacts:
        """A pod that says the same as another one, with what is its own."""
        metadata, status, like, implicit = pod.metadata, pod.status, known.task, known.implicit
        created = created_of(metadata)
        conditions = status.conditions
        if implicit is not None and (implicit.name != own or implicit.created != created):
            implicit = msgspec.structs.replace(implicit, name=own, created=created, made_for=maker_of(own, metadata))
        task = msgspec.structs.replace(
            like,
            uid=api.uid_of(metadata),
            name=metadata.name,
            job=shared(job),
            labels=self.shaper.labels(like.namespace, metadata.labels or {}),
            node=shared(pod.spec.node_name or ""),
            created=created,
            nominated=status.nominated_node_name or "",
            condition=scheduled_condition(pod) if conditions else "",
            started=seconds_of(status.start_time),
            unready=like.status is Status.RUNNING and is_unready(pod),
            finished=finished_at(pod) if like.status in (Status.SUCCEEDED, Status.FAILED) else 0.0,
        )
        return PodFacts(task, known.needs_class, implicit, known.remarks)

    def _belonging(self, pod: api.Pod, ours: bool, namespace: str) -> tuple[str, str, str]:
        """The native PodGroup that a pod names, the name of its implicit one, and the key of its job.

        Each is empty where there is none. Raises BadObject.
        """
        metadata = pod.metadata
        native, named = group_of_pod(pod.spec.scheduling_group), group_named(metadata)
        own = ""
        if ours and not native:
            own = own_name(metadata, named)
            if not own and self._has_owners(api.uid_of(metadata)):
                own = plain_name(metadata)
        group = own or short(named, _NAMED_AT)
        if native:
            return native, own, native_key(namespace, native) if ours else ""
        if not ours and not pod.spec.node_name:
            group = ""  # another scheduler places it, whatever its PodGroup is
        return native, own, f"{namespace}/{group}" if group else ""

    def _read(self, pod: api.Pod, ours: bool, beyond: str = "") -> PodFacts:
        """The pod as a task; ``beyond`` is the reason why it waits, if it exceeds a bound."""
        metadata, spec = pod.metadata, pod.spec
        annotations = metadata.annotations or _NONE
        if not beyond:
            bound_labels(pod)
            read(spec.scheduling_gates, GATES_MAX, "spec.schedulingGates")
        namespace = shared(metadata.namespace or "default")
        created = created_of(metadata)
        native, own, job = self._belonging(pod, ours, namespace)
        role = short(annotations.get(TASK_SPEC, ""), f"metadata.annotations[{TASK_SPEC}]")
        remarks: list[str] = []
        implicit = implied_job(pod, own, namespace, created, remarks) if own else None
        override = integer_of(annotations, TASK_PRIORITY)
        priority = override if override is not None else spec.priority
        status = status_of(pod)
        asked = None
        if ours and self._asks_seconds and status in ON_NODES:
            asked = request_of(pod, self._asks_seconds, remarks)
            status = status if asked is None else Status.RELEASING
        gates = [gate.get("name") for gate in spec.scheduling_gates or ()]
        strategy = strategy_of(annotations, remarks)
        shape = self.shaper.nothing() if beyond else self.shaper.shape(pod, strategy)
        unsupported, waits = beyond, status is Status.PENDING
        if ours and not beyond and (waits or status in ON_NODES):
            unsupported = shared(asked_by_pod(pod, self._ignored))
        if ours and not beyond and waits:
            remark_wishes_of_pod(pod, remarks)
            _remark_numa_policy(annotations, shape, remarks)
            remark_group_policy(annotations, shape.devices, remarks)
        chosen = ours and self._queue_gates and annotations.get(QUEUE_GATE) == "true" and not unsupported
        task = Task(
            api.uid_of(metadata),
            namespace,
            metadata.name,
            shared(job),
            shape,
            self.shaper.labels(namespace, _seen_labels(pod) if beyond else metadata.labels or {}),
            status,
            shared(spec.node_name or ""),
            DEFAULT_PRIORITY if priority is None else priority,
            created,
            shared(role or (metadata.labels or _NONE).get(TASK_SPEC, "")),
            bool(gates or (unsupported and waits)),
            pod.status.nominated_node_name or "",
            flag_of(metadata, PREEMPTABLE) is not False,
            choice_of(spec.preemption_policy or "", PREEMPTION_POLICIES, "spec.preemptionPolicy"),
            shared(spec.priority_class_name or ""),
            scheduled_condition(pod),
            seconds_of(pod.status.start_time),
            protected_until(pod, remarks),
            annotations.get(PREFERRED_VICTIM) == "true",
            _returns(metadata),
            awaits_queue=waits and chosen and gates == [QUEUE_GATE],
            reserves=waits and chosen and not gates and is_let_in(pod),
            owned=_is_owned(metadata),
            expected=expected_seconds_of(annotations, remarks),
            limit=float(spec.active_deadline_seconds or 0),
            endless=(spec.restart_policy or "Always") == "Always",
            unready=status is Status.RUNNING and is_unready(pod),
            finished=finished_at(pod) if status in (Status.SUCCEEDED, Status.FAILED) else 0.0,
            unsupported=unsupported,
            claims=None if beyond else claims_of(pod),
            group=shared(native),
            zones=annotations.get(TOPOLOGY_DECISION, "")[:DECISION_MAX] if shape.zones is not None else "",
            devices=assigned_to(annotations, shape.devices, remarks),
            checkpoint=checkpoint_of(annotations, remarks),
            deletion_cost=deletion_cost_of(annotations, remarks),
            cooperates=cooperation_of(annotations, remarks) if self._asks_seconds else None,
            responds=bool(ours and self._asks_seconds and spec.eviction_responders and not native),
            asked=asked,
        )
        return PodFacts(task, priority is None and bool(spec.priority_class_name), implicit, remarks if ours else ())


def _remark_numa_policy(annotations: Mapping[str, str], shape: Shape, remarks: Remarks) -> None:
    """Remark on a policy for NUMA zones that is unknown, or that cannot have an effect."""
    policy = annotations.get(NUMA_POLICY, "")
    at = f"metadata.annotations[{NUMA_POLICY}]"
    if policy and policy not in NUMA_POLICIES:
        remarks.append(f"{at}: {policy[:40]!r} (expected {', '.join(NUMA_POLICIES)}): ignored")
    elif policy not in ("", "none") and shape.zones is None:
        remarks.append(words.not_guaranteed(at))


def _claims_if_valid(pod: api.Pod) -> PodClaims | None:
    """The claims that a pod on a node uses; none where they cannot be read."""
    try:
        return claims_of(pod)
    except UNUSABLE:
        return None


def _seen_labels(pod: api.Pod) -> dict[str, str]:
    """The labels of a pod that cannot be used; none where it has too many."""
    labels = pod.metadata.labels or {}
    return labels if len(labels) <= LABELS_MAX else {}


def _is_owned(metadata: api.Metadata) -> bool:
    """Whether a controller replaces the pod. Nodes own mirror pods, but are no controllers."""
    owner = controller_of(metadata)
    return owner is not None and owner.kind != "Node"


def _returns(metadata: api.Metadata) -> bool:
    """Whether a deleted pod is created again on the same node."""
    if MIRROR in (metadata.annotations or _NONE):
        return True
    return any(owner.controller and owner.kind == "DaemonSet" for owner in metadata.owner_references or ())
