"""What may go wrong in a bottle: requests that fail, as for the embedded cluster, and what happens to processes, to the
cluster, and to services of others that are asked."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec

from vsched.sim.api.fault_plan import RULES, FaultPlan

SERVER = "server"
"""The name of the process of the API server and the controllers."""
Seconds = Annotated[float, msgspec.Meta(gt=0, le=1e6)]


class ProcessFaultKind(StrEnum):
    """What may happen to a daemon."""

    KILL = "kill"
    """It ends between two of its steps; what it has sent arrives."""
    PAUSE = "pause"
    """It does nothing for a while, and goes on."""
    CUT = "cut"
    """It and the API server do not reach each other for a while."""
    DEAF = "deaf"
    """What it sends arrives, and no answer comes back, for a while."""
    SKEW = "skew"
    """Its wall clock jumps, and is set right after a while."""
    NO_READS = "no-reads"
    """What it asks gets no answer for a while; what it writes does, and watches that are open go on."""
    NO_WRITES = "no-writes"
    """What it writes is not done and gets no answer for a while; what it asks does."""
    FULL_DISK = "full-disk"
    """The disk that its log and its record of the work go to is full for a while."""


class ClusterFaultKind(StrEnum):
    """What may happen to the cluster."""

    RESTART = "restart"
    """The API server is killed: all connections end, and nobody listens for a while."""
    RESTORE = "restore"
    """The same, and it comes back with the state, and the versions, of some seconds before."""
    STEAL_LEASE = "steal-lease"
    """Somebody else writes itself into a Lease, and does not renew it."""
    DELETE_LEASE = "delete-lease"
    """A Lease is deleted."""
    REFUSE_NODE = "refuse-node"
    """Admission refuses all bindings to one node for a while."""
    NODE_DOWN = "node-down"
    """A node is not ready, or nobody knows, for a while."""
    KUBELET_HANGS = "kubelet-hangs"
    """A node is ready, but its pods do not start, end or leave for a while."""
    POD_FAILS = "pod-fails"
    """A kubelet refuses a pod that is bound to its node; its user takes the job back after a while."""
    DRAIN = "drain"
    """A node takes no pods for a while, and those on it are deleted; their users take the jobs back."""
    QUEUE_EDITED = "queue-edited"
    """A queue has another weight or capability for a while."""
    TENANT = "tenant"
    """A tenant makes, changes or deletes something odd of its own; what it makes goes after a while."""
    NAMESPACE_ENDS = "namespace-ends"
    """A namespace of tenants is deleted, with all that is in it."""


class WebhookFaultKind(StrEnum):
    """What an admission webhook of others may do for a while."""

    REFUSES = "refuses"
    """It denies what daemons write about some objects."""
    HANGS = "hangs"
    """It does not answer about them: what daemons write is not done, and fails when the webhook's time is over."""
    CHANGES = "changes"
    """It adds a container to pods that are created, by whomever, and labels and annotations to what daemons write."""


class ExtenderFaultKind(StrEnum):
    """What the service of the extender plugin may do for a while."""

    SILENT = "silent"
    """Nobody listens there."""
    LATE = "late"
    """Answers come when nobody waits for them any more."""
    WRONG = "wrong"
    """Answers are errors, no JSON, of another form, or about nodes that do not exist; or it refuses everything."""


class Occasional(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How often something happens."""

    every_seconds: Seconds
    """On average; the times are drawn."""
    lasts_seconds: Seconds = 30.0
    """At most; drawn as well."""


class ProcessFault(Occasional, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One fault of daemons."""

    fault: ProcessFaultKind
    skew_seconds: Annotated[float, msgspec.Meta(ge=-1e6, le=1e6)] = 300.0
    """By how much a clock jumps at most, forward or back."""


class ClusterFault(Occasional, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One fault of the cluster."""

    fault: ClusterFaultKind
    back_seconds: Seconds = 30.0
    """How old a backup is at most when it is restored."""


Percent = Annotated[float, msgspec.Meta(gt=0, le=100)]


class WebhookFault(Occasional, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One fault of admission webhooks."""

    fault: WebhookFaultKind
    percent: Percent = 50.0
    """Of the objects: it does the same to each as long as it lasts, however often that is written."""
    resources: tuple[str, ...] = ()
    """As in rules: ``pods``, ``pods/binding``, ``*/status``; empty for all."""
    timeout_seconds: Annotated[float, msgspec.Meta(ge=1, le=30)] = 10.0
    """How long the API server waits for one that hangs."""


class ExtenderFault(Occasional, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One fault of the service that the extender plugin asks."""

    fault: ExtenderFaultKind
    percent: Percent = 50.0
    """Of the calls."""


class BottleFaults(FaultPlan, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A file of faults: of requests, as for ``vsched cluster --faults``, of processes, of the cluster, and of services
    of others."""

    processes: Annotated[tuple[ProcessFault, ...], msgspec.Meta(max_length=RULES)] = ()
    cluster: Annotated[tuple[ClusterFault, ...], msgspec.Meta(max_length=RULES)] = ()
    webhooks: Annotated[tuple[WebhookFault, ...], msgspec.Meta(max_length=RULES)] = ()
    extender: Annotated[tuple[ExtenderFault, ...], msgspec.Meta(max_length=RULES)] = ()
