"""Chooses a node for one more task of a job or sub-group that has to be close together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice

from vsched.actions.places import TRIES_MAX
from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.nodes.selection import Choice
from vsched.framework.places import words
from vsched.framework.places.look import TierLook
from vsched.framework.places.places import REASON
from vsched.framework.places.pods_by_domain import PodsByDomain
from vsched.framework.refusal import Refusal
from vsched.framework.session import Session
from vsched.framework.subgroups import AnyGroup
from vsched.model.pods.task import Task
from vsched.model.topology.constraints import NetworkTopology


def choose_close(
    session: Session, job: JobView, tasks: Sequence[Task], pick: Callable[[], Choice | None]
) -> Choice | Refusal | None:
    """The choice of ``pick`` for the first of these tasks, where it may be; None where it finds no node at all.

    Of a job or sub-group without pods on nodes, the domain should have room for all of its tasks. A refusal where
    closeness is asked for and no allowed domain will do.
    """
    groups = job.sub_groups
    around: tuple[AnyGroup, ...] = ()
    if groups is not None:
        group = groups.of(tasks[0])
        around = (*groups.path(group), group)

    def choose(tasks: Sequence[Task], inner: tuple[AnyGroup, ...]) -> Choice | Refusal | None:
        """The choice inside the domains of these groups, the outermost first."""
        if groups is None or not inner:
            return pick()
        group, *more = inner
        if group.topology is None:
            return choose(tasks, tuple(more))
        own = [task for task in tasks if group is groups.of(task) or group in groups.path(groups.of(task))]
        pods_by_domain = session.places.pods_by_domain(job, group.topology, group)
        return _choose_in(session, group.topology, pods_by_domain, own, lambda: choose(own, tuple(more)))

    topology = job.spec.topology
    if topology is None:
        return choose(tasks, around)
    return _choose_in(
        session, topology, session.places.pods_by_domain(job, topology), tasks, lambda: choose(tasks, around)
    )


def _choose_in(
    session: Session,
    topology: NetworkTopology,
    pods_by_domain: PodsByDomain,
    tasks: Sequence[Task],
    pick: Callable[[], Choice | Refusal | None],
) -> Choice | Refusal | None:
    places, selection = session.places, session.node_selection
    reach = places.reach(topology, pods_by_domain)
    if isinstance(reach, Refusal):
        return reach
    looks: list[TierLook] = []
    for wanted in dict.fromkeys((len(tasks), 1)):
        task_set = places.task_set(tasks, wanted)
        looks.clear()
        for at, (tier, domain) in enumerate(reach):
            looks.append(places.look(task_set, tier, domain, pods_by_domain.inside(at)))
            for one in islice(looks[-1].domains(places.grouping(tier), selection.restricted_to), TRIES_MAX):
                with selection.within(one.rows, places.near_scores(topology, pods_by_domain)):
                    choice = pick()
                if isinstance(choice, Choice):
                    return choice
    if reach[-1][0] is places.tiers.tiers[-1]:
        return None
    return Refusal(REASON, words.no_domain(looks, places.tiers, ""), code=Code.TOPOLOGY)
