"""gang and priority: jobs with sub-groups, whom they can spare, which sub-group goes first, what is said of them."""

from __future__ import annotations

import pytest

from tests.support.small import SmallCluster
from tests.support.subgroups import job_of, workers
from tests.support.voting import agreed
from vsched.framework.jobs import JobView
from vsched.framework.points.extension import NoArgs, Vote
from vsched.framework.points.victims import Purpose
from vsched.model.jobs.job import Job
from vsched.model.jobs.spec import Condition
from vsched.model.pods.status import Status
from vsched.model.topology.constraints import SubGroupPolicy
from vsched.plugins.gang import Gang
from vsched.plugins.priority import Priority
from vsched.plugins.words import jobs as words


def opened(*jobs: Job) -> Gang:
    cluster = SmallCluster().node("n1")
    cluster.jobs = {job.key: job for job in jobs}
    return cluster.opened(Gang(NoArgs()))


@pytest.mark.parametrize(
    ("job", "valid", "ready", "pipelined", "starving"),
    [
        pytest.param(job_of("a:pp b:pp", workers(2, 2)), True, False, False, True, id="all pending"),
        pytest.param(job_of("a:pp b:p", workers(2, 2)), False, False, False, True, id="a sub-group lacks pods"),
        pytest.param(job_of("a:pp", workers(2, 2)), False, False, False, True, id="a sub-group does not exist"),
        pytest.param(job_of("a:rr b:rr", workers(2, 2)), True, True, True, False, id="all run"),
        pytest.param(job_of("a:rr b:rr", workers(2, 2), min_member=5), False, False, False, True, id="the job lacks"),
        pytest.param(job_of("a:rr b:rw", workers(2, 2)), True, False, True, False, id="one waits for others to leave"),
        pytest.param(job_of("a:rr b:rp", workers(2, 2)), True, False, False, True, id="one is starving"),
    ],
)
def test_the_state_of_a_gang_of_gangs(job: Job, valid: bool, ready: bool, pipelined: bool, starving: bool) -> None:
    plugin, view = opened(job), JobView(job)

    assert (plugin.job_valid(view) is None) is valid
    assert plugin.job_ready(view) is ready
    assert plugin.job_pipelined(view) is (Vote.PERMIT if pipelined else Vote.REJECT)
    assert plugin.job_starving(view) is starving


@pytest.mark.parametrize(
    ("job", "missing"),
    [
        pytest.param(job_of("a:pp b:pp c:pp", workers(2, 2), min_member=5), 5, id="the minimum of the job is larger"),
        pytest.param(job_of("a:pp b:pp c:pp", workers(2, 2), min_member=3), 4, id="the sub-groups need more"),
    ],
)
def test_how_much_is_missing(job: Job, missing: int) -> None:
    assert opened(job).tasks_missing(JobView(job)) == missing


B_LACKS_ONE = words.sub_group_shortage("w", 1, 2, 2, [("w/b", 1)], 0)
MANY = " ".join(f"g{number:02}:r" for number in range(10))


