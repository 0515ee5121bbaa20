"""The end of a cycle: phases, conditions, counts, and what is said of whoever waits."""

from __future__ import annotations

import msgspec
import pytest

from tests.support.plans import DEFAULT_POLICY, NOW, manifests, mirror, plan, policy_of
from vsched.explain.words.edits import request_of_pods
from vsched.framework.cycle import run_cycle
from vsched.framework.reports.closing import merged
from vsched.framework.words import jobs as words
from vsched.framework.words.nodes import CORDONED, NO_NODE, available, has_no, on_nodes
from vsched.model.jobs.advice import Advice
from vsched.model.jobs.spec import Condition
from vsched.model.plan import CycleReport, JobOutcome
from vsched.model.words import WOULD_START
from vsched.plugins.words.jobs import GANG_READY, some_exist
from vsched.settings.built_in import REGISTRY

GANGS = policy_of("priority gang", "predicates")


@pytest.mark.parametrize(
    ("text", "phase"),
    [
        pytest.param("job ns/a min=1", "Inqueue", id="a new job is admitted"),
        pytest.param("job ns/a min=1 minResources=cpu:99", "Pending", id="or waits"),
        pytest.param("job ns/a min=2 phase=Inqueue pods=2 cpu=9", "Inqueue", id="an admitted job stays so"),
        pytest.param("job ns/a min=2 phase=Inqueue pods=2 cpu=1", "Inqueue", id="until its pods are seen bound"),
        pytest.param("job ns/a min=2 phase=Inqueue\npods ns/a 2 cpu=1 on=n1 bound", "Running", id="bound pods run it"),
        pytest.param("job ns/a min=2 phase=Inqueue\npods ns/a 2 cpu=1 on=n1", "Running", id="running pods run it"),
        pytest.param(
            "job ns/a min=2 phase=Running\npods ns/a 1 cpu=1 on=n1\npods ns/a 1 cpu=1 on=n1 leaving",
            "Running",
            id="pods that leave count as long as they are there",
        ),
        pytest.param(
            "job ns/a min=2 phase=Running\npods ns/a 1 cpu=1 on=n1\npods ns/a 1 cpu=9",
            "Unknown",
            id="a gang that runs below its minimum is unknown",
        ),
        pytest.param(
            "job ns/a min=2 phase=Running\npods ns/a 1 cpu=1 on=n1 bound\npods ns/a 1 cpu=9",
            "Pending",
            id="one that does not run yet has to be admitted again",
        ),
        pytest.param(
            "job ns/a min=2 phase=Unknown\npods ns/a 2 cpu=1 on=n1", "Running", id="an unknown gang may recover"
        ),
        pytest.param(
            "job ns/a min=2 phase=Running\npods ns/a 2 on=n1 succeeded", "Completed", id="all succeeded: completed"
        ),
        pytest.param(
            "job ns/a min=2 phase=Running\npods ns/a 1 on=n1 succeeded\npods ns/a 1 on=n1 failed",
            "Completed",
            id="all over, one failed: completed",
        ),
        pytest.param(
            "job ns/a min=1 phase=Running\npods ns/a 1 on=n1 succeeded\npods ns/a 1 cpu=1 on=n1",
            "Running",
            id="one still runs: running",
        ),
        pytest.param("job ns/a min=0 phase=Inqueue", "Completed", id="nothing wanted, nothing there: completed"),
        pytest.param("job ns/a min=2 phase=Completed", "Completed", id="finished pods are gone: still completed"),
        pytest.param(
            "job ns/a min=2 phase=Completed\npods ns/a 1 on=n1 succeeded", "Completed", id="some of them: the same"
        ),
        pytest.param(
            "job ns/a min=2 phase=Completed\npods ns/a 2 cpu=1 on=n1", "Running", id="new pods: it begins anew"
        ),
    ],
)
def test_the_phase_of_a_job(text: str, phase: str) -> None:
    assert plan(f"node n1 cpu=4\n{text}").phases() == {"a": phase}


def report_on(text: str) -> CycleReport:
    return run_cycle(mirror(manifests(f"node n1 cpu=4\n{text}")).snapshot(NOW), GANGS, REGISTRY)


def outcome_of(text: str) -> JobOutcome:
    return report_on(text).jobs["ns/a"]


def test_counts_of_a_job() -> None:
    found = outcome_of("""
        job ns/a min=4 phase=Running
        pods ns/a 1 cpu=1 on=n1
        pods ns/a 2 on=n1 succeeded
        pods ns/a 1 on=n1 failed
        pods ns/a 2 cpu=9
    """)

    assert (found.running, found.succeeded, found.failed, found.ready, found.pending) == (1, 2, 1, 3, 2)
    assert (found.min_member, found.queue, found.phase, found.implicit) == (4, "default", "Unknown", False)


