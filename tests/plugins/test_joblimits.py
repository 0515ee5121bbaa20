"""job-limits: how many jobs run at once, in a queue, of users and of namespaces."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.clusters import contended
from tests.support.examples import examples
from tests.support.explained import explained
from tests.support.plans import NOW, manifests, mirror, plan
from tests.support.taking import Busy, taking
from vsched.explain.edits.policy import SetArgument
from vsched.explain.edits.queues import SetJobLimit
from vsched.explain.explaining import explain
from vsched.framework.codes import Code
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.model.jobs.runs import runs_of
from vsched.model.snapshot import Snapshot
from vsched.plugins.words.jobs import runs_enough_jobs
from vsched.settings.built_in import REGISTRY

JOBS, PER_USER, USER = "vsched.io/max-running-jobs", "vsched.io/max-running-jobs-per-user", "vsched.io/user"
ROOM = "class high 9\nnode n1 cpu=8\n"


def limits(actions: str = "enqueue, allocate, backfill", **args: int) -> Policy:
    return taking(actions, "priority gang-P job-limits", "predicates proportion", plugins={"job-limits": args})


def jobs(count: int, words: str = "", prefix: str = "j") -> str:
    """So many jobs of a pod, the oldest first."""
    names = (f"job ns/{prefix}{at} pods=1 cpu=1 age={count - at} {words}" for at in range(count))
    return "".join(f"{line}\n" for line in names)


@pytest.mark.parametrize(
    ("text", "args", "bound", "refused"),
    [
        pytest.param(f"queue default\n{jobs(3)}", {}, "j0 j1 j2", "", id="no limit"),
        pytest.param(
            f"queue default {JOBS}=2\n{jobs(3)}", {}, "j0 j1", runs_enough_jobs(2, 2, queue="default"), id="of a queue"
        ),
        pytest.param(
            f"queue default {JOBS}=2\njob ns/old phase=Running\npods ns/old 2 cpu=1 on=n1\n{jobs(3)}",
            {},
            "j0",
            runs_enough_jobs(2, 2, queue="default"),
            id="a job counts once, whatever its pods",
        ),
        pytest.param(f"queue default {JOBS}=0\n{jobs(3)}", {}, "", runs_enough_jobs(0, 0, queue="default"), id="none"),
        pytest.param(
            f"queue default\n{jobs(3)}",
            {"maxRunningJobs": 1},
            "j0",
            runs_enough_jobs(1, 1, queue="default"),
            id="the default",
        ),
        pytest.param(
            f"queue default {JOBS}=3\n{jobs(3)}", {"maxRunningJobs": 1}, "j0 j1 j2", "", id="the queue's own goes first"
        ),
        pytest.param(
            f"queue top {JOBS}=1\nqueue default parent=top {JOBS}=5\n{jobs(3)}",
            {},
            "j0",
            runs_enough_jobs(1, 1, queue="top"),
            id="a queue above caps those below",
        ),
        pytest.param(
            f"queue root {JOBS}=1\nqueue default\n{jobs(3)}",
            {},
            "j0",
            runs_enough_jobs(1, 1, queue="root"),
            id="so does the root",
        ),
        pytest.param(
            f"queue top {JOBS}=2\nqueue default parent=top\nqueue other parent=top\n"
            f"job ns/old queue=other phase=Running\npods ns/old 1 cpu=1 on=n1\n{jobs(2)}",
            {},
            "j0",
            runs_enough_jobs(2, 2, queue="top"),
            id="jobs of other queues below it count",
        ),
        pytest.param(
            f"queue top\nqueue default parent=top\nqueue other parent=top\n"
            f"job ns/old queue=other phase=Running\npods ns/old 1 cpu=1 on=n1\n{jobs(2)}",
            {"maxRunningJobs": 1},
            "j0",
            runs_enough_jobs(1, 1, queue="default"),
            id="the default counts for each queue alone",
        ),
        pytest.param(
            f"queue default {PER_USER}=1\n{jobs(2, f'{USER}=ann')}{jobs(2, f'{USER}=bob', 'k')}{jobs(2, '', 'n')}",
            {},
            "j0 k0 n0 n1",
            runs_enough_jobs(1, 1, queue="default", user="ann"),
            id="of each user in a queue, not of those who are not named",
        ),
        pytest.param(
            f"queue top {PER_USER}=1\nqueue default parent=top\nqueue other parent=top\n"
            f"job ns/old queue=other phase=Running {USER}=ann\npods ns/old 1 cpu=1 on=n1\n"
            f"{jobs(2, f'{USER}=ann')}{jobs(1, f'{USER}=bob', 'k')}",
            {},
            "k0",
            runs_enough_jobs(1, 1, queue="top", user="ann"),
            id="of each user below a queue",
        ),
        pytest.param(
            f"queue default\n{jobs(2, f'{USER}=ann')}",
            {"maxRunningJobsPerUser": 1},
            "j0",
            runs_enough_jobs(1, 1, queue="default", user="ann"),
            id="the default for users",
        ),
        pytest.param(
            f"queue default\nqueue other\njob x/old queue=other phase=Running {USER}=ann\npods x/old 1 cpu=1 on=n1\n"
            f"{jobs(2, f'{USER}=ann')}",
            {"maxRunningJobsOfUser": 1},
            "",
            runs_enough_jobs(1, 1, user="ann"),
            id="of each user in the cluster",
        ),
        pytest.param(
            f"queue default\njob x/o phase=Running\npods x/o 1 cpu=1 on=n1\n{jobs(2)}",
            {"maxRunningJobsPerNamespace": 1},
            "j0",
            runs_enough_jobs(1, 1, queue="default", namespace="ns"),
            id="of each namespace in a queue",
        ),
        pytest.param(
            f"queue default {JOBS}=1\njob ns/old phase=Running\npods ns/old 1 cpu=1 on=n1 leaving\n{jobs(2)}",
            {},
            "j0",
            runs_enough_jobs(1, 1, queue="default"),
            id="a job whose pods are all leaving counts no more",
        ),
    ],
)
def test_which_jobs_start(text: str, args: dict[str, int], bound: str, refused: str) -> None:
    found = plan(f"{ROOM}{text}", limits(**args))

    assert sorted(found.bound) == bound.split()
    waiting = [job for job in found.jobs.values() if job.code and job.pending]
    assert {job.code for job in waiting} == ({Code.RUNNING_JOBS} if refused else set())
    assert not refused or refused in {job.message for job in waiting}


def test_a_job_that_runs_goes_on_whatever_the_limit() -> None:
    old = "job ns/old min=1 phase=Running\npods ns/old 1 cpu=1 on=n1\npods ns/old 1 cpu=1\n"
    found = plan(f"{ROOM}queue default {JOBS}=0\n{old}{jobs(1)}", limits("enqueue, allocate, preempt, shuffle"))

    assert found.bound == {"old": 1}
    assert found.evicted == [[]]


def test_a_gang_that_cannot_be_placed_leaves_its_turn_to_others() -> None:
    text = f"queue default {JOBS}=1\njob ns/large min=9 pods=9 cpu=1 age=9\n{jobs(1)}"

    assert plan(f"{ROOM}{text}", limits()).bound == {"j0": 1}


@pytest.mark.parametrize("action", ["preempt", "reclaim", "gangpreempt", "gangreclaim"])
def test_nothing_is_evicted_for_a_job_that_may_not_start(action: str) -> None:
    full = "class high 9\nnode n1 cpu=2\nqueue other weight=1\njob ns/old queue={} phase=Running\n"
    full = full.format("default" if "preempt" in action else "other") + "pods ns/old 2 cpu=1 on=n1\n"
    text = f"{full}queue default {{}}\njob ns/new pods=1 cpu=1 class=high"
    policy = limits(f"enqueue, allocate, {action}")

    assert plan(text.format(f"{JOBS}=0"), policy).evicted == [[]]
    assert plan(text.format(""), policy).evicted != [[]], "it would be without the limit"


def test_best_effort_jobs_count_as_well() -> None:
    text = f"{ROOM}queue default {JOBS}=1\njob ns/a pods=1 age=2\njob ns/b pods=1"

    assert plan(text, limits()).bound == {"a": 1}


def test_admission_stops_at_the_limit_and_lets_others_go_first() -> None:
    wants = "minResources=cpu:3"
    text = f"queue a {JOBS}=1\nqueue b\n" + "".join(f"job ns/a{at} queue=a age={9 - at} {wants}\n" for at in range(3))
    text += f"job ns/b0 queue=b {wants}\n"
    policy = taking("enqueue, allocate", "priority gang job-limits", "overcommit predicates")

    assert plan(f"node n1 cpu=6\n{text}", policy).phases() == {
        "a0": "Inqueue",
        "a1": "Pending",
        "a2": "Pending",
        "b0": "Inqueue",
    }
    running = "job ns/old queue=a phase=Running\npods ns/old 1 cpu=1 on=n1\n"
    found = plan(f"node n1 cpu=90\n{text}{running}", policy)
    assert {job for job, phase in found.phases().items() if phase == "Pending"} == {"a0", "a1", "a2"}
    assert found.message("ns/a0") == runs_enough_jobs(1, 1, queue="a")


def test_no_start_is_planned_for_a_job_that_may_not_start() -> None:
    text = "node n1 cpu=2\njob x/old phase=Running\npods x/old 1 cpu=2 on=n1 started=0 vsched.io/expected-duration=1h\n"
    policy = taking("allocate", "gang job-limits easy-backfill", "predicates")
    wanted = "job x/new min=1 pods=1 cpu=2 queue=q\nqueue q vsched.io/max-running-jobs="

    assert plan(f"{text}{wanted}1", policy).jobs["x/new"].planned is not None
    assert plan(f"{text}{wanted}0", policy).jobs["x/new"].planned is None


# -- words


def test_the_limit_is_told_beside_other_reasons() -> None:
    text = f"{ROOM}queue default {JOBS}=0\njob ns/a min=2 pods=1 cpu=1"
    found = explained(text, "ns/a", limits())

    assert runs_enough_jobs(0, 0, queue="default") in [one.message for one in found.constraints]


@pytest.mark.parametrize(
    ("text", "args", "edit"),
    [
        pytest.param(f"queue default {JOBS}=2", {}, SetJobLimit("default", 3), id="of the queue"),
        pytest.param(
            f"queue default {PER_USER}=1\nqueue root {JOBS}=9",
            {},
            SetJobLimit("default", 3, per_user=True),
            id="of the user",
        ),
        pytest.param(f"queue root {JOBS}=2\nqueue default", {}, SetJobLimit("root", 3), id="of the queue above"),
        pytest.param(
            "queue default",
            {"maxRunningJobsPerUser": 2},
            SetArgument("job-limits", "maxRunningJobsPerUser", 3),
            id="of the policy",
        ),
    ],
)
def test_a_higher_limit_is_proposed(text: str, args: dict[str, int], edit: SetJobLimit | SetArgument) -> None:
    old = f"job ns/o phase=Running {USER}=ann\npods ns/o 1 cpu=1 on=n1\njob ns/p phase=Running {USER}=ann\n"
    old += "pods ns/p 1 cpu=1 on=n1\n"
    found = mirror(manifests(f"{ROOM}{text}\n{old}job ns/a pods=1 cpu=1 {USER}=ann")).snapshot(NOW)
    policy = limits(**args)
    told = explain(found, policy, REGISTRY, run_cycle(found, policy, REGISTRY), "ns", "a")

    assert told is not None
    assert (edit,) in [change.edits for change in told.changes]


# -- properties

often = settings(max_examples=examples(40), deadline=None)
ACTIONS = ("enqueue, allocate, preempt, reclaim, backfill", "gangpreempt, gangreclaim, allocate, backfill, shuffle")


def running(snapshot: Snapshot) -> tuple[Counter[str], Counter[tuple[str, str]]]:
    """How many jobs hold nodes, by queue, and by queue and namespace."""
    held = [job for job in snapshot.jobs.values() if job.allocated_count]
    return (
        Counter(job.spec.queue for job in held),
        Counter((job.spec.queue, job.spec.namespace) for job in held),
    )


@often
@given(contended(), st.integers(0, 2), st.integers(0, 2), st.sampled_from(ACTIONS))
def test_no_sequence_of_cycles_runs_more_jobs_than_may(text: str, most: int, of_one: int, actions: str) -> None:
    policy = limits(actions, maxRunningJobs=most, maxRunningJobsPerNamespace=of_one)
    world = Busy(text, policy, returning=True, terminating=1)
    before, before_of_one = running(world.snapshot())
    for _ in range(4):
        world.cycle()
        now, now_of_one = running(world.snapshot())
        for queue, count in now.items():
            assert count <= max(most, before[queue]), queue
        for both, count in now_of_one.items():
            assert count <= max(of_one, before_of_one[both]), both
        before, before_of_one = now, now_of_one


@often
@given(contended(), st.sampled_from(ACTIONS))
def test_the_mirror_knows_which_jobs_run(text: str, actions: str) -> None:
    world = Busy(text, limits(actions), returning=True)
    for _ in range(3):
        found = world.snapshot()
        assert found.runs == runs_of(found.jobs.values())
        world.cycle()