@pytest.mark.parametrize(
    ("job", "reason", "message"),
    [
        pytest.param(
            job_of("a:pp b:p c:ppp", workers(4, 2)),
            "NotEnoughPodsOfTask",
            words.sub_groups_lack_pods(words.sub_group_shortage("w", 0, 2, 4, [("w/c", 1), ("w/a", 2), ("w/b", 3)], 0)),
            id="sub-groups without enough pods, those that lack the fewest first",
        ),
        pytest.param(
            job_of("-:pp", workers(1, 1)),
            "NotEnoughPodsOfTask",
            words.sub_groups_lack_pods(words.sub_group_shortage("w", 0, 1, 1, [], 0)),
            id="no sub-group exists",
        ),
        pytest.param(
            job_of("a:rr b:rp", workers(2, 2), min_member=4),
            "NotEnoughResources",
            f"{words.tasks_to_place(1, 4)}; {words.sub_groups_to_place(B_LACKS_ONE)}",
            id="the job and a sub-group lack a placed pod",
        ),
        pytest.param(
            job_of("a:rr b:rp", workers(2, 2), min_member=3),
            "NotEnoughResources",
            words.sub_groups_to_place(B_LACKS_ONE),
            id="only a sub-group does",
        ),
        pytest.param(
            job_of(MANY, workers(2, 1)),
            "NotEnoughPodsOfTask",
            words.sub_groups_lack_pods(
                words.sub_group_shortage("w", 0, 1, 2, [(f"w/g{number:02}", 1) for number in range(8)], 2)
            ),
            id="a few of many are named",
        ),
        pytest.param(
            job_of("-:p", *(SubGroupPolicy(f"p{at}", 1, 1, match_keys=("k",)) for at in range(10))),
            "NotEnoughPodsOfTask",
            words.sub_groups_lack_pods(
                words.sub_group_shortages((words.sub_group_shortage(f"p{at}", 0, 1, 1, [], 0) for at in range(8)), 2)
            ),
            id="a few of many policies are named",
        ),
    ],
)
def test_what_is_said_names_the_sub_groups_that_lack_pods(job: Job, reason: str, message: str) -> None:
    assert opened(job).job_condition(JobView(job)) == Condition("Unschedulable", "True", reason, message)


def test_a_gang_with_the_sub_groups_it_needs_is_scheduled() -> None:
    job = job_of("a:rr b:rr c:p", workers(2, 2))

    condition = opened(job).job_condition(JobView(job))
    assert condition is not None
    assert condition.kind == "Scheduled"


@pytest.mark.parametrize("viewed", [pytest.param(True, id="viewed"), pytest.param(False, id="as the mirror has it")])
def test_a_job_keeps_the_sub_groups_it_needs(viewed: bool) -> None:
    job = job_of("a:rr b:rr c:rr", workers(2, 2), min_member=4)
    cluster = SmallCluster().node("n1")
    opening = cluster.opening()
    evictor = cluster.task(cluster.job("e", 0), "e", cluster.shape())
    state = JobView(job) if viewed else job
    plugin = Gang(NoArgs())
    plugin.open(opening._replace(job_state=lambda key: state))
    candidates = [task for task in job.tasks.values() if task.name in ("b0", "a0", "b1", "c1")]

    for purpose in Purpose:
        assert [task.name for task in agreed(plugin, evictor, candidates, purpose)] == ["a0"]


def test_a_victim_is_asked_back_only_from_a_job_that_can_lose_it() -> None:
    plugin = opened(lean := job_of("a:rw b:rr", workers(2, 2), min_member=1))
    votes = plugin.victim_votes(next(iter(lean.tasks.values())), Purpose.RECLAIM)
    assert not any(votes.could_regain(task) for task in lean.tasks.values())

    plugin = opened(rich := job_of("a:rw b:rr", workers(2, 1), min_member=1))
    votes = plugin.victim_votes(next(iter(rich.tasks.values())), Purpose.RECLAIM)
    assert all(votes.could_regain(task) for task in rich.tasks.values())


def test_sub_groups_go_in_order_not_ready_first_then_by_priority() -> None:
    cluster = SmallCluster().node("n1")
    job = cluster.job("j", 0, sub_groups=(workers(1, 0),))
    for rack, status, priority in (("a", Status.RUNNING, 9), ("b", Status.PENDING, 1), ("c", Status.PENDING, 5)):
        cluster.task(job, rack, cluster.shape(), status, labelled={"rack": rack}, priority=priority)
    view, gang, priority_plugin = JobView(job), Gang(NoArgs()), Priority(NoArgs())
    assert view.sub_groups is not None

    groups = sorted(
        view.sub_groups.groups.values(),
        key=lambda group: (gang.sub_group_key(group), priority_plugin.sub_group_key(group)),
    )

    assert [group.key.values for group in groups] == [("c",), ("b",), ("a",)]