def test_a_job_that_is_over_keeps_its_counts_when_its_pods_are_cleaned_away() -> None:
    objects = manifests("node n1 cpu=4\njob ns/a min=3 phase=Completed\npods ns/a 1 on=n1 succeeded")
    group = next(found for found in objects if found["kind"] == "PodGroup")
    group["status"] |= {"succeeded": 2, "failed": 1}
    found = run_cycle(mirror(objects).snapshot(NOW), GANGS, REGISTRY).jobs["ns/a"]

    assert (found.succeeded, found.failed, found.conditions, found.message, found.changed) == (2, 1, (), "", False)


def test_a_task_that_waits_for_others_to_leave_is_pending() -> None:
    found = outcome_of("pods ns/old 1 cpu=3 on=n1 leaving\njob ns/a min=2 pods=2 cpu=2")

    assert (found.ready, found.pending) == (0, 2)
    assert found.message == words.wait_for_others(2, f"a.0 {words.goes_once('n1')}")


@pytest.mark.parametrize(
    ("text", "kind", "reason", "message"),
    [
        pytest.param("job ns/a min=1 pods=1 cpu=1", "Scheduled", GANG_READY, "", id="placed"),
        pytest.param(
            "job ns/a min=2 pods=2 cpu=3",
            "Unschedulable",
            "NotEnoughResources",
            f"{words.needs(words.THE_GANG, 2, 2, 1, 1)}: {on_nodes([('Insufficient cpu', 1)])}",
            id="no room",
        ),
        pytest.param(
            "job ns/a min=2 pods=1 cpu=1",
            "Unschedulable",
            "NotEnoughTasks",
            some_exist(1, 2, ""),
            id="no pods",
        ),
        pytest.param(
            "job ns/a min=2 phase=Pending queue=nowhere",
            "Unschedulable",
            "QueueNotFound",
            words.no_queue("nowhere"),
            id="no pods before it is admitted",
        ),
        pytest.param(
            "job ns/a min=1 pods=1 cpu=1 queue=nowhere",
            "Unschedulable",
            "QueueNotFound",
            words.no_queue("nowhere"),
            id="no queue",
        ),
    ],
)
def test_the_condition_of_a_job(text: str, kind: str, reason: str, message: str) -> None:
    found = outcome_of(text)

    assert found.conditions == (Condition(kind, "True", reason, message),)
    assert found.message == message
    assert found.changed


def test_a_job_whose_status_says_so_already_has_not_changed() -> None:
    objects = manifests("node n1 cpu=4\njob ns/a min=1 phase=Running\npods ns/a 1 cpu=1 on=n1")
    group = next(found for found in objects if found["kind"] == "PodGroup")
    ready = {"type": "Scheduled", "status": "True", "reason": GANG_READY, "message": ""}
    group["status"] |= {"running": 1, "conditions": [ready]}

    assert not run_cycle(mirror(objects).snapshot(NOW), GANGS, REGISTRY).jobs["ns/a"].changed


OLD = Condition("Unschedulable", "True", "NotEnoughResources", "old", since=60.0)
NEW = Condition("Unschedulable", "True", "NotEnoughTasks", "new")
NEWER = msgspec.structs.replace(NEW, since=60.0)
OVER = msgspec.structs.replace(OLD, status="False")
OTHER = Condition("Scheduled", "True", "ready", "old", since=60.0)
NO_LONGER = Condition("Scheduled", "False", "NotEnoughTasks")
FOREIGN = Condition("Example", "True")


@pytest.mark.parametrize(
    ("conditions", "latest", "expected"),
    [
        pytest.param((OLD,), None, (OLD,), id="nothing to say"),
        pytest.param((OLD,), msgspec.structs.replace(OLD, since=0.0), (OLD,), id="nothing new"),
        pytest.param((OVER,), NEW, (NEW,), id="what comes back begins anew"),
        pytest.param((), OLD, (OLD,), id="the first"),
        pytest.param((FOREIGN,), OLD, (FOREIGN, OLD), id="another type is added"),
        pytest.param((OLD, FOREIGN), NEW, (NEWER, FOREIGN), id="the same type is replaced in its place"),
        pytest.param((OTHER, OLD), NEW, (NO_LONGER, NEWER), id="what it contradicts is no longer true"),
    ],
)
def test_merging_conditions(
    conditions: tuple[Condition, ...], latest: Condition | None, expected: tuple[Condition, ...]
) -> None:
    assert merged(conditions, latest) == expected


@pytest.mark.parametrize(
    ("text", "pod", "reason", "message"),
    [
        pytest.param(
            "job ns/a min=1 pods=1 cpu=5",
            "ns/a.0",
            "Unschedulable",
            available(3, {CORDONED: 1, "Insufficient cpu": 2}),
            id="no node has room",
        ),
        pytest.param(
            "job ns/a min=3 pods=3 cpu=3",
            "ns/a.0",
            "Unschedulable",
            words.fits_but_waits(words.gang_reaches_minimum("ns/a", 3)),
            id="only the rest of its gang is missing",
        ),
        pytest.param(
            "job ns/a min=3 pods=3 cpu=5",
            "ns/a.2",
            "Unschedulable",
            words.gang_waits(
                "ns/a",
                f"{words.needs(words.THE_GANG, 3, 3, 0, 1)}: {on_nodes([('Insufficient cpu', 2), (CORDONED, 1)])}",
            ),
            id="what was not tried is not said to fit",
        ),
        pytest.param(
            "job ns/a min=3 pods=1 cpu=1",
            "ns/a.0",
            "GangIncomplete",
            some_exist(1, 3, ""),
            id="what is wrong with its job is said of the pod too",
        ),
    ],
)
def test_what_is_said_of_a_pod(text: str, pod: str, reason: str, message: str) -> None:
    found = report_on(f"node n2 cpu=4\nnode n3 cpu=9 cordoned\n{text}").unschedulable[pod]

    assert (found.reason, found.message) == (reason, message)


