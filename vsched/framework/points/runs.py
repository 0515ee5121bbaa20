"""Extension points about the runs of jobs: which jobs may start."""

from __future__ import annotations

from abc import abstractmethod

from vsched.framework.jobs import JobView
from vsched.framework.points.plugin import Point
from vsched.framework.refusal import Refusal


class StartLimit(Point):
    """Whether a job that holds no node may start, whatever room there is. All plugins must agree. Has no switch.

    It is asked again before each try, because starts change the answer. Jobs that hold a node are never refused.
    """

    point = ""

    @abstractmethod
    def start_limit(self, job: JobView, *, admitting: bool = False) -> Refusal | None:
        """None where the job may start. With ``admitting``, jobs that were admitted count as running."""
