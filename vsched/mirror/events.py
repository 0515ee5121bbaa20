"""What the mirror tells of, for those who want to hear of it."""

from __future__ import annotations

from collections.abc import Callable

from vsched.handlers import Handlers
from vsched.model.jobs.native import QueueMember
from vsched.model.pods.task import Task


class MirrorEvents:
    """What the mirror tells of; whoever wants to hear of it is added to the handlers."""

    def __init__(
        self, on_change: Callable[[], None] = lambda: None, on_calm_change: Callable[[], None] | None = None
    ) -> None:
        self.on_change = on_change
        """Called after changes that can matter to scheduling. It must return at once."""
        self.on_calm_change = on_calm_change or on_change
        """Called after changes that no decision follows from, and that are to be told."""
        self.on_member: Handlers[[QueueMember]] = Handlers()
        """Called with the queue of a job without a PodGroup of Volcano that is new, has changed, or is gone."""
        self.on_gang: Handlers[[str]] = Handlers()
        """Called with the key of an implicit PodGroup whose pods' owners say something new about it."""
        self.on_regathered: Handlers[[str]] = Handlers()
        """Called with the uid of a pod that belongs to another gang now."""
        self.on_arrival: Handlers[[str]] = Handlers()
        """Called with the uid of a pod with an assumed binding, once the watch shows its outcome."""
        self.on_foreign: Handlers[[Task]] = Handlers()
        """Called with a pod of ours that another scheduler has bound."""
        self.on_claim: Handlers[[str]] = Handlers()
        """Called with ``namespace/name`` of a PersistentVolumeClaim or a ResourceClaim that has changed or is gone."""
