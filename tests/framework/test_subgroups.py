"""Counts of sub-groups as tasks move, and what of a job with sub-groups can be lost."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.subgroups import job_of, workers
from vsched.framework.jobs import JobView
from vsched.framework.subgroups import SubGroups
from vsched.framework.surplus import Surplus
from vsched.model.pods.status import Status
from vsched.model.topology.constraints import SubGroupPolicy

P, W, A, R, L = Status.PENDING, Status.PIPELINED, Status.ALLOCATED, Status.RUNNING, Status.RELEASING


@pytest.mark.parametrize(
    ("text", "policy", "ready", "pipelined", "missing"),
    [
        pytest.param("a:pp b:pp", workers(2, 2), False, False, 4, id="nothing is placed"),
        pytest.param("a:rr b:rp", workers(2, 2), False, False, 1, id="one lacks a pod"),
        pytest.param("a:rr b:rw", workers(2, 2), False, True, 1, id="pipelined pods are still to come"),
        pytest.param("a:rr b:rs", workers(2, 2), True, True, 0, id="who succeeded counts"),
        pytest.param("a:rr b:pp", workers(2, 1), True, True, 0, id="one complete sub-group is enough"),
        pytest.param("a:rp b:rp", workers(2, 1), False, False, 1, id="two halves are no whole"),
        pytest.param("a:pppp b:rrrp c:rrpp", workers(4, 2), False, False, 3, id="those that lack the fewest"),
        pytest.param("a:p", workers(3, 2), False, False, 6, id="pods that do not exist yet are missing as well"),
        pytest.param("-:pp", workers(2, 0), True, True, 0, id="no sub-group is needed"),
    ],
)
def test_the_state_of_sub_groups(text: str, policy: SubGroupPolicy, ready: bool, pipelined: bool, missing: int) -> None:
    view = JobView(job_of(text, policy))
    groups = view.sub_groups

    assert groups is not None
    assert (groups.are_ready, groups.are_pipelined, groups.tasks_missing()) == (ready, pipelined, missing)
    assert (view.is_ready, view.is_pipelined, view.is_starving) == (ready, pipelined, not pipelined)


def test_jobs_without_sub_groups_have_none() -> None:
    assert JobView(job_of("a:p")).sub_groups is None


def test_only_a_job_that_runs_has_lost_pods() -> None:
    assert not JobView(job_of("a:pp", workers(2, 1))).has_lost_pods
    assert JobView(job_of("a:rp", workers(2, 1))).has_lost_pods


def counted(groups: SubGroups) -> object:
    sizes = {
        key: (one.ready, one.waiting, one.pending, one.best_effort, one.is_ready) for key, one in groups.groups.items()
    }
    places = range(len(groups.policies))
    return sizes, [groups.ready_of(at) for at in places], [groups.pipelined_of(at) for at in places]


@settings(max_examples=examples(40))
@given(st.lists(st.tuples(st.integers(0, 8), st.sampled_from((P, W, A, R, L))), max_size=20))
def test_counts_follow_every_move_and_going_back_restores_them(moves: list[tuple[int, Status]]) -> None:
    policies = (workers(2, 1), SubGroupPolicy("rest", 3, 1))
    job = job_of("a:prw b:pp c:rrr -:p", *policies)
    view = JobView(job)
    groups = view.sub_groups
    assert groups is not None
    before, tasks, steps = counted(groups), list(job.tasks.values()), []
    now = {task.uid: task.status for task in tasks}
    for at, status in moves:
        task = tasks[at]
        steps.append((task, now[task.uid], status))
        view.move(task, now[task.uid], status, "n1")
        now[task.uid] = status
    again = SubGroups(policies, [task.moved(now[task.uid], "n1") for task in tasks])

    assert counted(groups) == counted(again)
    for task, was, status in reversed(steps):
        view.move(task, status, was, "n1")
    assert counted(groups) == before


@pytest.mark.parametrize(
    ("text", "policy", "minimum", "lost"),
    [
        pytest.param("a:rr b:rr", workers(2, 2), 4, [], id="a job at its minimum loses nothing"),
        pytest.param("a:rr b:rr", workers(2, 2), 2, [], id="nor do the sub-groups that it needs"),
        pytest.param("a:rr b:rr c:rr", workers(2, 2), 2, ["a0", "a1"], id="one sub-group more than needed: all of it"),
        pytest.param("a:rr b:rr c:rr", workers(2, 2), 5, ["a0"], id="as far as the job's own minimum allows"),
        pytest.param("a:rrr b:rr", workers(2, 2), 2, ["a0"], id="a pod beyond the size of its sub-group"),
        pytest.param("a:rr b:rp", workers(2, 1), 2, ["b0"], id="pods of a sub-group that is not complete"),
        pytest.param("a:rr -:rr", workers(2, 1), 1, ["-0", "-1"], id="pods of no policy"),
        pytest.param("a:rr b:rr", workers(2, 0), 2, ["a0", "a1"], id="no sub-group is needed"),
        pytest.param("a:rr", workers(0, 1), 1, ["a0"], id="a sub-group without a size is complete without pods"),
    ],
)
def test_what_a_job_can_lose(text: str, policy: SubGroupPolicy, minimum: int, lost: list[str]) -> None:
    view = JobView(job_of(text, policy, min_member=minimum))
    assert view.sub_groups is not None
    surplus = Surplus(view)

    running = [task for task in view.job.tasks.values() if task.status is R]
    assert [task.name for task in running if surplus.lose(task)] == lost


def test_roles_keep_their_minimum_as_well() -> None:
    view = JobView(job_of("a:rr b:rr", workers(1, 0), min_member=2, roles=(("a", 2),)))
    assert view.sub_groups is not None
    surplus = Surplus(view)

    assert [task.name for task in view.job.tasks.values() if surplus.lose(task)] == ["b0", "b1"]


def test_pipelined_pods_count_where_they_are_said_to() -> None:
    view = JobView(job_of("a:rw b:rr", workers(2, 1), min_member=2))
    assert view.sub_groups is not None
    task = next(task for task in view.job.tasks.values() if task.name == "b0")

    assert not Surplus(view).lose(task)
    assert Surplus(view, waiting=True).lose(task)
