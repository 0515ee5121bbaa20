"""The tree of hierarchical fairness: the order of queues, what may be taken back, and whole cycles by it."""

from __future__ import annotations

import pytest

from tests.support.plans import Plan, plan, policy_of
from tests.support.small import SmallCluster
from vsched.framework.combine.agreeing import Agreement
from vsched.framework.points.extension import NoArgs
from vsched.framework.points.victims import Purpose
from vsched.model.pods.status import Phase, Status
from vsched.model.queues.queue import Queue
from vsched.plugins.drf import Drf
from vsched.plugins.queues.hierarchy import path_of

BY_HIERARCHY = policy_of("priority gang", "drf predicates nodeorder", enableHierarchy=True)


def annotated(path: str, weights: str) -> tuple[tuple[str, str], ...]:
    return (("volcano.sh/hierarchy", path), ("volcano.sh/hierarchy-weights", weights))


@pytest.mark.parametrize(
    ("queue", "path"),
    [
        pytest.param(
            Queue("q", annotations=annotated("root/a/b", "1/2/3.5")), [("a", 2.0), ("b", 3.5)], id="below the root"
        ),
        pytest.param(
            Queue("q", annotations=annotated("root/a/b", "1/2")), [("a", 2.0), ("b", 1.0)], id="too few weights"
        ),
        pytest.param(Queue("q", annotations=annotated("root/a", "1/2/3")), [("a", 2.0)], id="too many weights"),
        pytest.param(
            Queue("q", annotations=annotated("root/a/b/c/d/e", "1/x/0.5/-1/inf/nan")),
            [(name, 1.0) for name in "abcde"],
            id="weights that are no numbers, or less than one",
        ),
        pytest.param(
            Queue("q", annotations=annotated("root/a/b", "1/1e19/1e400")),
            [("a", 1e18), ("b", 1e18)],
            id="weights beyond all measure count as the most there is",
        ),
        pytest.param(Queue("q", weight=4), [("q", 4.0)], id="a queue that names no place"),
        pytest.param(Queue("q", weight=4, annotations=annotated("root", "1")), [("q", 4.0)], id="nothing but the root"),
    ],
)
def test_where_a_queue_hangs(queue: Queue, path: list[tuple[str, float]]) -> None:
    assert path_of(queue) == path


# -- the order of queues --------------------------------------------------------------------------------------------


class World:
    """Ten cores and ten GiB; queues by path and weights, each with one job of one-core pods."""

    def __init__(self) -> None:
        self.cluster = SmallCluster().node("n1", cpu=10_000, memory=10 << 30)
        del self.cluster.queues["default"]

    def queue(self, name: str, path: str, weights: str = "", holds: int = 0, wants: int = 5) -> World:
        self.cluster.queue(name, annotations=annotated(path, weights))
        shape = self.cluster.shape(cpu=1000, memory=0)
        job = self.cluster.running(name, holds, shape=shape, queue=name)
        for number in range(wants):
            self.cluster.task(job, f"{name}-wanted-{number}", shape)
        return self

    def order(self) -> str:
        plugin = self.cluster.opened(Drf(NoArgs()), hierarchy=True)
        return "".join(
            sorted(self.cluster.queues, key=lambda name: (plugin.queue_key(self.cluster.queues[name]), name))
        )


@pytest.mark.parametrize(
    ("world", "order"),
    [
        pytest.param(World().queue("p", "root/p", holds=2).queue("q", "root/q", holds=1), "qp", id="the smaller share"),
        pytest.param(
            World().queue("p", "root/p", "1/3", holds=2).queue("q", "root/q", "1/1", holds=1),
            "pq",
            id="the smaller share for its weight",
        ),
        pytest.param(
            World().queue("p", "root/p", holds=2).queue("q", "root/q", holds=1, wants=0),
            "pq",
            id="who has all it asks for comes last",
        ),
        pytest.param(
            World().queue("p", "root/a/p", holds=1).queue("q", "root/a/q", holds=3).queue("r", "root/b/r", holds=4),
            "pqr",
            id="a group whose smallest member has least, as if all its members had as much as that one",
        ),
        pytest.param(
            World()
            .queue("p", "root/a/p", holds=1, wants=0)
            .queue("q", "root/a/q", holds=3)
            .queue("r", "root/r", holds=3),
            "rqp",
            id="what a member has that wants no more counts whole, and it comes last within its group",
        ),
        pytest.param(
            World().queue("p", "root/a/p").queue("q", "root/a").queue("r", "root/a/r", holds=1),
            "qpr",
            id="a queue may be a group: where it is equal to one of its members it goes first",
        ),
    ],
)
def test_the_order_of_queues(world: World, order: str) -> None:
    assert world.order() == order


def test_without_the_switch_queues_are_equal_and_nothing_is_taken_back() -> None:
    world = World().queue("p", "root/p", holds=2).queue("q", "root/q", holds=1)
    plugin = world.cluster.opened(Drf(NoArgs()))
    keys = {plugin.queue_key(queue) for queue in world.cluster.queues.values()}
    reclaimer = next(iter(world.cluster.jobs["ns/q"].tasks.values()))

    assert len(keys) == 1
    assert plugin.victim_votes(reclaimer, Purpose.RECLAIM) is None


