"""A small registry of Volcano's most used plugins: their arguments and extension points, without what they decide."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import pytest

from vsched.framework.points.extension import (
    Allocatable,
    JobEnqueueable,
    JobOrder,
    JobReady,
    JobValid,
    NoArgs,
    Plugin,
    QueueOrder,
    TaskOrder,
)
from vsched.framework.points.nodes import NodeFilter, NodeScore
from vsched.framework.points.victims import Preemptable
from vsched.framework.policy import Seconds
from vsched.framework.registry import Action, Registry
from vsched.settings.built_in import REGISTRY

Percent = Annotated[int, msgspec.Meta(ge=0, le=100)]


class Priority(Plugin[NoArgs], TaskOrder, JobOrder, Preemptable):
    name = "priority"


class Gang(Plugin[NoArgs], JobValid, JobOrder, JobReady, Preemptable):
    name = "gang"


class Conformance(Plugin[NoArgs], Preemptable):
    name = "conformance"


class OvercommitArgs(msgspec.Struct, frozen=True):
    factor: float = msgspec.field(default=1.2, name="overcommit-factor")

    def normalised(self) -> OvercommitArgs:
        return self if self.factor >= 1 else OvercommitArgs()


class Overcommit(Plugin[OvercommitArgs], JobEnqueueable):
    name = "overcommit"
    args_type = OvercommitArgs


class Drf(Plugin[NoArgs], JobOrder, QueueOrder, Preemptable):
    name = "drf"


class PredicatesArgs(msgspec.Struct, frozen=True):
    cache: bool = msgspec.field(default=False, name="predicate.CacheEnable")
    node_affinity: bool = msgspec.field(default=True, name="predicate.NodeAffinityEnable")
    dra: bool = msgspec.field(default=True, name="predicate.DynamicResourceAllocationEnable")


class Predicates(Plugin[PredicatesArgs], NodeFilter):
    name = "predicates"
    args_type = PredicatesArgs


class Proportion(Plugin[NoArgs], QueueOrder, Allocatable):
    name = "proportion"


class NodeorderArgs(msgspec.Struct, frozen=True):
    least_requested: Annotated[int, msgspec.Meta(ge=0)] = msgspec.field(default=1, name="leastrequested.weight")


class Nodeorder(Plugin[NodeorderArgs], NodeScore):
    name = "nodeorder"
    args_type = NodeorderArgs


class BinpackArgs(msgspec.Struct, frozen=True):
    weight: int = msgspec.field(default=1, name="binpack.weight")
    cpu: int = msgspec.field(default=1, name="binpack.cpu")
    memory: int = msgspec.field(default=1, name="binpack.memory")
    listed: tuple[str, ...] = msgspec.field(default=(), name="binpack.resources")
    resources: dict[str, int] = msgspec.field(default_factory=dict, name="binpack.resources.*")

    def normalised(self) -> BinpackArgs:
        unlisted = next((name for name in self.resources if name not in self.listed), None)
        if unlisted is not None:
            raise ValueError(f"binpack.resources.{unlisted}: not in binpack.resources")
        return msgspec.structs.replace(
            self,
            weight=1 if self.weight < 0 else self.weight,
            resources={name: 1 if weight < 0 else weight for name, weight in self.resources.items()},
        )


class Binpack(Plugin[BinpackArgs], NodeScore):
    name = "binpack"
    args_type = BinpackArgs


class Thresholds(msgspec.Struct, frozen=True):
    cpu: Percent = 80
    mem: Percent = 80


class Strategy(msgspec.Struct, frozen=True):
    name: str
    params: dict[str, float] = {}


class Fit(msgspec.Struct, frozen=True):
    type: str = "LeastAllocated"
    weight: int = 1


class UsageArgs(msgspec.Struct, frozen=True):
    """Every shape that arguments take: nested, lists, families within families, times, alternatives."""

    weight: int = msgspec.field(default=5, name="usage.weight")
    cpu: int = msgspec.field(default=1, name="cpu.weight")
    memory: int = msgspec.field(default=1, name="memory.weight")
    thresholds: Thresholds = Thresholds()
    interval: Seconds = 300.0
    patience: Seconds | None = None
    be_cpu: int | str = "250m"
    strategies: tuple[Strategy, ...] = ()
    resources: dict[str, Fit] = {}
    anything: Any = None


class Usage(Plugin[UsageArgs], NodeFilter, NodeScore):
    name = "usage"
    args_type = UsageArgs


class QueueScoreArgs(msgspec.Struct, frozen=True):
    enabled: bool = msgspec.field(default=False, name="QueueScoreOrderEnable")
    weights: dict[str, float] = msgspec.field(default_factory=dict, name="QueueScoreOrder.*.weight")
    across_queues: bool = msgspec.field(default=False, name="JobOrderAcrossQueues")


def _act(session: Any) -> None:
    """What an action does is of no interest here."""


CORE = (Priority, Gang, Conformance, Overcommit, Drf, Predicates, Proportion, Nodeorder, Binpack)
ACTIONS = (Action("enqueue", _act, QueueScoreArgs), Action("allocate", _act, QueueScoreArgs), Action("backfill", _act))


@pytest.fixture(scope="session")
def registry() -> Registry:
    """Without usage, reclaim, preempt and others that the field knows."""
    return Registry.of(CORE, ACTIONS)


@pytest.fixture(scope="session")
def later() -> Registry:
    """With usage and reclaim."""
    return Registry.of((*CORE, Usage), (*ACTIONS, Action("reclaim", _act, QueueScoreArgs)))


@pytest.fixture(scope="session")
def built() -> Registry:
    """What this build really has."""
    return REGISTRY
