"""What is done for jobs that ask for what is not supported: nothing at all, and they and their pods say why."""

from __future__ import annotations

import pytest

from tests.support.plans import NOW, Plan, manifests, mirror, plan, policy_of
from tests.support.taking import taking
from vsched import api
from vsched.api.words import too_many_entries
from vsched.framework.cycle import run_cycle
from vsched.framework.words.jobs import no_priority_class, some_wait
from vsched.mirror.state.words import priority_of_queue_holds, queue_without_priority
from vsched.model.plan import CycleReport
from vsched.settings.built_in import REGISTRY

VOLUME = "spec.volumes[0].awsElasticBlockStore: not supported yet"
BEYOND = too_many_entries("spec.minTaskMember", 257, 256)
NO_CLASS = no_priority_class("gone")
TAKING = taking("enqueue, allocate, preempt, backfill", "priority gang-P conformance", "predicates nodeorder")


def reported(text: str) -> CycleReport:
    cache = mirror(manifests(text))
    return run_cycle(cache.snapshot(NOW), policy_of("priority gang", "predicates"), REGISTRY)


@pytest.mark.parametrize(
    ("text", "bound", "message"),
    [
        pytest.param("job ns/a pods=1 ebs=c", {}, VOLUME, id="a job of one pod waits"),
        pytest.param(
            "job ns/a min=2 pods=1 ebs=c\npods ns/a 1",
            {},
            some_wait(1, "a.0", VOLUME),
            id="a gang that needs the pod waits as a whole",
        ),
        pytest.param(
            "job ns/a min=2 pods=1 ebs=c\npods ns/a 2",
            {"a": 2},
            some_wait(1, "a.0", VOLUME),
            id="a gang that has enough others starts without it",
        ),
        pytest.param(
            "job ns/a min=2 pods=1 ebs=c phase=Running\npods ns/a 2 on=n1",
            {},
            some_wait(1, "a.0", VOLUME),
            id="what runs stays, and new pods wait",
        ),
        pytest.param(
            "job ns/a min=3 roles=ps:1,worker:2 pods=1 role=ps ebs=c\npods ns/a 3 role=worker",
            {},
            some_wait(1, "a.0", VOLUME),
            id="a role that needs the pod waits, however many others there are",
        ),
        pytest.param("job ns/a min=2 roles=beyond", {}, f"PodGroup ns/a: {BEYOND}", id="a gang without pods yet"),
        pytest.param("job ns/a min=2 roles=beyond pods=2", {}, f"PodGroup ns/a: {BEYOND}", id="a gang with pods"),
        pytest.param("job ns/a min=2 topology=soft pods=2", {"a": 2}, "", id="a wish keeps nobody"),
        pytest.param("job ns/a pods=1 class=gone", {}, NO_CLASS, id="a class that is not there"),
        pytest.param("class gone 5\njob ns/a pods=1 class=gone", {"a": 1}, "", id="a class that is there"),
        pytest.param("job ns/a pods=1 class=system-node-critical", {"a": 1}, "", id="a class that is always there"),
        pytest.param(
            "class ten 10\nqueue q class=ten\njob ns/a pods=1 class=gone queue=q",
            {"a": 1},
            "",
            id="the queue's instead",
        ),
        pytest.param("queue q priority=3\njob ns/a pods=1 class=gone queue=q", {"a": 1}, "", id="its queue's number"),
        pytest.param(
            "queue q class=gone\njob ns/a pods=1 queue=q",
            {},
            f"queue q: {NO_CLASS}",
            id="a queue's class that is not there",
        ),
        pytest.param(
            "class ten 10\nqueue q class=gone\njob ns/a pods=1 queue=q class=ten", {"a": 1}, "", id="a class of its own"
        ),
        pytest.param("queue q class=gone priority=0\njob ns/a pods=1 queue=q", {"a": 1}, "", id="a number goes first"),
    ],
)
def test_what_becomes_of_a_job(text: str, bound: dict[str, int], message: str) -> None:
    found = plan(f"node n1 cpu=8\n{text}")

    assert (found.bound, found.message("ns/a")) == (bound, message)
    assert found.jobs["ns/a"].reasons == ({"Unsupported": 1} if message else {})


