"""The room of a session that is reserved: for planned starts, and for gangs that nodes were asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vsched.framework.claims.claims import Claims
from vsched.framework.combine.pluginset import PluginSet
from vsched.framework.jobs import JobView
from vsched.framework.nodes.limited import LimitsOf
from vsched.framework.nodes.planned_room import KeptRoom
from vsched.framework.nodes.provisioned import BookedRoom
from vsched.framework.points.backfilling import PlannedStarts
from vsched.framework.policy import Policy
from vsched.model.nodes.table import NodeTable
from vsched.model.pods.task import Task
from vsched.model.snapshot import Snapshot


class ReservedRoom:
    """Who has room reserved, and who plans it."""

    def __init__(
        self,
        snapshot: Snapshot,
        policy: Policy,
        plugins: PluginSet,
        nodes: NodeTable,
        claims: Claims,
        views: Mapping[str, JobView],
    ) -> None:
        self.planner = next(iter(plugins.taking_part(PlannedStarts)), None)
        """The plugin that plans the starts of jobs without room; None where the policy has none."""
        self.planned: KeptRoom | None = None
        """The planned starts, and the room that is reserved for them; None without such a plugin."""
        if self.planner is not None:
            planner, jobs, queues = self.planner, snapshot.jobs, snapshot.queues
            longest = policy.longest_runs(queues)

            def ends_by(task: Task) -> float:
                job = jobs[task.job]
                return planner.ends_by(job.spec, task, longest(job))

            limits_of = LimitsOf(queues, jobs)
            self.planned = KeptRoom(nodes, ends_by, limits_of, claims.has_devices, views, plugins.starts_left)
        self.booked = BookedRoom(nodes, snapshot.jobs) if keeps_nodes(snapshot) else None
        """The room that is reserved for gangs that nodes were asked for; None where it is for none."""

    @property
    def keepers(self) -> Sequence[KeptRoom | BookedRoom]:
        """Those that keep room from others."""
        return [one for one in (self.planned, self.booked) if one is not None]


def keeps_nodes(snapshot: Snapshot) -> bool:
    """Whether nodes that were asked for are kept for some gang."""
    requests = snapshot.provisioning
    return requests is not None and any(found.kept_until > snapshot.now for found in requests.values())