def test_pods_are_told_what_their_gang_waits_for_and_not_what_would_help_it() -> None:
    mirrored = mirror(manifests("node n1 cpu=4\njob ns/a min=3 pods=3 cpu=5"))
    told = f"{words.needs(words.THE_GANG, 3, 3, 0)}: {has_no(NO_NODE, 'cpu', '5', '4')}"
    mirrored.inputs.advise({"ns/a": Advice(told, request_of_pods("4", "cpu", "5"))})
    report = run_cycle(mirrored.snapshot(NOW), GANGS, REGISTRY)

    assert report.jobs["ns/a"].message == f"{told}{WOULD_START}{request_of_pods('4', 'cpu', '5')}"
    assert report.unschedulable["ns/a.2"].message == words.gang_waits("ns/a", told)


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        pytest.param(
            "job ns/a min=8 phase=Unknown\npods ns/a 6 on=n1",
            "GangIncomplete",
            "6 of the gang's 8 pods exist",
            id="pods were lost",
        ),
        pytest.param(
            "job ns/a min=8 phase=Inqueue",
            "GangIncomplete",
            "no pods exist, and the gang needs 8",
            id="there are no pods yet",
        ),
        pytest.param(
            "job ns/a min=2 phase=Running\npods ns/a 1 on=n1 succeeded\npods ns/a 1 on=n1 failed",
            "",
            "",
            id="it is over, and some failed",
        ),
        pytest.param("job ns/a min=2 phase=Running\npods ns/a 2 on=n1 succeeded", "", "", id="it is over"),
    ],
)
def test_a_job_without_waiting_pods_says_what_it_lacks(text: str, code: str, message: str) -> None:
    found = outcome_of(text)

    assert (found.code, found.message) == (code, message)


def test_a_job_without_pods_has_no_condition() -> None:
    found = outcome_of("job ns/a min=8 phase=Inqueue")

    assert (found.conditions, found.changed) == ((), False), "so nothing is written of it"


def test_nothing_is_said_of_pods_that_are_bound_or_gated() -> None:
    report = report_on("job ns/a min=1 pods=1 cpu=1\npods ns/a 1 cpu=1 gated")

    assert [bind.name for bind in report.binds] == ["a.0"]
    assert report.unschedulable == {}


def test_a_gang_is_told_of_the_task_that_found_no_place_not_of_those_that_would_wait() -> None:
    found = outcome_of("pods ns/old 1 cpu=3 on=n1 leaving\njob ns/a min=3 pods=3 cpu=2")

    assert (found.code, found.message) == (
        "GangSize",
        f"{words.needs(words.THE_GANG, 3, 3, 2, 2)}: {on_nodes([('Insufficient cpu', 1)])}",
    )
    assert found.reasons == {"Insufficient cpu": 1}


def test_queues_and_namespaces_show_what_they_hold_after_the_cycle() -> None:
    text = """
        node n1 cpu=4 memory=8Gi
        weight x 2
        queue q weight=3 capability=cpu:3 guarantee=cpu:1
        job x/a min=1 pods=2 cpu=1 queue=q
        job y/b min=1 queue=q
        pods y/b 1 cpu=1 memory=4Gi on=n1
    """
    report = run_cycle(mirror(manifests(text)).snapshot(NOW), DEFAULT_POLICY, REGISTRY)
    queue, namespaces = report.queues["q"], report.namespaces

    assert (queue.weight, queue.capability, queue.guarantee) == (3, {"cpu": 3000}, {"cpu": 1000})
    assert queue.allocated == {"cpu": 3000, "memory": 4 << 30, "pods": 3}
    assert queue.deserved == {"cpu": 3000, "memory": 4 << 30, "pods": 3}
    assert (queue.share, queue.overused) == (1.0, True)
    assert (namespaces["q/x"].weight, namespaces["q/x"].share) == (2, 0.5)
    assert (namespaces["q/y"].weight, namespaces["q/y"].share) == (1, 0.5)
    assert namespaces["q/y"].allocated == {"cpu": 1000, "memory": 4 << 30, "pods": 1}


def test_without_a_plugin_that_divides_queues_show_what_their_objects_say() -> None:
    queue = report_on("queue q capability=cpu:3\njob ns/a pods=1 cpu=1 queue=q").queues["q"]

    assert (queue.capability, queue.deserved, queue.share, queue.overused) == ({"cpu": 3000}, {}, 0.0, False)
