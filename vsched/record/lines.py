"""The lines of a work trace: what each says, as one JSON object.

Times are seconds since the epoch. Amounts are whole numbers: bytes of memory and storage, pods as they are, and
thousandths of everything else, such as cores and GPUs. ``id`` tells jobs and pods apart, even if names come again.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

FORMAT = 1
"""Raised by changes that an older reader would misunderstand. Further fields are none."""

SUCCEEDED, FAILED, DELETED, UNSEEN = "succeeded", "failed", "deleted", "unseen"
"""How a pod ended; ``unseen`` where it ended while nobody recorded."""

Requests = Mapping[str, int]


class WorkLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind"):
    """What was seen at a time."""

    at: float


class Began(WorkLine, frozen=True, kw_only=True, tag="began"):
    """The recorder began a segment. What is there follows, up to ``Complete``, and then what changes."""

    format: int = FORMAT
    version: str = ""
    """Of vsched."""
    schedulers: tuple[str, ...] = ()
    """The ``spec.schedulerName`` of the pods that are recorded."""
    anonymous: bool = False
    after: float = 0.0
    """When the recorder saw the cluster last before that, so nothing is known of the time since; 0 where it saw it all
    the time, or never before."""


class Complete(WorkLine, frozen=True, kw_only=True, tag="complete"):
    """All that is there was said since ``Began``; what was known before and was not said is gone."""


class Ended(WorkLine, frozen=True, kw_only=True, tag="ended"):
    """The recorder ended in order."""


class NodeThere(WorkLine, frozen=True, kw_only=True, tag="node"):
    """A node is there, or is another than it was."""

    name: str
    has: Requests
    """Its allocatable amounts."""
    labels: Mapping[str, str] = {}
    """Those of ``NODE_LABELS`` that it has."""
    open: bool = True
    """False where it is cordoned."""


class NodeGone(WorkLine, frozen=True, kw_only=True, tag="node-gone"):
    """A node is gone."""

    name: str


class QueueThere(WorkLine, frozen=True, kw_only=True, tag="queue"):
    """A queue is there, or is another than it was."""

    name: str
    parent: str = ""
    weight: int = 1
    priority: int = 0
    reclaimable: bool = True
    capability: Requests = {}
    deserved: Requests = {}
    guarantee: Requests = {}


class QueueGone(WorkLine, frozen=True, kw_only=True, tag="queue-gone"):
    """A queue is gone."""

    name: str


class JobThere(WorkLine, frozen=True, kw_only=True, tag="job"):
    """A job is there, or is another than it was."""

    id: str
    namespace: str
    name: str
    queue: str
    created: float = 0.0
    min_member: int = 0
    roles: Mapping[str, int] = {}
    """The minimum of each role that has one."""
    priority: int = 0
    user: str = ""
    made_for: str = ""
    """The kind of workload that it was found by, as ``JobSet``."""
    expected: float = 0.0
    """Its stated run time, seconds; 0 where it states none."""


class JobGone(WorkLine, frozen=True, kw_only=True, tag="job-gone"):
    """A job is gone, with its pods."""

    id: str


class PodThere(WorkLine, frozen=True, kw_only=True, tag="pod"):
    """A pod of a job is there."""

    id: str
    job: str
    created: float = 0.0
    role: str = ""
    asks: Requests = {}
    expected: float = 0.0
    """Its own stated run time, seconds; 0 where it states none."""
    returns: bool = False
    """Whether it belongs to its node, as the pods of DaemonSets."""
    selector: Mapping[str, str] = {}
    """What its ``nodeSelector`` says of ``NODE_LABELS``."""
    ruled: bool = False
    """Whether other selectors, affinity, spread, ports, volumes or devices say more about its node than that."""


class PodBound(WorkLine, frozen=True, kw_only=True, tag="bound"):
    """A pod has a node."""

    id: str
    node: str
    by: str = ""
    """The scheduler that it names; empty where the trace has one alone."""
    unseen: bool = False
    """Whether it had its node when it was first seen, so that the time of the binding is not known."""


class PodStarted(WorkLine, frozen=True, kw_only=True, tag="started"):
    """A pod runs, since ``at``."""

    id: str


class PodEnded(WorkLine, frozen=True, kw_only=True, tag="over"):
    """A pod has ended, or is gone."""

    id: str
    how: str


AnyLine = (
    Began
    | Complete
    | Ended
    | NodeThere
    | NodeGone
    | QueueThere
    | QueueGone
    | JobThere
    | JobGone
    | PodThere
    | PodBound
    | PodStarted
    | PodEnded
)

NODE_LABELS = (
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/zone",
    "nvidia.com/gpu.product",
    "cloud.google.com/gke-accelerator",
    "vsched.io/gpu-model",
)
"""The labels of nodes that are recorded: what kind of machine it is, and where."""
