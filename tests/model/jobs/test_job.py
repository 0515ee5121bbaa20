"""The sums of a job, what it claims of its queue, and that a clone leaves the original alone."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from vsched.model.jobs.job import Job, JobUsage, claim_of
from vsched.model.jobs.spec import JobSpec
from vsched.model.pods.shape import PodLabels, ShapeTable
from vsched.model.pods.status import HOLDS, READY, Phase, Status
from vsched.model.pods.task import Task

TABLE = ShapeTable()
SHAPES = [TABLE.shape(request) for request in (((0, 1000), (2, 1)), ((0, 250), (2, 1)), ((2, 1),))]
SPEC = JobSpec(namespace="ns", name="j", queue="q", min_member=2, min_resources=((0, 3000),))


def task(uid: str, status: Status = Status.PENDING, shape: int = 0, gated: bool = False) -> Task:
    return Task(uid, "ns", uid, "ns/j", SHAPES[shape], PodLabels("ns", ()), status, gated=gated)


def job(*tasks: Task, spec: JobSpec = SPEC) -> Job:
    made = Job("ns/j", spec)
    for found in tasks:
        made.put(found)
    return made


changes = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from([*Status, None]), st.integers(0, 2), st.booleans()), max_size=20
)


@given(changes)
def test_sums_are_those_of_the_tasks_that_are_there(steps: list[tuple[str, Status | None, int, bool]]) -> None:
    made, newest_last = job(), dict[str, None]()
    for uid, status, shape, gated in steps:
        newest_last.pop(uid, None)
        if status is None:
            made.drop(uid)
        else:
            made.put(task(uid, status, shape, gated))
            newest_last[uid] = None
    assert list(made.tasks) == list(newest_last)
    tasks, pending = list(made.tasks.values()), list(made.pending.values())
    assert made.counts == [sum(found.status is status for found in tasks) for status in Status]
    allocated = sum(dict(found.shape.request).get(0, 0) for found in tasks if HOLDS[found.status].allocated)
    assert made.allocated.get(0, 0) == allocated
    assert made.pending.keys() == {found.uid for found in tasks if found.status is Status.PENDING}
    assert made.pending_request.get(2, 0) == len(pending)
    counts = (sum(found.shape.best_effort for found in pending), sum(found.gated for found in pending))
    assert (made.best_effort, made.gated) == counts
    assert (made.clone().best_effort, made.clone().gated) == counts
    assert made.ready == sum(found.status in READY for found in tasks)
    assert made.allocated_count == sum(HOLDS[found.status].allocated for found in tasks)


def test_a_clone_can_change_without_the_original() -> None:
    original = job(task("a"))
    original.frozen = True
    clone = original.clone()
    clone.put(task("a", Status.RUNNING))
    clone.put(task("b"))
    assert (list(original.tasks), original.allocated, original.counts[Status.PENDING]) == (["a"], {}, 1)
    assert not clone.frozen


def test_dropping_what_is_not_there_is_no_error() -> None:
    assert job().drop("x") is None


def with_phase(phase: str) -> JobSpec:
    return msgspec.structs.replace(SPEC, phase=phase)


RUNNING = [task("a", Status.RUNNING), task("b", Status.BOUND, 1)]


def test_an_admitted_job_claims_what_it_lacks_of_its_minimum() -> None:
    claim = claim_of(job(*RUNNING, task("c"), spec=with_phase(Phase.INQUEUE)))
    assert claim == JobUsage(
        "q",
        "ns",
        allocated=((0, 1250), (2, 2)),
        pending=((0, 1000), (2, 1)),
        elastic=((2, 2),),
        inqueue=((0, 1750),),
        promised=((0, 3000),),
    )


def test_a_running_job_claims_the_rest_once_its_gang_is_there() -> None:
    assert claim_of(job(*RUNNING, spec=with_phase(Phase.RUNNING))).inqueue == ((0, 1750),)
    assert claim_of(job(RUNNING[0], spec=with_phase(Phase.RUNNING))).inqueue == ()


def test_a_waiting_job_claims_nothing_yet() -> None:
    claim = claim_of(job(*RUNNING, spec=with_phase(Phase.PENDING)))
    assert (claim.inqueue, claim.promised) == ((), ())


def test_what_gated_pods_ask_for_is_not_claimed() -> None:
    claim = claim_of(job(task("a", gated=True), spec=with_phase(Phase.INQUEUE)))
    assert (claim.inqueue, claim.promised) == (((0, 2000),), ((0, 2000),))


def test_without_a_minimum_everything_is_elastic() -> None:
    claim = claim_of(job(*RUNNING, spec=msgspec.structs.replace(SPEC, min_resources=None, phase=Phase.INQUEUE)))
    assert (claim.elastic, claim.inqueue) == (claim.allocated, ())