@pytest.mark.parametrize("asks", ["ebs=c", "roles=beyond", "class=gone"])
def test_nobody_has_to_leave_for_a_job_that_waits_so(asks: str) -> None:
    cluster = "node n1 cpu=2\nclass high 9\njob x/low phase=Running\npods x/low 2 cpu=1 on=n1\n"
    wanting = "job x/a class=high\npods x/a 1 cpu=1"
    evicted = plan(cluster + wanting, TAKING).evicted
    head, _, pods = wanting.partition("\n")
    waiting = f"{pods} {asks}" if asks == "ebs=c" else pods
    waiting = f"{head.replace('high', 'gone') if asks == 'class=gone' else f'{head} {asks}'}\n{waiting}"
    found = plan(cluster + waiting, TAKING)

    assert [len(each) for each in evicted] == [1], "the same job, were it to ask for nothing special"
    assert [(*report.evictions, *report.nominations) for report in found.reports] == [()]


@pytest.mark.parametrize("asks", ["", "ebs=c", "roles=beyond", "class=gone"])
def test_it_takes_no_share_of_the_cluster(asks: str) -> None:
    found = plan(
        f"node n1 cpu=8\nqueue q\nqueue r\njob ns/a phase=Inqueue queue=q pods=8 cpu=1 {asks}\n"
        "job ns/b phase=Inqueue queue=r pods=8 cpu=1"
    )

    assert found.bound == ({"b": 8} if asks else {"a": 4, "b": 4})


def test_others_of_its_queue_go_on() -> None:
    found = plan("node n1 cpu=4\njob ns/a pods=4 ebs=c age=9\njob ns/b min=4 pods=4")

    assert found.bound == {"b": 4}


@pytest.mark.parametrize(
    ("text", "pods"),
    [
        pytest.param(
            "job ns/a min=2 pods=1 ebs=c\npods ns/a 1",
            {"ns/a.0": VOLUME, "ns/a.1": some_wait(1, "a.0", VOLUME)},
            id="of the pods",
        ),
        pytest.param("job ns/a roles=beyond pods=1", {"ns/a.0": f"PodGroup ns/a: {BEYOND}"}, id="of the PodGroup"),
        pytest.param("job ns/a pods=1 gated ebs=c", {"ns/a.0": VOLUME}, id="whatever gates there are"),
    ],
)
def test_the_pods_say_why_with_a_reason_of_its_own(text: str, pods: dict[str, str]) -> None:
    told = reported(f"node n1\n{text}").unschedulable

    assert {key: one.message for key, one in told.items()} == pods
    assert {(one.reason, *one.reasons.items()) for one in told.values()} == {("Unsupported", ("Unsupported", 1))}


@pytest.mark.parametrize("plugins", ["priority gang", "priority"])
@pytest.mark.parametrize("asks", ["ebs=c", "roles=beyond"])
def test_the_object_says_why_with_a_reason_of_its_own(asks: str, plugins: str) -> None:
    cache = mirror(manifests(f"node n1\njob ns/a min=2 pods=2 {asks}"))
    outcome = run_cycle(cache.snapshot(NOW), policy_of(plugins, "predicates"), REGISTRY).jobs["ns/a"]
    (condition,) = outcome.conditions

    assert (condition.kind, condition.status, condition.reason) == ("Unschedulable", "True", "Unsupported")
    assert condition.message == outcome.message
    assert outcome.code == "Unsupported"


