"""gang: minima of jobs and roles, whom a job can spare, and what its condition says."""

from __future__ import annotations

import msgspec
import pytest

from tests.support.small import SmallCluster
from tests.support.voting import agreed, rules_out
from vsched.framework.jobs import JobView
from vsched.framework.points.extension import NoArgs, Vote
from vsched.framework.points.victims import Purpose
from vsched.model.jobs.job import Job
from vsched.model.jobs.spec import Condition
from vsched.model.pods.status import Status
from vsched.plugins.gang import Gang
from vsched.plugins.words import jobs as words

P, W, R, L, S, F, U = (
    Status.PENDING,
    Status.PIPELINED,
    Status.RUNNING,
    Status.RELEASING,
    Status.SUCCEEDED,
    Status.FAILED,
    Status.UNKNOWN,
)


def gang(minimum: int, *statuses: Status, roles: tuple[tuple[str, int], ...] = (), role: str = "") -> Job:
    cluster = SmallCluster().node("n1")
    job = cluster.job("g", 0, min_member=minimum, min_task_member=roles)
    for number, status in enumerate(statuses):
        cluster.task(job, f"g-{number}", cluster.shape(), status, "n1" if status in (R, L) else "", role=role)
    return job


def opened(*jobs: Job) -> Gang:
    cluster = SmallCluster().node("n1")
    cluster.jobs = {job.key: job for job in jobs}
    return cluster.opened(Gang(NoArgs()))


@pytest.mark.parametrize(
    ("job", "valid", "ready", "pipelined", "starving"),
    [
        pytest.param(gang(2, P, P), True, False, False, True, id="all pending"),
        pytest.param(gang(2, P), False, False, False, True, id="too few pods exist"),
        pytest.param(gang(2, R, P), True, False, False, True, id="one runs, one is missing"),
        pytest.param(gang(2, R, S), True, True, True, False, id="who succeeded counts"),
        pytest.param(gang(2, R, F), False, False, False, True, id="who failed does not"),
        pytest.param(gang(2, R, L), False, False, False, True, id="who leaves does not"),
        pytest.param(gang(2, R, U), False, False, False, True, id="who is lost does not"),
        pytest.param(gang(2, R, W), True, False, True, False, id="who waits for others to leave counts as waiting"),
        pytest.param(gang(0), True, True, True, False, id="no minimum, no tasks"),
        pytest.param(gang(1, R, roles=(("a", 1),), role="a"), True, True, True, False, id="a role with its minimum"),
        pytest.param(gang(1, R, roles=(("a", 1),), role="b"), False, False, False, False, id="a role that lacks it"),
        pytest.param(gang(1, R, roles=(("a", 2),), role="b"), True, True, True, False, id="minima that do not apply"),
        pytest.param(gang(1, R, roles=(("a", 0),), role="b"), True, True, True, False, id="a minimum of none"),
    ],
)
def test_the_state_of_a_gang(job: Job, valid: bool, ready: bool, pipelined: bool, starving: bool) -> None:
    plugin, view = opened(job), JobView(job)

    assert (plugin.job_valid(view) is None) is valid
    assert plugin.job_ready(view) is ready
    assert plugin.job_pipelined(view) is (Vote.PERMIT if pipelined else Vote.REJECT)
    assert plugin.job_starving(view) is starving


@pytest.mark.parametrize(
    ("job", "missing"),
    [
        pytest.param(gang(3, P, P, P), 3, id="all of it"),
        pytest.param(gang(3, R, W, P), 2, id="who only waits is still to be placed"),
        pytest.param(gang(1, R, R), 0, id="nothing, beyond the minimum"),
    ],
)
def test_how_much_is_missing(job: Job, missing: int) -> None:
    assert opened(job).tasks_missing(JobView(job)) == missing


@pytest.mark.parametrize(
    ("minimum", "running", "spared"),
    [
        pytest.param(2, 2, 0, id="at its minimum a job spares nobody"),
        pytest.param(2, 5, 3, id="beyond it, all but the minimum"),
        pytest.param(3, 2, 0, id="below it, nobody"),
        pytest.param(0, 2, 2, id="without a minimum, everybody"),
    ],
)
def test_whom_a_job_can_spare(minimum: int, running: int, spared: int) -> None:
    cluster = SmallCluster().node("n1")
    job = cluster.running("v", running, min_member=minimum)
    evictor = cluster.task(cluster.job("e", 0), "e", cluster.shape())
    plugin, candidates = cluster.opened(Gang(NoArgs())), list(job.tasks.values())

    for purpose in Purpose:
        assert agreed(plugin, evictor, candidates, purpose) == candidates[:spared]


@pytest.mark.parametrize(
    ("running", "evicted", "spared"),
    [
        pytest.param(5, 0, 3, id="none"),
        pytest.param(5, 2, 1, id="some"),
        pytest.param(5, 3, 0, id="all it could"),
        pytest.param(5, 4, 0, id="even more"),
    ],
)
def test_whom_a_job_can_spare_once_others_of_it_were_evicted(running: int, evicted: int, spared: int) -> None:
    cluster = SmallCluster().node("n1")
    job = cluster.running("v", running, min_member=2)
    evictor = cluster.task(cluster.job("e", 0), "e", cluster.shape())
    opening, plugin = cluster.opening(), Gang(NoArgs())
    plugin.open(opening)
    view = opening.jobs[job.key]
    gone, candidates = list(job.tasks.values())[:evicted], list(job.tasks.values())[evicted:]
    for task in gone:
        view.move(task, R, L, "n1")

    for purpose in Purpose:
        assert agreed(plugin, evictor, candidates, purpose) == candidates[:spared]
        assert rules_out(plugin, evictor, view, purpose) is (spared == 0)


