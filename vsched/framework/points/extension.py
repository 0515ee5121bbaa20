"""The extension points. A plugin takes part in a decision by inheriting the class of its extension point.

A plugin gets its data in ``open``, and then answers calls. It must not change the cluster, the session or another
plugin. Methods that a plugin must provide are abstract. Orders are sort keys (smaller first), not comparisons.
``framework.combine.pluginset`` combines the answers of several plugins.

Plugins import from here: the classes are in the files beside this one, by what they are about. Those about nodes,
places and victims have modules of their own.
"""

from __future__ import annotations

from vsched.framework.points.jobs import (
    JobCondition,
    JobEnqueueable,
    JobEnqueued,
    JobPipelined,
    JobReady,
    JobStarving,
    JobValid,
    Vote,
)
from vsched.framework.points.listeners import (
    BindAnnotations,
    CycleEnd,
    PlacementListener,
)
from vsched.framework.points.orders import (
    JobOrder,
    NamespaceOrder,
    QueueOrder,
    QueuePart,
    QueueScore,
    SubGroupOrder,
    TaskOrder,
    UserOrder,
)
from vsched.framework.points.plugin import (
    ArgsT,
    JobState,
    NoArgs,
    Plugin,
    Point,
    QueueDivision,
    SessionContext,
    SortKey,
    stated_weights,
    undivided,
)
from vsched.framework.points.queues import (
    Allocatable,
    ClaimLimit,
    DividedBy,
    DivisionWeight,
    NamespaceLimit,
    Overused,
    PastUse,
    Preemptive,
    QueueDivider,
    Reserving,
    StatedLimit,
    UsageMemory,
)

__all__ = [
    "Allocatable",
    "ArgsT",
    "BindAnnotations",
    "ClaimLimit",
    "CycleEnd",
    "DividedBy",
    "DivisionWeight",
    "JobCondition",
    "JobEnqueueable",
    "JobEnqueued",
    "JobOrder",
    "JobPipelined",
    "JobReady",
    "JobStarving",
    "JobState",
    "JobValid",
    "NamespaceLimit",
    "NamespaceOrder",
    "NoArgs",
    "Overused",
    "PastUse",
    "PlacementListener",
    "Plugin",
    "Point",
    "Preemptive",
    "QueueDivider",
    "QueueDivision",
    "QueueOrder",
    "QueuePart",
    "QueueScore",
    "Reserving",
    "SessionContext",
    "SortKey",
    "StatedLimit",
    "SubGroupOrder",
    "TaskOrder",
    "UsageMemory",
    "UserOrder",
    "Vote",
    "stated_weights",
    "undivided",
]
