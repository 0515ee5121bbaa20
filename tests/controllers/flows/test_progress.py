"""JobFlows: whose turn it is, what the status says, and what cannot be made."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.controllers.flows.makers import NOW, after, flow, made, templates
from vsched.controllers.flows import words
from vsched.controllers.flows.made import MadeJob
from vsched.controllers.flows.patches import patched
from vsched.controllers.flows.progress import proceed

Obj = dict[str, Any]
ABC = ({"name": "a"}, after("b", "a"), after("c", "a", "b"))
RUNNING_2 = {"t": {"phase": {"Running": 2}}}
PROBED = ({"name": "a"}, after("b", "a", taskStatusList=[{"taskName": "t", "phase": "Running"}]))


@pytest.mark.parametrize(
    ("flows", "jobs", "wanted"),
    [
        pytest.param(ABC, [], ["f-a"], id="what depends on nothing is made at once"),
        pytest.param(ABC, [made("a")], [], id="others wait while it runs"),
        pytest.param(ABC, [made("a", "Completed")], ["f-b"], id="and are made once it is complete"),
        pytest.param(ABC, [made("a", "Completed"), made("b", "Completed")], ["f-c"], id="all targets are complete"),
        pytest.param(ABC, [made("a", "Failed")], [], id="nothing follows one that failed"),
        pytest.param(({"name": "a"}, {"name": "b"}), [], ["f-a", "f-b"], id="what is independent is made together"),
        pytest.param(PROBED, [made("a", tasks=RUNNING_2, minima={"t": 2})], ["f-b"], id="a probe holds"),
        pytest.param(PROBED, [made("a", tasks=RUNNING_2, minima={"t": 3})], [], id="too few pods of the probed task"),
        pytest.param(PROBED, [made("a")], [], id="a probe of a task without pods"),
        pytest.param(PROBED, [made("a", "Completed")], ["f-b"], id="a target that is complete needs no probe"),
        pytest.param(PROBED, [made("a", "Failed", tasks=RUNNING_2)], [], id="no probe holds of one that failed"),
    ],
)
def test_whose_turn_it_is(flows: tuple[Obj, ...], jobs: list[MadeJob], wanted: list[str]) -> None:
    plan = proceed(flow(*flows), jobs, templates("a", "b", "c"), NOW)
    assert [body["metadata"]["name"] for body in plan.create] == wanted


def test_vcjobs_are_labelled_and_owned_as_volcano_does_it() -> None:
    (body,) = proceed(flow({"name": "a"}), [], templates("a"), NOW).create
    made_by = {"volcano.sh/createdByJobTemplate": "x.a", "volcano.sh/createdByJobFlow": "x.f"}
    assert body["metadata"] == {
        "name": "f-a",
        "namespace": "x",
        "labels": made_by,
        "annotations": made_by,
        "ownerReferences": [
            {"apiVersion": "flow.volcano.sh/v1alpha1", "kind": "JobFlow", "name": "f", "uid": "u", "controller": True}
        ],
    }


@pytest.mark.parametrize(
    ("jobs", "before", "wanted"),
    [
        pytest.param([], "", "Pending", id="nothing runs"),
        pytest.param([made("a", "Pending")], "Pending", "Pending", id="the first one waits"),
        pytest.param([made("a")], "Pending", "Running", id="the first one runs"),
        pytest.param([made("a", "Pending")], "Running", "Running", id="a restart does not begin the flow anew"),
        pytest.param([made("a", "Completed")], "Running", "Running", id="the second one is about to be made"),
        pytest.param([made("a", "Failed")], "Running", "Failed", id="one failed, and nothing else goes on"),
        pytest.param([made("a", "Completed"), made("b", "Terminated")], "Running", "Failed", id="one was terminated"),
        pytest.param([made("a", "Completed"), made("b", "Completed")], "Running", "Succeed", id="all are complete"),
    ],
)
def test_the_phase(jobs: list[MadeJob], before: str, wanted: str) -> None:
    job_flow = flow({"name": "a"}, after("b", "a"), status={"state": {"phase": before}})
    status = proceed(job_flow, jobs, templates("a", "b"), NOW).status or job_flow.status
    assert status["state"] == {"phase": wanted}


def test_a_flow_fails_once_what_does_not_depend_on_the_failed_one_has_ended() -> None:
    jobs = [made("a", "Failed"), made("b")]
    status = proceed(flow({"name": "a"}, {"name": "b"}), jobs, templates(), NOW).status
    assert status is not None
    assert status["state"] == {"phase": "Running"}


def test_the_status_has_volcanos_lists() -> None:
    jobs = [
        made("a", "Completed", running_duration="1m5s", retries=2),
        made("b", tasks=RUNNING_2),
        made("c", "Aborted"),
    ]
    plan = proceed(flow({"name": "a"}, {"name": "b"}, {"name": "c"}), jobs, templates(), NOW)
    assert plan.status is not None
    assert {key: plan.status.get(key) for key in ("completedJobs", "runningJobs", "unKnowJobs", "pendingJobs")} == {
        "completedJobs": ["f-a"],
        "runningJobs": ["f-b"],
        "unKnowJobs": ["f-c"],
        "pendingJobs": None,
    }
    assert plan.status["conditions"]["f-b"] == {
        "phase": "Running",
        "createTime": "1970-01-12T13:45:00Z",
        "taskStatusCount": RUNNING_2,
    }
    assert plan.status["jobStatusList"][0] == {
        "name": "f-a",
        "state": "Completed",
        "startTimestamp": "1970-01-12T13:45:00Z",
        "endTimestamp": "1970-01-12T13:46:05Z",
        "restartCount": 2,
        "runningHistories": [{"startTimestamp": "1970-01-12T13:46:40Z", "state": "Completed"}],
    }
    told = flow({"name": "a"}, {"name": "b"}, {"name": "c"}, status=plan.status)
    assert proceed(told, jobs, templates(), NOW + 50.0).status is None, "the same again is not written"


def test_histories_have_each_phase_with_its_times() -> None:
    first = proceed(flow({"name": "a"}), [made("a", "Pending")], templates(), NOW).status
    second = proceed(flow({"name": "a"}, status=first), [made("a")], templates(), NOW + 10.0).status
    assert second is not None
    assert second["jobStatusList"][0]["runningHistories"] == [
        {"startTimestamp": "1970-01-12T13:46:40Z", "endTimestamp": "1970-01-12T13:46:50Z", "state": "Pending"},
        {"startTimestamp": "1970-01-12T13:46:50Z", "state": "Running"},
    ]


def test_a_vcjob_that_has_ended_and_is_gone_is_not_made_again() -> None:
    told = proceed(flow(*ABC), [made("a", "Completed")], templates(), NOW).status
    plan = proceed(flow(*ABC, status=told), [], templates("a", "b", "c"), NOW)
    assert [body["metadata"]["name"] for body in plan.create] == ["f-b"]


def test_one_that_is_gone_before_its_end_is_made_again() -> None:
    told = proceed(flow(*ABC), [made("a")], templates(), NOW).status
    plan = proceed(flow(*ABC, status=told), [], templates("a", "b", "c"), NOW)
    assert [body["metadata"]["name"] for body in plan.create] == ["f-a"]


@pytest.mark.parametrize(("policy", "wanted"), [("delete", ["f-a"]), ("retain", []), ("", [])])
def test_what_becomes_of_vcjobs_once_all_are_complete(policy: str, wanted: list[str]) -> None:
    done = flow({"name": "a"}, status={"state": {"phase": "Succeed"}}, jobRetainPolicy=policy)
    plan = proceed(done, [made("a", "Completed")], templates("a"), NOW)
    assert ([job.name for job in plan.delete], plan.status, plan.create) == (wanted, None, ())


def test_flows_that_are_added_after_the_end_are_told() -> None:
    status = proceed(flow({"name": "a"}), [made("a", "Completed")], templates("a"), NOW).status
    plan = proceed(flow({"name": "a"}, {"name": "b"}, status=status), [], templates("a", "b"), NOW)
    assert plan.create == ()
    assert plan.problems == (("JobFlowEnded", words.flows_added_late("b")),)


def test_flows_that_are_added_before_the_end_are_made() -> None:
    status = proceed(flow({"name": "a"}), [made("a", "Running")], templates("a"), NOW).status
    plan = proceed(flow({"name": "a"}, after("b", "a"), status=status), [made("a", "Completed")], templates("b"), NOW)
    assert [body["metadata"]["name"] for body in plan.create] == ["f-b"]


def test_flows_without_their_templates_are_told_in_one_message() -> None:
    plan = proceed(flow({"name": "a"}, {"name": "b"}), [], {}, NOW)
    ((reason, message),) = plan.problems
    assert reason == "MissingJobTemplate"
    assert message == f"{words.no_job_template('a')}; {words.no_job_template('b')}"


def test_a_flow_without_its_template_waits_and_others_go_on() -> None:
    plan = proceed(flow({"name": "a"}, {"name": "b"}), [], templates("b"), NOW)
    assert [body["metadata"]["name"] for body in plan.create] == ["f-b"]
    assert plan.problems == (("MissingJobTemplate", words.no_job_template("a")),)


@pytest.mark.parametrize(
    ("flows", "wanted"),
    [
        pytest.param([{"name": "a"}, {"name": "a"}], words.is_there_twice("spec.flows[1]", "a"), id="a name twice"),
        pytest.param([after("a", "b")], "spec.flows[0].dependsOn.targets: 'b' (expected the name", id="unknown target"),
        pytest.param([after("a", "b"), after("b", "a")], "depend on each other", id="a circle"),
        pytest.param(
            [{"name": "a"}, after("b", "a", tcpSocketList=[{"port": 0}])],
            "spec.flows[1].dependsOn.probe.tcpSocketList[0].port: 0 (expected 1 to 65535)",
            id="a probe that cannot be asked",
        ),
        pytest.param(
            [{"name": "a"}, after("b", "a", tcpSocketList=[{"port": 80}] * 33)],
            words.too_many_probes(33, 32),
            id="too many probes",
        ),
    ],
)
def test_nothing_is_made_of_a_flow_that_cannot_end(flows: list[Obj], wanted: str) -> None:
    plan = proceed(flow(*flows), [], templates("a", "b"), NOW)
    ((reason, message),) = plan.problems
    assert (plan.create, reason) == ((), "InvalidJobFlow")
    assert wanted in message


@pytest.mark.parametrize(
    ("spec", "patch", "wanted"),
    [
        pytest.param({"queue": "a", "maxRetry": 3}, {"queue": "b"}, {"queue": "b", "maxRetry": 3}, id="fields"),
        pytest.param(
            {"tasks": [{"name": "a", "replicas": 1}, {"name": "b", "replicas": 1}]},
            {"tasks": [{"name": "b", "replicas": 3}, {"name": "c"}]},
            {"tasks": [{"name": "a", "replicas": 1}, {"name": "b", "replicas": 3}, {"name": "c"}]},
            id="tasks by name",
        ),
        pytest.param(
            {"tasks": [{"name": "a", "template": {"spec": {"containers": [{"name": "m", "image": "x", "env": []}]}}}]},
            {"tasks": [{"name": "a", "template": {"spec": {"containers": [{"name": "m", "image": "y"}]}}}]},
            {"tasks": [{"name": "a", "template": {"spec": {"containers": [{"name": "m", "image": "y", "env": []}]}}}]},
            id="containers within",
        ),
        pytest.param(
            {"volumes": [{"mountPath": "/a", "volumeClaimName": "x"}]},
            {"volumes": [{"mountPath": "/a", "volumeClaimName": "y"}, {"mountPath": "/b"}]},
            {"volumes": [{"mountPath": "/a", "volumeClaimName": "y"}, {"mountPath": "/b"}]},
            id="volumes by path",
        ),
        pytest.param(
            {"policies": [{"event": "PodFailed"}]}, {"policies": [{"event": "*"}]}, {"policies": [{"event": "*"}]},
            id="policies are replaced",
        ),
        pytest.param(
            {"plugins": {"svc": ["--a"], "env": []}}, {"plugins": {"svc": ["--b"], "ssh": []}},
            {"plugins": {"svc": ["--a", "--b"], "env": [], "ssh": []}},
            id="arguments of plugins are added",
        ),
    ],
)  # fmt: skip
def test_patches(spec: Obj, patch: Obj, wanted: Obj) -> None:
    before = msgspec.json.encode(spec)
    assert patched(spec, patch) == wanted
    assert msgspec.json.encode(spec) == before


@given(
    st.integers(1, 6).flatmap(lambda size: st.tuples(*(st.sets(st.integers(0, max(0, n - 1))) for n in range(size)))),
    st.lists(st.integers(0, 3), max_size=60),
)
def test_every_flow_without_circles_ends_however_often_it_is_interrupted(
    edges: tuple[set[int], ...], writes: list[int]
) -> None:
    flows = [after(str(n), *(str(m) for m in sorted(found) if m < n)) for n, found in enumerate(edges)]
    names = [str(n) for n in range(len(flows))]
    status: Obj = {}
    jobs: dict[str, MadeJob] = {}
    ever: list[str] = []
    for left in [*writes, *[9] * (3 * len(flows) + 3)]:
        plan = proceed(flow(*flows, status=status), [*jobs.values()], templates(*names), NOW)
        for body in plan.create[:left]:
            name = body["metadata"]["name"].removeprefix("f-")
            jobs[name] = made(name)
            ever.append(name)
        if left > len(plan.create):
            after_creation = proceed(flow(*flows, status=status), [*jobs.values()], templates(*names), NOW)
            status = after_creation.status or status
        if left == 9:
            jobs = {name: msgspec.structs.replace(job, phase="Completed") for name, job in jobs.items()}
    assert sorted(ever) == names, "each is made once"
    assert status["state"] == {"phase": "Succeed"}
