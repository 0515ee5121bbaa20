"""The records of a menu. They are frozen; programs get them as JSON."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import msgspec

from vsched.explain.edits.nodes import AddNodes, AddPoolNodes, PoolNode
from vsched.explain.menu import words
from vsched.explain.records import Change, Estimate


class MenuAnswer(StrEnum):
    """Whether something of one kind would start the gang."""

    ENOUGH = "enough"
    NO = "no"
    UNKNOWN = "unknown"
    """The time was over before it was known."""


class OfferedPool(NamedTuple):
    """Nodes of one kind that could be added."""

    name: str
    source: str
    """``file``, ``NodePool`` (of Karpenter) or ``node`` (nodes like one there is)."""
    nodes: tuple[PoolNode, ...] = ()
    """What its nodes are like, one for each zone; empty where ``like`` names a node."""
    like: str = ""
    """The node that its nodes are like; empty where ``nodes`` tells it."""
    room: int | None = None
    """How many more it may have; None for no limit that is known."""
    price: float | None = None
    """The price of one node, in the unit of the file; None where it is not known."""
    delay_seconds: float = 0.0
    """From the decision until a node is there, as far as the pool says."""
    problem: str = ""
    """Why no nodes of it can be offered; empty where they can."""

    @property
    def title(self) -> str:
        """The pool in words."""
        return words.like_node(self.like) if self.source == "node" else words.of_pool(self.name)

    def edit(self, count: int) -> AddNodes | AddPoolNodes:
        """The edit that adds so many of its nodes."""
        return AddNodes(self.like, count) if self.like else AddPoolNodes(self.name, self.nodes, count)


class NodesOfPool(msgspec.Struct, frozen=True):
    """A number of nodes of one pool."""

    pool: str
    source: str
    count: int
    price_of_one: float | None = None


class NodesOffer(msgspec.Struct, frozen=True):
    """A number of nodes that would start the gang; one node less would not."""

    message: str
    """``8 more of pool h100 would start it``."""
    pool: str
    """The name of the pool, or of the node that they are like."""
    source: str
    """``file``, ``NodePool`` or ``node``."""
    count: int
    alone: int
    """How many of them would be enough if no other job wanted them: those that go before it take new nodes first."""
    price: float | None = None
    """Of all of them, those of other pools included; None where it is not known."""
    price_of_one: float | None = None
    delay_seconds: float = 0.0
    """From the decision until they are there, as far as the pool says."""
    quota: Change | None = None
    """What else it needs; None where the nodes alone are enough."""
    besides: tuple[NodesOfPool, ...] = ()
    """Nodes of other pools that it needs as well, where those of no single pool would start it."""


class NodesPart(msgspec.Struct, frozen=True):
    """What nodes would do."""

    answer: MenuAnswer
    message: str
    offers: tuple[NodesOffer, ...] = ()
    """The cheapest first, those without a price last."""
    refused: dict[str, str] = {}
    """Pools that would not start it, or cannot have more nodes, with the reason."""


class QuotaPart(msgspec.Struct, frozen=True):
    """What more quota would do: limits and shares of queues and namespaces."""

    answer: MenuAnswer
    message: str
    changes: tuple[Change, ...] = ()


class WaitingPart(msgspec.Struct, frozen=True):
    """What waiting would do."""

    answer: MenuAnswer
    message: str
    start: Estimate


class VictimJob(msgspec.Struct, frozen=True):
    """A job that would lose its places."""

    job: str
    queue: str
    priority: int
    pods: int
    """How many of its pods would go; of a job that waits, how many would have started now."""
    runs: bool
    """Whether it runs now; else it has its places in this session, and would wait."""


class WorkPart(msgspec.Struct, frozen=True):
    """Whose work would have to go."""

    answer: MenuAnswer
    message: str
    jobs: tuple[VictimJob, ...] = ()
    change: Change | None = None
    """What would make the scheduler evict them; None where they have to end, or be deleted."""


class Menu(msgspec.Struct, frozen=True):
    """What could start one waiting gang."""

    job: str
    queue: str
    priority: int
    minimum: int
    ready: int
    pending: int
    code: str
    """Why it waits, as a code."""
    message: str
    """Why it waits, as a sentence."""
    nodes: NodesPart
    quota: QuotaPart
    waiting: WaitingPart
    work: WorkPart
    other: tuple[Change, ...] = ()
    """The smallest other changes that would let it start, where nothing above would."""
    note: str = ""
    """What has to be said of all of it; empty for nothing."""
    called: str = ""
    """How people know the job."""
