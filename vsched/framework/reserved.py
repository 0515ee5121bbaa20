"""The room on nodes that a session reserves: for planned starts, and for gangs with ProvisioningRequests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

from vsched.framework.claims.claims import Claims
from vsched.framework.combine.pluginset import PluginSet
from vsched.framework.jobs import JobView
from vsched.framework.nodes.limited import LimitsOf
from vsched.framework.nodes.planned_room import PlannedRoom
from vsched.framework.nodes.provisioned import ProvisionedRoom
from vsched.framework.points.runs import PlannedStarts
from vsched.framework.policy import Policy
from vsched.model.nodes.table import NodeTable
from vsched.model.pods.task import Task
from vsched.model.snapshot import Snapshot


class ReservedRoom:
    """The reserved room, and the plugin that plans it."""

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
        self.planned: PlannedRoom | None = None
        """The planned starts, and the room that is reserved for them; None without such a plugin."""
        if self.planner is not None:
            planner, jobs, queues = self.planner, snapshot.jobs, snapshot.queues
            longest = policy.longest_runs(queues)

            def ends_by(task: Task) -> float:
                job = jobs[task.job]
                return planner.ends_by(job.spec, task, longest(job))

            limits_of = LimitsOf(queues, jobs)
            self.planned = PlannedRoom(nodes, ends_by, limits_of, claims.has_devices, views, plugins.starts_left)
        self.provisioned = ProvisionedRoom(nodes, snapshot.jobs) if has_provisioned_nodes(snapshot) else None
        """The room that is reserved for gangs with ProvisioningRequests; None where there are none."""

    def lasts_until(self, now: float) -> float:
        """Until when what is planned stays the same, if nothing else changes; infinite where nothing is planned."""
        return inf if self.planned is None else self.planned.lasts_until(now)

    @property
    def reservers(self) -> Sequence[PlannedRoom | ProvisionedRoom]:
        """All that reserve room."""
        return [one for one in (self.planned, self.provisioned) if one is not None]


def has_provisioned_nodes(snapshot: Snapshot) -> bool:
    """Whether nodes of a ProvisioningRequest are reserved for some gang."""
    requests = snapshot.provisioning
    return requests is not None and any(found.kept_until > snapshot.now for found in requests.values())
