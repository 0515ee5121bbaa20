"""What the API server's webhooks are told of vcjobs and of what makes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vsched import api
from vsched.controllers.flows.admission import maker_refusals
from vsched.controllers.vcjobs.changes import forbidden_changes
from vsched.controllers.vcjobs.defaults import defaults_of, with_defaults
from vsched.controllers.vcjobs.read import job_of
from vsched.daemon.words import calls as words
from vsched.mirror.mirror import Mirror
from vsched.model.queues.queue import ROOT

Data = dict[str, Any]


class JobReviews:
    """Reviews by the mirror alone, so standbys can do it, too."""

    def __init__(
        self,
        mirror: Mirror,
        scheduler_names: tuple[str, ...],
        default_queue: str,
        volcano: Callable[[], str],
        ready: Callable[[], str],
    ) -> None:
        """``volcano`` says which of Volcano's controllers are known to run; empty for none."""
        self._mirror = mirror
        self._names = scheduler_names
        self._default_queue = default_queue
        self._volcano = volcano
        self.ready = ready
        """Why nothing can be judged yet; empty where it can."""

    def passes(self, found: api.Object) -> bool:
        """Whether the object is let through as it is: it is for another scheduler, or Volcano looks after it."""
        if self._volcano():
            return True
        return isinstance(found, api.VolcanoJob) and found.spec.scheduler_name not in ("", *self._names)

    def refusals(self, found: api.Object) -> list[str]:
        """What is wrong with a new object, one line each, but for the queue of a vcjob."""
        if isinstance(found, api.VolcanoJob):
            return [*job_of(found).refusals]
        if isinstance(found, api.VolcanoCronJob | api.JobFlow | api.JobTemplate):
            return maker_refusals(found, self._names)
        return []

    def queue_problem(self, found: api.Object) -> str:
        """Why the queue of a new vcjob takes none; empty where it does. The mirror is a moment behind."""
        if not isinstance(found, api.VolcanoJob):
            return ""
        name = job_of(found).queue
        queue = self._mirror.watched_queue(name)
        if queue is None:
            # Where the default queue has no object, it is taken to be there.
            return "" if name == self._default_queue else words.no_queue(name)
        if not queue.open:
            return words.queue_not_open(name, queue.state)
        if name == ROOT or name in self._mirror.parents_of_queues():
            return words.queue_has_children(name)
        return ""

    def changes(self, before: Data, after: Data, were: api.VolcanoJob | None, found: api.VolcanoJob) -> list[str]:
        """What may not be changed of a vcjob, one line each; ``were`` is None where ``before`` cannot be read.

        Nothing is made of a vcjob that cannot be run as it is written, so that one may be changed in any field.
        """
        name = self._names[0]
        if were is not None and not job_of(were).refusals:
            whole = with_defaults(before, defaults_of(were, name)), with_defaults(after, defaults_of(found, name))
            forbidden = forbidden_changes(*(body.get("spec") or {} for body in whole))
            if forbidden:
                return forbidden
        return self.refusals(found)

    def defaults(self, found: api.VolcanoJob) -> list[Data]:
        """The operations of a JSON patch that writes the defaults into a new vcjob."""
        return [default.as_operation() for default in defaults_of(found, self._names[0])]
