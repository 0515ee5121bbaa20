"""What is done about a vcjob, from its first look to its end."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.controllers.vcjobs.world import World, started
from tests.support.vcjobs import task, vcjob
from vsched.controllers.vcjobs import words
from vsched.controllers.vcjobs.reconcile import reconcile
from vsched.controllers.vcjobs.spec import Dependency, JobAction, JobEvent, JobPhase, VcjobPolicy, VcjobVolume

ABORT, RESUME, RESTART = JobAction.ABORT_JOB, JobAction.RESUME_JOB, JobAction.RESTART_JOB


def on(event: JobEvent, action: JobAction, seconds: float = 0.0) -> VcjobPolicy:
    return VcjobPolicy(action, frozenset({event}), timeout_seconds=seconds)


def test_pods_are_made_once_the_podgroup_is_admitted() -> None:
    world = World(vcjob(task(replicas=2))).settle()
    assert (world.phase, world.made, world.group is not None) == ("Pending", [], True)
    world.admit().settle()
    assert world.made == ["train-worker-0", "train-worker-1"]
    assert world.phase == "Pending"
    world.run("train-worker-0").settle()
    assert world.phase == "Pending"
    world.run().settle()
    assert world.phase == "Running"
    assert world.status["taskStatusCount"] == {"worker": {"phase": {"Running": 2}}}


def test_a_job_whose_pods_succeed_is_completed_and_its_podgroup_goes() -> None:
    world = started(vcjob(task(replicas=2), plugins={"svc": ()}))
    assert world.objects
    for name in list(world.pods):
        world.set(name, "Succeeded")
    world.settle()
    assert world.phase == "Completed"
    assert world.group is None
    assert not world.objects
    assert world.status["succeeded"] == 2
    assert "controlledResources" not in world.status


def test_a_failed_pod_restarts_the_whole_job_until_its_retries_are_used_up() -> None:
    world = started(vcjob(task(replicas=2), policies=(on(JobEvent.POD_FAILED, RESTART),)))
    for retry in (1, 2):
        group = world.group
        world.fail("train-worker-1").settle()
        assert (world.phase, world.status["retryCount"], world.status["version"]) == ("Pending", retry, retry)
        assert world.group is not None
        assert world.group.uid != (group and group.uid)
        assert not world.pods
        world.admit().settle().run().settle()
        assert world.phase == "Running"
    world.fail("train-worker-1", 3).settle()
    assert (world.phase, world.status["retryCount"]) == ("Failed", 3)
    assert world.pods.keys() == {"train-worker-1"}, "the pod that has failed is kept, the other one is killed"
    assert f"failed{words.with_exit_code(3)}" in world.job.status.message


@pytest.mark.parametrize(
    ("action", "restarted"),
    [
        pytest.param(JobAction.RESTART_POD, {"train-worker-3"}, id="one pod"),
        pytest.param(JobAction.RESTART_PARTITION, {"train-worker-2", "train-worker-3"}, id="its partition"),
        pytest.param(JobAction.RESTART_TASK, {f"train-worker-{index}" for index in range(4)}, id="its task"),
    ],
)
def test_a_restart_in_part_leaves_the_others_and_the_podgroup(action: JobAction, restarted: set[str]) -> None:
    policy = VcjobPolicy(action, exit_code=7)
    world = started(vcjob(task(replicas=4, size=2), task("ps"), policies=(policy,)))
    before, group = dict(world.pods), world.group
    world.fail("train-worker-3", 7).settle()
    assert world.group == group
    assert {name for name, pod in world.pods.items() if pod.uid != before[name].uid} == restarted
    assert (world.status["retryCount"], world.status.get("version", 0)) == (1, 0)
    world.run().settle()
    assert world.phase == "Running"
    assert world.status["retryCount"] == 1


def test_a_pod_that_a_restart_still_terminates_is_not_evicted_when_the_next_one_begins() -> None:
    policies = (on(JobEvent.POD_FAILED, JobAction.RESTART_POD), on(JobEvent.POD_EVICTED, JobAction.ABORT_JOB))
    world = started(vcjob(task(replicas=4, minimum=1), policies=policies)).fail("train-worker-0")
    world.step()
    world.step()
    assert (world.phase, world.pods["train-worker-0"].deleting) == ("Pending", True)
    world.fail("train-worker-1").step()
    world.step()
    world.step()
    assert (world.phase, world.status["retryCount"]) == ("Running", 2)
    assert {name for name, pod in world.pods.items() if pod.deleting} == {"train-worker-0", "train-worker-1"}


def test_abort_and_resume_by_command() -> None:
    world = started(vcjob(task(replicas=2))).set("train-worker-0", "Succeeded").ask(ABORT)
    world.step()
    assert world.phase == "Aborting"
    world.settle()
    assert (world.phase, set(world.pods), world.group) == ("Aborted", {"train-worker-0"}, None)
    world.ask(RESUME, "c-2").settle()
    assert (world.phase, world.job.status.retries, world.pods) == ("Pending", 0, {})
    world.admit().settle().run().settle()
    assert world.phase == "Running"


def test_pods_that_had_ended_are_not_made_anew_when_they_are_deleted() -> None:
    policies = (on(JobEvent.POD_EVICTED, RESTART),)
    world = started(vcjob(task("a", 2), task("b", 2), policies=policies))
    world.set("train-a-0", "Succeeded").set("train-a-1", "Succeeded").settle()
    before = world.status
    world.evict("train-a-0").evict("train-a-1").settle()
    assert (world.phase, world.status, world.made.count("train-a-0")) == ("Running", before, 1)
    assert world.group is not None
    assert world.group.spec["minMember"] == 2, "a pod that is evicted later has to be enough for the gang"
    world.set("train-b-0", "Succeeded").set("train-b-1", "Succeeded").settle()
    assert world.phase == "Completed"


def test_a_restart_makes_pods_anew_that_had_ended_and_are_gone() -> None:
    world = started(vcjob(task(replicas=2))).set("train-worker-0", "Succeeded").settle().evict("train-worker-0")
    world.ask(RESTART).settle().admit().settle().run().settle()
    assert (world.phase, world.made.count("train-worker-0"), len(world.pods)) == ("Running", 2, 2)
    assert not any(pod.gone for pod in world.pods.values())


def test_a_job_may_be_suspended_and_resumed_without_end() -> None:
    world = started(vcjob(max_retry=1))
    for turn in range(3):
        world.ask(ABORT, f"stop-{turn}").settle().ask(RESUME, f"go-{turn}").settle().admit().settle().run().settle()
        assert (world.phase, world.job.status.retries) == ("Running", 0)


def test_a_command_that_the_status_names_is_not_counted_again() -> None:
    world = started(vcjob()).ask(RESTART)
    again = world.command
    for _ in range(2):
        world.settle()
        world.command = again
    assert world.settle().status["retryCount"] == 1
    assert world.ask(RESTART, "c-2").settle().status["retryCount"] == 2


def test_policies_wait_until_a_command_that_is_carried_out_is_deleted() -> None:
    policies = (on(JobEvent.POD_FAILED, RESTART), on(JobEvent.POD_EVICTED, RESTART))
    world = started(vcjob(task(replicas=3, minimum=1), policies=policies)).ask(RESTART)
    command = world.command
    world.settle().admit().settle().run().settle()
    assert (world.phase, world.status["retryCount"]) == ("Running", 1)
    world.command = command
    world.fail("train-worker-0").evict("train-worker-1")
    world.step()
    assert (world.status["retryCount"], len(world.evicted)) == (1, 1)
    world.settle()
    assert (world.status["retryCount"], len(world.evicted)) == (2, 0)


def test_tasks_wait_for_those_that_they_depend_on() -> None:
    job = vcjob(task("ps", 2), task(replicas=2, dependency=Dependency(("ps",))), min_available=2)
    world = World(job).settle().admit().settle()
    assert world.made == ["train-ps-0", "train-ps-1"]
    world.run("train-ps-0").settle()
    assert len(world.made) == 2
    world.run("train-ps-1").settle()
    assert world.made[2:] == ["train-worker-0", "train-worker-1"]


def test_a_task_that_has_begun_gets_a_lost_pod_again_though_what_it_depends_on_has_failed() -> None:
    job = vcjob(task("a", 2), task("b", 2, minimum=0, dependency=Dependency(("a",))), min_available=1)
    world = World(job).settle().admit().settle().run().settle().run().settle()
    world.fail("train-a-0").evict("train-b-1")
    assert world.settle().made[4:] == ["train-b-1"]
    for name in ("train-a-1", "train-b-0", "train-b-1"):
        world.set(name, "Succeeded")
    assert world.settle().phase == "Completed"


def test_the_gang_is_that_of_the_tasks_that_can_start() -> None:
    job = vcjob(task("ps", 2), task(replicas=3, dependency=Dependency(("ps",))))
    world = World(job).settle().admit().settle()
    assert world.group is not None
    assert (world.group.spec["minMember"], world.group.spec["minTaskMember"]) == (2, {"ps": 2})
    world.run().settle()
    assert (world.group.spec["minMember"], world.group.spec["minTaskMember"]) == (5, {"ps": 2, "worker": 3})
    assert world.phase == "Pending"
    world.run().settle()
    assert world.phase == "Running"


@pytest.mark.parametrize(
    ("least", "phase"), [pytest.param(1, "Running", id="running"), pytest.param(4, "Pending", id="pending")]
)
def test_a_job_whose_tasks_wait_for_one_that_has_failed_fails(least: int, phase: str) -> None:
    later = (task("b", dependency=Dependency(("a",))), task("c", dependency=Dependency(("b",))))
    world = World(vcjob(task("a", 2), *later, min_available=least)).settle().admit().settle()
    assert world.run("train-a-1").fail("train-a-0").settle().phase == phase
    world.set("train-a-1", "Succeeded").settle()
    assert (world.phase, world.job.status.reason) == ("Failed", "DependencyFailed")
    assert world.job.status.message == words.tasks_cannot_start("b, c")


@pytest.mark.parametrize(
    ("replicas", "least", "bound", "policies", "phase"),
    [
        pytest.param(3, 2, False, (), "Failed", id="too few are left for the gang"),
        pytest.param(3, 2, True, (), "Running", id="one that is left has a node"),
        pytest.param(3, 1, False, (), "Running", id="enough are left for the gang"),
        pytest.param(3, 2, False, (on(JobEvent.POD_FAILED, RESTART, 60),), "Running", id="a policy will act"),
    ],
)
def test_a_job_that_can_get_no_nodes_any_more_fails(
    replicas: int, least: int, bound: bool, policies: tuple[VcjobPolicy, ...], phase: str
) -> None:
    job = vcjob(task(replicas=replicas, minimum=least), policies=policies)
    world = World(job).settle().admit().settle()
    world.set("train-worker-2", "Pending", bound=bound)
    world.fail("train-worker-0").fail("train-worker-1").settle()
    assert world.phase == phase
    assert phase != "Failed" or world.job.status.reason == "TooFewLeft"


def test_a_task_starts_while_one_of_those_that_it_may_wait_for_is_left() -> None:
    either = Dependency(("a", "b"), every=False)
    job = vcjob(task("a"), task("b"), task("c", dependency=either), min_available=1)
    world = World(job).settle().admit().settle().fail("train-a-0").settle()
    assert world.made == ["train-a-0", "train-b-0"]
    assert world.run().settle().made[2:] == ["train-c-0"]


def test_a_job_whose_claim_is_missing_waits_and_says_so() -> None:
    world = World(vcjob(volumes=(VcjobVolume("/data", "shared"),)))
    world.claims = ("shared",)
    world.settle()
    assert (world.phase, world.group, world.job.status.reason) == ("Pending", None, "PVCError")
    assert world.events == [f"PVCError: {words.no_volume_claim_of('shared', 'ml')}"]
    world.claims = ()
    world.settle()
    assert world.group is not None
    assert world.job.status.reason == ""


@pytest.mark.parametrize(
    ("reason", "phase", "told"),
    [
        pytest.param("", JobPhase.PENDING, "FailedCreate", id="a job that waits says it"),
        pytest.param("FailedCreate", JobPhase.PENDING, "FailedCreate", id="and goes on saying it"),
        pytest.param("RestartTask", JobPhase.PENDING, "RestartTask", id="what a restart has to remember stays"),
        pytest.param("", JobPhase.RUNNING, "", id="not a job that runs"),
    ],
)
def test_what_cannot_be_created_is_the_reason_of_a_job_that_waits(reason: str, phase: JobPhase, told: str) -> None:
    world = started(vcjob(task(replicas=2)))
    status = replace(world.job.status, phase=phase, reason=reason, message=reason and "before")
    if phase is JobPhase.PENDING:
        world.pods.clear()
    view = world.view._replace(job=replace(world.job, status=status), uncreated="Pod train-worker-0: no")

    found = reconcile(view, None, world.now).status

    state = status.body["state"] if found is None else found["state"]
    assert (state.get("reason", ""), state.get("message", "")) == (
        told,
        {"FailedCreate": "Pod train-worker-0: no", "RestartTask": "before", "": ""}[told],
    )


def test_fewer_replicas_take_the_last_pods_away() -> None:
    world = started(vcjob(task(replicas=3, minimum=1), policies=(on(JobEvent.POD_EVICTED, RESTART),)))
    (before,) = world.job.tasks
    world.job = vcjob(task(replicas=1), policies=world.job.policies, status=world.job.status)
    world.settle()
    assert before.replicas == 3
    assert set(world.pods) == {"train-worker-0"}
    assert (world.phase, world.status.get("retryCount", 0)) == ("Running", 0)


def test_a_finished_job_lives_for_its_time_to_live() -> None:
    world = started(vcjob(ttl_seconds=60)).set("train-worker-0", "Succeeded").settle()
    assert world.plan().wake_at == pytest.approx(world.now + 60)
    assert not world.gone
    world.wait(61).step()
    assert world.gone
