"""Extension points about jobs: whether they are valid, admitted and ready, and whether they may evict others."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from enum import IntEnum
from typing import ClassVar

from vsched.framework.jobs import JobView
from vsched.framework.points.plugin import Point
from vsched.framework.refusal import Refusal
from vsched.model.jobs.spec import Condition


class Vote(IntEnum):
    """The answer of one plugin where plugins vote."""

    REJECT = -1
    ABSTAIN = 0
    PERMIT = 1


class JobValid(Point):
    """Whether a job is valid, so that actions may work on it. Has no switch."""

    point = ""
    by_job_alone: ClassVar[bool] = False
    """Whether it follows from the spec and the pods of a job that it is valid."""

    @abstractmethod
    def job_valid(self, job: JobView) -> Refusal | None:
        """None where the job is valid; the first refusal decides."""


class JobCondition(Point):
    """The condition of the PodGroup at the end of the cycle; the first answer decides. Has no switch."""

    point = ""
    by_job_alone: ClassVar[bool] = False
    """Whether the answer follows from the job, its phase, and what snapshots say of it in ``foreign``."""

    @abstractmethod
    def job_condition(self, job: JobView) -> Condition | None:
        """The condition to write; None where the plugin has none."""


class JobJudge:
    """What plugins with ``JobReady``, ``JobPipelined`` or ``JobStarving`` have in common."""

    by_job_alone: ClassVar[bool] = False
    """Whether the class of a job none of whose pods has a node follows from its spec and its pods."""

    def job_class(self, job: JobView) -> Hashable:
        """What affects the answers about a job none of whose pods has a node, besides its spec and its pods.

        Names, ages and conditions of job and pods count as none of these. Jobs of one kind share answers if
        their classes are equal too: where one is refused, the others are not tried. By default all classes differ.
        """
        return job.key


class JobReady(JobJudge, Point):
    """Whether the placements of a job may be bound; all plugins must agree."""

    point = "job_ready"

    @abstractmethod
    def job_ready(self, job: JobView) -> bool:
        """True where the job's minimum is met."""

    def tasks_missing(self, job: JobView) -> int:
        """A lower bound on the tasks to place before ``job_ready`` can be true; 0 where none is known."""
        return 0


class JobPipelined(JobJudge, Point):
    """Whether the placements of a job, pipelined ones included, may be kept for the session; plugins vote."""

    point = "job_pipelined"

    @abstractmethod
    def job_pipelined(self, job: JobView) -> Vote:
        """Reject, abstain or permit."""


class JobStarving(JobJudge, Point):
    """Whether a job may evict others to get room; all plugins of the first tier with this point must agree."""

    point = "job_starving"

    @abstractmethod
    def job_starving(self, job: JobView) -> bool:
        """True where the job is entitled to more."""


class JobEnqueueable(Point):
    """Whether a waiting job is admitted; plugins vote."""

    point = "job_enqueued"
    asks_outside: ClassVar[bool] = False
    """Whether the plugin calls an external service for the answer; it must be called only once per job then."""
    by_request_alone: ClassVar[bool] = False
    """Whether jobs without claims get equal answers as long as no other job is admitted, if they have the same queue,
    namespace and ``minResources``, and if quotas count the same of their minimum and of their pods."""

    @abstractmethod
    def job_enqueueable(self, job: JobView) -> Vote | Refusal:
        """Permit, abstain, or a refusal that says why (counts as a reject)."""


class JobEnqueued(Point):
    """Called for every job that was admitted."""

    point = "job_enqueued"

    @abstractmethod
    def job_enqueued(self, job: JobView) -> None:
        """Record the admission."""