@pytest.mark.parametrize(
    ("minimum", "roles", "running", "evicted", "spared"),
    [
        pytest.param(2, "m:1 w:1", "mwwww", "", "www", id="the only pod of a role stays, though the newest"),
        pytest.param(3, "m:1 w:2", "mwwww", "", "ww", id="a role keeps its minimum"),
        pytest.param(2, "m:1", "mmww", "", "mw", id="what a role has beyond it may go, up to the minimum of the job"),
        pytest.param(2, "m:1 w:1", "mmww", "m", "w", id="what left in this session counts"),
        pytest.param(2, "m:1 w:1", "ww", "", "", id="a job at its minimum keeps all, though a role is missing"),
        pytest.param(2, "m:1 w:1", "www", "", "w", id="of a role that is missing nothing can be kept"),
        pytest.param(1, "m:1 w:1", "mww", "", "mw", id="minima that do not apply"),
    ],
)
def test_whom_a_job_with_roles_can_spare(minimum: int, roles: str, running: str, evicted: str, spared: str) -> None:
    cluster = SmallCluster().node("n1")
    minima = tuple((word[0], int(word[2:])) for word in roles.split())
    job = cluster.job("v", 0, min_member=minimum, min_task_member=minima)
    candidates = [cluster.task(job, f"v-{at}", cluster.shape(), R, "n1", role=role) for at, role in enumerate(running)]
    evictor = cluster.task(cluster.job("e", 0), "e", cluster.shape())
    opening, plugin = cluster.opening(), Gang(NoArgs())
    plugin.open(opening)
    for role in evicted:
        gone = next(task for task in candidates if task.role == role)
        candidates.remove(gone)
        opening.jobs[job.key].move(gone, R, L, "n1")

    for purpose in Purpose:
        left = agreed(plugin, evictor, candidates, purpose) or []
        assert "".join(task.role for task in left) == spared
        assert not (left and rules_out(plugin, evictor, opening.jobs[job.key], purpose))


def test_victims_of_unknown_jobs_are_nobodys() -> None:
    orphan = gang(0, R)

    tasks = list(orphan.tasks.values())

    assert agreed(opened(), tasks[0], tasks, Purpose.PREEMPT) == []


def test_gangs_below_their_minimum_go_first() -> None:
    below, above = gang(2, R, P), gang(1, R, P)

    assert opened().job_key(JobView(below)) < opened().job_key(JobView(above))


LACKING = words.tasks_to_place(1, 2)
READY = Condition("Scheduled", "True", words.GANG_READY, "")


@pytest.mark.parametrize(
    ("job", "condition"),
    [
        pytest.param(gang(2), None, id="nothing is said of a gang without tasks"),
        pytest.param(gang(2, R, R), READY, id="a gang that runs"),
        pytest.param(gang(2, R, L), None, id="a gang that others are leaving"),
        pytest.param(
            gang(2, R, P),
            Condition("Unschedulable", "True", "NotEnoughResources", LACKING),
            id="a gang below its minimum",
        ),
        pytest.param(
            gang(3, P),
            Condition("Unschedulable", "True", "NotEnoughTasks", "1 of the gang's 3 pods exist"),
            id="a gang without enough pods",
        ),
        pytest.param(
            gang(3, P, P, P, roles=(("a", 1), ("b", 2)), role="a"),
            Condition(
                "Unschedulable",
                "True",
                "NotEnoughPodsOfTask",
                words.roles_lack_pods([("b", 0, 2)], 0),
            ),
            id="a role without enough pods",
        ),
        pytest.param(
            gang(100, P, roles=tuple((f"r{number:02}", 1) for number in range(100))),
            Condition(
                "Unschedulable",
                "True",
                "NotEnoughPodsOfTask",
                "role r00 has 0 of the 1 pod that it needs, r01 0 of 1, r02 0 of 1, r03 0 of 1, r04 0 of 1, "
                "r05 0 of 1, r06 0 of 1, r07 0 of 1, and 92 more lack pods",
            ),
            id="a hundred roles without pods, of which some are named",
        ),
    ],
)
def test_the_condition_of_a_gang(job: Job, condition: Condition | None) -> None:
    assert opened(job).job_condition(JobView(job)) == condition


@pytest.mark.parametrize(
    ("minimum", "phase", "before", "reason"),
    [
        pytest.param(2, "Pending", (), "NotEnoughResources", id="not admitted"),
        pytest.param(2, "Inqueue", (), "", id="admitted: its pods are made now"),
        pytest.param(2, "Inqueue", (READY,), "NotEnoughTasks", id="it had pods"),
        pytest.param(0, "Pending", (READY,), "", id="it needs none"),
    ],
)
def test_the_condition_of_a_gang_without_pods(
    minimum: int, phase: str, before: tuple[Condition, ...], reason: str
) -> None:
    job = gang(minimum)
    job.spec = msgspec.structs.replace(job.spec, phase=phase, conditions=before)
    condition = opened(job).job_condition(JobView(job))

    assert (condition.reason if condition is not None else "") == reason
