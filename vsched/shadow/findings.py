"""What a comparison finds, in the order in which it finds it: records that are logged one a line, and added up.

``there`` is the scheduler in charge, ``here`` the candidate.
"""

from __future__ import annotations

from typing import Literal

import msgspec

ALIKE_SECONDS = 2.0
"""A gang that starts there so soon after it would have started here starts alike: a decision takes its time."""

Verdict = Literal["later", "alike", "waits-here", "unseen"]
"""How a start there compares: here it would have started sooner, or as soon, or would not have started; or it was not
seen waiting in the state in which it started."""


class _Finding(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="kind"):
    at: float
    """When it was found."""


class ShadowBegan(_Finding, frozen=True, tag="began"):
    """The comparison began, went on after a break, or has another candidate policy."""

    schedulers: tuple[str, ...] = ()
    """Whose pods it is about, by ``spec.schedulerName``."""
    policy: str = ""
    """The hash of the candidate policy."""
    version: str = ""


class WouldStart(_Finding, frozen=True, tag="would-start"):
    """A gang that waits there would start here now, for the first time since it waits."""

    job: str
    queue: str
    minimum: int
    created: float
    """When its PodGroup was created; with ``job`` it says which one it is."""


class Started(_Finding, frozen=True, tag="started"):
    """A gang that waited there has its minimum of pods on nodes."""

    job: str
    queue: str
    minimum: int
    since: float
    """Since when it was seen waiting."""
    decided: float = 0.0
    """When it would have started here first; 0 where it would not have."""
    code: str = ""
    """Why it waited here until then, where it did; empty where that was not seen."""
    message: str = ""

    @property
    def later_seconds(self) -> float:
        """How much later it started there; 0 where it would not have started here."""
        return self.at - self.decided if self.decided else 0.0

    @property
    def verdict(self) -> Verdict:
        if self.decided:
            return "later" if self.later_seconds > ALIKE_SECONDS else "alike"
        return "waits-here" if self.code else "unseen"


class StoppedWaiting(_Finding, frozen=True, tag="stopped-waiting"):
    """A gang that would have started here waits no more there and has not started, or that was not seen."""

    job: str


class WouldEvict(_Finding, frozen=True, tag="would-evict"):
    """Pods of a gang that run there would be evicted here."""

    job: str
    pods: int
    action: str
    beneficiary: str


class Evicted(_Finding, frozen=True, tag="evicted"):
    """What became of a pod's eviction there within the bound; ``at`` is the end of it."""

    job: str
    pod: str
    node: str
    since: float
    """When the eviction was seen."""
    used: bool
    """Whether a gang that waited then has started with a pod on this node."""
    back: bool
    """Whether a pod of the victim's gang came back on some node."""

    @property
    def in_vain(self) -> bool:
        return self.back and not self.used


class Partial(_Finding, frozen=True, tag="partial"):
    """A gang held nodes there without its minimum for longer than the bound, until ``at``."""

    job: str
    queue: str
    since: float
    pods: int
    """The most pods that it had on nodes."""
    minimum: int


class QueueShare(msgspec.Struct, frozen=True, omit_defaults=True):
    """A queue in an interval."""

    seconds: float
    """How long it was seen."""
    share_seconds: float
    """Its dominant share of what it deserves by the candidate policy, times seconds."""
    short_seconds: float = 0.0
    """How long it asked for more, and held less than it deserves of everything that it asked for."""

    def plus(self, other: QueueShare) -> QueueShare:
        return QueueShare(
            self.seconds + other.seconds,
            self.share_seconds + other.share_seconds,
            self.short_seconds + other.short_seconds,
        )


class Interval(_Finding, frozen=True, tag="interval"):
    """Sums over the time from ``since`` to ``at``, all of which was seen."""

    since: float
    idle: dict[str, float] = {}
    """Node-seconds by resource: what pods that would have started here asked for, as parts of the idle nodes."""
    queues: dict[str, QueueShare] = {}


Finding = ShadowBegan | WouldStart | Started | StoppedWaiting | WouldEvict | Evicted | Partial | Interval