def test_a_job_goes_on_the_moment_its_class_is_there() -> None:
    cache = mirror(manifests("node n1\njob ns/a pods=1 class=gone"))
    policy = policy_of("priority gang", "predicates")
    before = run_cycle(cache.snapshot(NOW), policy, REGISTRY)
    cache.intake.apply("PriorityClass", "ADDED", api.PriorityClass(api.Metadata("gone"), 5))
    after = run_cycle(cache.snapshot(NOW), policy, REGISTRY)

    assert [bind.name for bind in (*before.binds, *after.binds)] == ["a.0"]
    assert len(after.binds) == 1


def test_a_pod_goes_on_the_moment_its_class_is_there() -> None:
    cache = mirror(manifests("node n1\njob ns/a\npods ns/a 1 podClass=gone\npods ns/a 1 podClass=gone gated"))
    before = dict(cache.snapshot(NOW).jobs["ns/a"].pending)
    cache.intake.apply("PriorityClass", "ADDED", api.PriorityClass(api.Metadata("gone"), 5))
    after = cache.snapshot(NOW).jobs["ns/a"].pending

    assert [(task.gated, task.unsupported, task.priority) for task in before.values()] == [(True, NO_CLASS, 1)] * 2
    assert [(task.gated, task.unsupported, task.priority) for task in after.values()] == [(False, "", 5), (True, "", 5)]


@pytest.mark.parametrize(
    ("text", "notice"),
    [
        pytest.param("class ten 10\nqueue q class=ten", priority_of_queue_holds("", NO_CLASS), id="of the job"),
        pytest.param(
            "class own 2\nqueue q class=gone",
            queue_without_priority("queue q: ", NO_CLASS),
            id="of its queue",
        ),
    ],
)
def test_an_object_says_that_a_class_is_missing_though_it_goes_on(text: str, notice: str) -> None:
    own = "own" if "own" in text else "gone"
    cache = mirror(manifests(f"node n1\n{text}\njob ns/a pods=1 queue=q class={own}"))
    policy = policy_of("priority gang", "predicates")
    report = run_cycle(cache.snapshot(NOW), policy, REGISTRY)

    assert len(report.binds) == 1
    assert said(report) == [("PriorityClassMissing", "True", notice)]


def test_an_object_says_when_the_class_is_there() -> None:
    group, *others = manifests("job ns/a pods=1 class=gone\nnode n1\nclass gone 5")
    lost = {"type": "PriorityClassMissing", "status": "True", "reason": "NoSuchPriorityClass", "message": "gone"}
    group["status"] = {"conditions": [lost]}
    cache = mirror([group, *others])

    assert said(run_cycle(cache.snapshot(NOW), policy_of("priority gang", "predicates"), REGISTRY)) == [
        ("PriorityClassMissing", "False", "")
    ]


def said(report: CycleReport) -> list[tuple[str, str, str]]:
    found = report.jobs["ns/a"].conditions
    return [(one.kind, one.status, one.message) for one in found if one.kind == "PriorityClassMissing"]


def test_a_queue_says_that_its_class_is_missing() -> None:
    queue = reported("node n1\nqueue q class=gone").queues["q"]

    assert (queue.problem_reason, queue.problem) == ("NoSuchPriorityClass", NO_CLASS)


def test_the_plan_says_so_of_a_pod_that_names_no_group() -> None:
    pod = manifests("pods ns/alone 1 ebs=c")[0]
    pod["metadata"]["annotations"] = {}
    cache = mirror([*manifests("node n1"), pod])
    told = run_cycle(cache.snapshot(NOW), policy_of("priority gang", "predicates"), REGISTRY).unschedulable

    assert told["ns/alone.0"].message == VOLUME


def test_plans_are_made_of_what_is_ignored() -> None:
    text = "node n1 cpu=8\njob ns/a min=2 pods=2 ebs=c class=gone"
    some, all_of_it = (plan(text, ignored=ignored) for ignored in (("volumes",), ("volumes", "priority-classes")))

    assert [one.bound for one in (some, all_of_it)] == [{}, {"a": 2}]
    assert isinstance(some, Plan)
    assert some.message("ns/a") == NO_CLASS
