"""The plugins that filter and score nodes, by extension point."""

from __future__ import annotations

from collections.abc import Sequence

from vsched.framework.points.nodes import NodeFilter, NodeScore, QueuePlacement, QueuePreference, TaskScore


class NodePlugins:
    """The plugins that filter and score nodes for tasks. Requests are compared with amounts on nodes elsewhere."""

    def __init__(
        self,
        filters: Sequence[NodeFilter] = (),
        scorers: Sequence[NodeScore] = (),
        placements: Sequence[QueuePlacement] = (),
        preferences: Sequence[QueuePreference] = (),
        task_scorers: Sequence[TaskScore] = (),
    ) -> None:
        self.filters, self.scorers, self.task_scorers = filters, scorers, task_scorers
        self.placements, self.preferences = placements, preferences
        self.relative = [one for one in scorers if type(one).is_relative is not NodeScore.is_relative]
        """Scorers whose scores may be relative to the candidates."""
        self.by_queue = bool(placements or preferences)
        """Whether the queue of a task counts."""
        self.by_nodes_alone = (
            not self.by_queue
            and all(one.by_nodes_alone for one in filters)
            and all(one.by_nodes_alone for one in scorers)
        )
        """Whether static checks and scores of a shape follow from the nodes alone."""