def test_a_job_that_waits_for_admission_without_pods_puts_its_queue_before_those_that_have_enough() -> None:
    world = World().queue("p", "root/p", holds=1, wants=0).queue("q", "root/q", wants=0)
    world.cluster.job("waits", 0, queue="q", phase=Phase.PENDING)

    assert world.order() == "qp"


# -- what may be taken back -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("world", "victims"),
    [
        pytest.param(
            World().queue("mine", "root/mine").queue("p", "root/p", holds=4), 4, id="each by itself while p has more"
        ),
        pytest.param(
            World().queue("mine", "root/mine", holds=2).queue("p", "root/p", holds=4), 0, id="not to become equal"
        ),
        pytest.param(
            World().queue("mine", "root/mine", "1/2", holds=2).queue("p", "root/p", "1/1", holds=4),
            4,
            id="three for a weight of two are less than three for one",
        ),
        pytest.param(
            World().queue("mine", "root/a/mine").queue("mate", "root/a/mate", holds=1).queue("p", "root/p", holds=4),
            4,
            id="not of a queue of the same group that would have nothing, but of a group that has more",
        ),
        pytest.param(
            World().queue("mine", "root/a").queue("p", "root/a/p", holds=4),
            0,
            id="none where one path leads to the other",
        ),
    ],
)
def test_what_a_queue_may_take_back(world: World, victims: int) -> None:
    jobs = world.cluster.jobs
    reclaimer = next(task for task in jobs["ns/mine"].tasks.values() if task.status is Status.PENDING)
    candidates = [
        task
        for job in jobs.values()
        for task in job.tasks.values()
        if job.key != "ns/mine" and task.status is Status.RUNNING
    ]
    plugin = world.cluster.opened(Drf(NoArgs()), hierarchy=True)

    for _ in "again":
        votes = plugin.victim_votes(reclaimer, Purpose.RECLAIM)
        assert votes is not None
        assert [task.job for task in votes.agreed(candidates) or ()] == ["ns/p"] * victims


@pytest.mark.parametrize(("hierarchy", "classes"), [(True, 2), (False, 1)], ids=["with hierarchy", "without"])
def test_reclaimers_of_different_jobs_differ_where_there_is_a_tree(hierarchy: bool, classes: int) -> None:
    world = World().queue("p", "root/p").queue("q", "root/q")
    plugin = world.cluster.opened(Drf(NoArgs()), hierarchy=hierarchy)
    agreement = Agreement([[plugin]], Purpose.RECLAIM)
    reclaimers = [next(iter(job.tasks.values())) for job in world.cluster.jobs.values()]

    assert len({agreement.class_of(task) for task in reclaimers}) == classes
    assert plugin.queues_move_together() is hierarchy


# -- whole cycles ---------------------------------------------------------------------------------------------------


def held(found: Plan) -> dict[str, tuple[int, int]]:
    """Cores and GiB of memory by queue."""
    return {
        name: (found.held(name).get("cpu", 0) // 1000, found.held(name).get("memory", 0) >> 30)
        for name in found.queues
        if name != "default"
    }


def test_groups_are_scaled_so_that_one_with_two_kinds_of_work_is_not_charged_twice() -> None:
    found = plan(
        """
        node n1 cpu=10 memory=10Gi pods=1000
        queue sci hierarchy=root/sci weights=100/50
        queue dev hierarchy=root/eng/dev weights=100/50/50
        queue prod hierarchy=root/eng/prod weights=100/50/50
        job ns/pg1 queue=sci pods=10 cpu=1 memory=1Gi
        job ns/pg21 queue=dev pods=10 cpu=1
        job ns/pg22 queue=prod pods=10 memory=1Gi
        """,
        BY_HIERARCHY,
    )

    assert held(found) == {"sci": (5, 5), "dev": (5, 0), "prod": (0, 5)}


def test_what_one_queue_of_a_group_is_given_puts_the_others_of_the_group_back_at_once() -> None:
    found = plan(
        """
        node n1 cpu=3
        queue q1 hierarchy=root/a/q1
        queue q2 hierarchy=root/a/q2
        queue q3 hierarchy=root/b/q3
        job ns/j1 queue=q1 pods=3 cpu=1 age=3
        job ns/j2 queue=q2 pods=3 cpu=1 age=2
        job ns/j3 queue=q3 pods=3 cpu=1 age=1
        """,
        BY_HIERARCHY,
    )

    assert found.order == ["j1.0", "j3.0", "j2.0"]


def test_a_member_that_can_get_no_more_does_not_hold_its_group_back() -> None:
    found = plan(
        """
        node n1 cpu=30 memory=30Gi pods=1000
        queue q1 hierarchy=root/pg1 weights=100/25
        queue q2 hierarchy=root/pg2 weights=100/25
        queue q31 hierarchy=root/pg3/pg31 weights=100/25/50
        queue q32 hierarchy=root/pg3/pg32 weights=100/25/50
        queue q4 hierarchy=root/pg4 weights=100/25
        job ns/pg1 queue=q1 pods=30 cpu=1
        job ns/pg2 queue=q2 pods=30 cpu=1
        job ns/pg31 queue=q31 pods=30 cpu=1
        job ns/pg32 queue=q32 pods=30 memory=1Gi
        job ns/pg4 queue=q4 pods=30 memory=1Gi
        """,
        BY_HIERARCHY,
    )

    assert held(found) == {
        "q1": (10, 0),
        "q2": (10, 0),
        "q31": (10, 0),
        "q32": (0, 15),
        "q4": (0, 15),
    }
