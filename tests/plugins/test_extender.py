"""extender: what each verb is sent, what its answers come to, and what holds while there are none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.extending import (
    BREAKING_OFF,
    BROKEN,
    HANGING,
    HTML,
    OTHER_JSON,
    TOO_LARGE,
    ExtenderServer,
    Payload,
    Reply,
    extending,
    refusing,
)
from tests.support.small import SmallCluster
from tests.support.waiting import until_now
from vsched.daemon.loop.callouts import Caller
from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.ledger.ledger import Ledger
from vsched.framework.ledger.usage import SessionUsage
from vsched.framework.points.extension import SessionContext, Vote
from vsched.framework.points.victims import Purpose
from vsched.framework.refusal import Refusal
from vsched.model.amounts.quantity import format_milli
from vsched.model.pods.status import Phase, Status
from vsched.model.pods.task import Task
from vsched.plugins.extender import Extender, ExtenderArgs
from vsched.plugins.words.nodes import MISFIT, OTHER_REASON, SILENT

GPU = "example.com/gpu"


@pytest.fixture
def server() -> Iterator[ExtenderServer]:
    with extending() as server:
        yield server


@pytest.fixture
def caller() -> Iterator[Caller]:
    with Caller() as caller:
        yield caller


class Bench:
    """Two nodes, a gang of two that waits, one pod that runs, and an extender with all the verbs it is given."""

    def __init__(self, caller: Caller, url: str, *verbs: str, **args: Any) -> None:
        self.cluster = SmallCluster().node("n1").node("n2", zone="b").queue("q", weight=3)
        self.shape = self.cluster.shape(cpu=1500)
        waiting = self.cluster.job("new", 2, shape=self.shape, queue="q", min_member=2, min_resources=((0, 3000),))
        self.running = self.cluster.running("old", 1, shape=self.cluster.shape(cpu=500), queue="q", min_member=1)
        self.view = JobView(waiting)
        self.tasks = list(waiting.tasks.values())
        self.victim = next(iter(self.running.tasks.values()))
        spelled = {f"{verb}_verb": verb for verb in verbs}
        self.plugin = Extender(
            ExtenderArgs(url_prefix=url, timeout_seconds=args.pop("timeout", 5.0), **spelled, **args)
        )
        self.caller = caller

    def open(self) -> Extender:
        snapshot = self.cluster.snapshot()
        self.nodes, holdings = snapshot.nodes.copy(), SessionUsage(snapshot)
        self.ledger = Ledger(self.nodes, holdings, [self.plugin])
        jobs = {self.view.key: self.view}
        self.plugin.open(SessionContext(snapshot, self.nodes, jobs, holdings, jobs.get, callout=self.caller.cycle()))
        return self.plugin

    def place(self, number: int, node: str) -> None:
        self.ledger.place(self.view, self.tasks[number], self.nodes.statics.row[node], Status.ALLOCATED)

    def refused(self) -> dict[str, str]:
        """Reasons by node."""
        task = self.tasks[0]
        kind = self.plugin.task_class(task)
        checks = self.plugin.dynamic_checks(task.shape, kind, self.nodes)
        names = self.nodes.statics.names
        return {names[row]: check.reason for check in checks for row in range(len(names)) if not check.passes[row]}

    def scores(self) -> dict[str, float] | None:
        task = self.tasks[0]
        everywhere = self.nodes.idle[0] >= 0
        found = self.plugin.relative_score(task.shape, task.labels, self.nodes, everywhere)
        return None if found is None else dict(zip(self.nodes.statics.names, found.tolist(), strict=True))

    def victims(self, *, reclaiming: bool = False) -> list[str] | None:
        votes = self.plugin.victim_votes(self.tasks[0], Purpose.RECLAIM if reclaiming else Purpose.PREEMPT)
        found = None if votes is None else votes.agreed([self.victim])
        return None if found is None else [task.name for task in found]


# -- what is sent ---------------------------------------------------------------------------------------------------

TASK = {
    "uid": "ns-new-0",
    "namespace": "ns",
    "name": "new-0",
    "job": "ns/new",
    "role": "",
    "labels": {"job": "new"},
    "priority": 1,
    "preemptable": True,
    "request": {"cpu": "1500m", "memory": "1Gi", "pods": "1"},
    "node": "",
    "status": "Pending",
}
KIND = {
    "namespace": "ns",
    "labels": {"job": "new"},
    "request": {"cpu": "1500m", "memory": "1Gi", "pods": "1"},
    "nodeSelector": {},
}
VICTIM = TASK | {
    "uid": "ns-old-0",
    "name": "old-0",
    "job": "ns/old",
    "labels": {"job": "old"},
    "request": {"cpu": "500m", "memory": "1Gi", "pods": "1"},
    "node": "n1",
    "status": "Running",
}
FREE = {"cpu": "4", "memory": "16Gi", "pods": "110"}
N1 = {
    "name": "n1",
    "labels": {},
    "taints": [],
    "unschedulable": False,
    "allocatable": FREE,
    "idle": {"cpu": "3500m", "memory": "15Gi", "pods": "109"},
    "releasing": {},
    "pipelined": {},
}
N2 = N1 | {"name": "n2", "labels": {"zone": "b"}, "idle": FREE}
QUEUE = {
    "name": "q",
    "weight": 3,
    "priority": 0,
    "parent": "",
    "state": "Open",
    "reclaimable": True,
    "annotations": {},
    "capability": {},
    "deserved": {},
    "guarantee": {},
    "allocated": {"cpu": "500m", "memory": "1Gi", "pods": "1"},
}
JOB = {
    "uid": "",
    "namespace": "ns",
    "name": "new",
    "queue": "q",
    "priority": 0,
    "phase": "Inqueue",
    "annotations": {},
    "minMember": 2,
    "minResources": {"cpu": "3"},
    "ready": 0,
    "waiting": 0,
    "pending": 2,
    "allocated": {},
}
PENDING = [TASK, TASK | {"uid": "ns-new-1", "name": "new-1"}]
DEFAULT = QUEUE | {"name": "default", "weight": 1, "allocated": {}}
SESSION = {
    "jobs": {"ns/new": JOB | {"tasks": PENDING}},
    "nodes": {"n1": N1, "n2": N2},
    "queues": {"default": DEFAULT, "q": QUEUE},
    "namespaceInfo": {},
}

ASKED: dict[str, tuple[Callable[[Bench], object], Payload]] = {
    "session_open": (lambda bench: None, SESSION),
    "session_close": (lambda bench: bench.plugin.end_cycle(), {}),
    "queue_overused": (lambda bench: bench.plugin.overused(bench.cluster.queues["q"]), {"queue": QUEUE}),
    "job_enqueueable": (lambda bench: bench.plugin.job_enqueueable(bench.view), {"job": JOB}),
    "job_enqueued": (lambda bench: bench.plugin.job_enqueued(bench.view), {"job": JOB}),
    "job_ready": (lambda bench: bench.plugin.job_ready(bench.view), {"job": JOB}),
    "predicate": (lambda bench: bench.refused(), {"task": KIND, "nodes": [N1, N2]}),
    "prioritize": (lambda bench: bench.scores(), {"task": KIND, "nodes": [N1, N2]}),
    "preemptable": (lambda bench: bench.victims(), {"evictor": TASK, "evictees": [VICTIM]}),
    "reclaimable": (lambda bench: bench.victims(reclaiming=True), {"evictor": TASK, "evictees": [VICTIM]}),
    "allocate": (lambda bench: bench.place(0, "n2"), {"task": TASK | {"node": "n2", "status": "Allocated"}}),
    "deallocate": (
        lambda bench: (bench.place(0, "n2"), bench.ledger.undo_to(0)),
        {"task": TASK | {"node": "n2", "status": "Allocated"}},
    ),
}


@pytest.mark.parametrize("verb", ASKED)
def test_each_verb_is_sent_what_it_is_about_once(server: ExtenderServer, caller: Caller, verb: str) -> None:
    act, payload = ASKED[verb]
    bench = Bench(caller, server.url, verb)
    bench.open()
    act(bench)

    assert server.requests == [(verb, payload)]


def test_without_verbs_it_has_no_opinion_and_nothing_is_sent(server: ExtenderServer, caller: Caller) -> None:
    bench = Bench(caller, server.url)
    plugin, task = bench.open(), bench.tasks[0]
    bench.place(0, "n1")
    bench.ledger.undo_to(0)
    plugin.job_enqueued(bench.view)
    plugin.end_cycle()

    assert not plugin.overused(bench.cluster.queues["q"])
    assert plugin.job_ready(bench.view)
    assert plugin.job_enqueueable(bench.view) is Vote.ABSTAIN
    assert not plugin.is_dynamic(task.shape, plugin.task_class(task))
    assert (bench.refused(), bench.scores(), plugin.score(task.shape, bench.nodes, [0])) == ({}, None, None)
    assert (bench.victims(), bench.victims(reclaiming=True)) == (None, None)
    assert [plugin.victim_votes(task, purpose) for purpose in Purpose] == [None, None]
    assert server.requests == []
    assert caller.counts == {"answered": 0, "failed": 0, "skipped": 0}


# -- what answers come to -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verb", "answer", "outcome"),
    [
        pytest.param("queue_overused", {"overused": True}, True, id="a queue that has had its share"),
        pytest.param("queue_overused", {"overused": False, "more": 1}, False, id="a queue that has not"),
        pytest.param("job_enqueueable", {"status": 1}, Vote.PERMIT, id="a job is admitted"),
        pytest.param("job_enqueueable", {"status": 0}, Vote.ABSTAIN, id="no opinion on a job"),
        pytest.param(
            "job_enqueueable",
            {"status": -1},
            Refusal("ExtenderRejected", "the extender rejected it", code=Code.REFUSED),
            id="a job is rejected",
        ),
        pytest.param("job_ready", {"status": True}, True, id="a job is ready"),
        pytest.param("job_ready", {"status": False}, False, id="a job is not ready"),
        pytest.param("predicate", {}, {}, id="no word against any node"),
        pytest.param("predicate", {"nodes": None}, {}, id="no word against any node, as Go says it"),
        pytest.param(
            "predicate",
            {"nodes": {"n1": {"errorMessage": "broken \n disk"}, "n9": {"errorMessage": "gone"}}},
            {"n1": "broken disk"},
            id="one node is out, and one that is not there",
        ),
        pytest.param(
            "predicate", {"errorMessage": "not today"}, {"n1": "not today", "n2": "not today"}, id="all nodes are out"
        ),
        pytest.param("prioritize", {"nodeScore": {"n2": 7, "n9": 1}}, {"n1": 0.0, "n2": 7.0}, id="scores"),
        pytest.param("prioritize", {"nodeScore": None}, {"n1": 0.0, "n2": 0.0}, id="no scores, as Go says it"),
        pytest.param(
            "prioritize",
            {"nodeScore": {"n2": 7}, "errorMessage": "no data"},
            {"n1": 0.0, "n2": 0.0},
            id="scores beside an error do not count",
        ),
        pytest.param("preemptable", {"status": 1, "victims": [{"uid": "ns-old-0"}]}, ["old-0"], id="a victim"),
        pytest.param("reclaimable", {"status": 1, "victims": [{"UID": "ns-old-0"}]}, ["old-0"], id="as Go says it"),
        pytest.param("preemptable", {"status": 1, "victims": [{"uid": "ns-x"}]}, [], id="no pod that was asked about"),
        pytest.param("preemptable", {"status": 1, "victims": None}, [], id="nobody may go"),
        pytest.param("preemptable", {"status": -1, "victims": [{"uid": "ns-old-0"}]}, [], id="rejected"),
        pytest.param("reclaimable", {"status": 0, "victims": [{"uid": "ns-old-0"}]}, None, id="no opinion on victims"),
    ],
)
def test_what_an_answer_comes_to(
    server: ExtenderServer, caller: Caller, verb: str, answer: Payload, outcome: object
) -> None:
    server.answers[verb] = answer
    bench = Bench(caller, server.url, verb)
    bench.open()

    assert ASKED[verb][0](bench) == outcome


FAILURES = {
    "refused": None,
    "hanging": HANGING,
    "html": HTML,
    "an error": BROKEN,
    "half an answer": BREAKING_OFF,
    "too much": TOO_LARGE,
    "other json": OTHER_JSON,
}
ALL_OUT = {"n1": SILENT, "n2": SILENT}
WITHOUT_ANSWER: dict[str, tuple[object, object]] = {
    "queue_overused": (False, True),
    "job_enqueueable": (Vote.PERMIT, Refusal("ExtenderFailed", SILENT, code=Code.REFUSED)),
    "job_ready": (True, False),
    "predicate": ({}, ALL_OUT),
    "prioritize": ({"n1": 0.0, "n2": 0.0}, {"n1": 0.0, "n2": 0.0}),
    "preemptable": (None, []),
    "reclaimable": (None, []),
}


@pytest.mark.parametrize("ignorable", [True, False], ids=["ignorable", "needed"])
@pytest.mark.parametrize("verb", WITHOUT_ANSWER)
@pytest.mark.parametrize("failure", FAILURES)
def test_without_an_answer_an_ignorable_extender_is_passed_over_and_another_holds_back(
    server: ExtenderServer, caller: Caller, failure: str, verb: str, ignorable: bool
) -> None:
    reply = FAILURES[failure]
    if reply is not None:
        server.answers[verb] = reply
    timeout = 0.05 if reply is HANGING else 5.0
    url = refusing() if reply is None else server.url
    bench = Bench(caller, url, verb, ignorable=ignorable, timeout=timeout)
    bench.open()
    outcome = WITHOUT_ANSWER[verb][0 if ignorable else 1]
    told = ASKED[verb][0](bench)

    if reply in (HTML, OTHER_JSON):
        outcome = _reworded(outcome)
    assert told == outcome


def _reworded(outcome: object) -> object:
    """An answer that cannot be read is told apart from none."""
    if isinstance(outcome, Refusal):
        return outcome._replace(message=MISFIT)
    return dict.fromkeys(outcome, MISFIT) if outcome == ALL_OUT and isinstance(outcome, dict) else outcome


@pytest.mark.parametrize("verb", ["session_open", "session_close", "job_enqueued", "allocate", "deallocate"])
@pytest.mark.parametrize("reply", [HANGING, BROKEN], ids=["hanging", "an error"])
def test_what_is_only_told_may_go_unheard(server: ExtenderServer, caller: Caller, verb: str, reply: Reply) -> None:
    server.answers[verb] = reply
    bench = Bench(caller, server.url, verb, ignorable=True, timeout=0.05)
    bench.open()
    ASKED[verb][0](bench)

    until_now(lambda: server.verbs)  # it may be given up before the server has read it
    assert server.verbs == [verb]
    assert bench.plugin.job_ready(bench.view)


@pytest.mark.parametrize(("ignorable", "asked"), [(True, True), (False, False)], ids=["ignorable", "needed"])
def test_an_extender_that_did_not_hear_of_the_session_counts_as_silent_unless_it_is_ignorable(
    server: ExtenderServer, caller: Caller, ignorable: bool, asked: bool
) -> None:
    server.answers = {"session_open": BROKEN, "queue_overused": {"overused": False}}
    bench = Bench(caller, server.url, "session_open", "queue_overused", ignorable=ignorable)

    assert bench.open().overused(bench.cluster.queues["q"]) is not asked
    assert ("queue_overused" in server.verbs) is asked


def test_without_a_way_out_it_counts_as_silent() -> None:
    args = ExtenderArgs(url_prefix="http://127.0.0.1:1", job_ready_verb="ready")
    cluster = SmallCluster().node("n1")
    view = JobView(cluster.job("new", 1))

    assert not cluster.opened(Extender(args)).job_ready(view)


# -- how often it is asked ------------------------------------------------------------------------------------------


def test_only_nodes_that_have_changed_are_asked_about_again(server: ExtenderServer, caller: Caller) -> None:
    def full(payload: Payload) -> Payload:
        used = [node["name"] for node in payload["nodes"] if node["idle"]["cpu"] == "2"]
        return {"nodes": {name: {"errorMessage": "has its pod"} for name in used}}

    server.answers["predicate"] = full
    bench = Bench(caller, server.url, "predicate", "prioritize")
    bench.cluster.jobs.pop("ns/old")
    bench.open()

    assert bench.refused() == {}
    bench.place(0, "n1")
    bench.ledger.undo_to(0)
    bench.place(0, "n1")
    assert bench.refused() == {}
    bench.place(1, "n2")
    assert [[node["name"] for node in asked["nodes"]] for asked in server.of("predicate")] == [["n1", "n2"], ["n1"]]


def test_a_node_fills_up_and_is_freed_again(server: ExtenderServer, caller: Caller) -> None:
    def full(payload: Payload) -> Payload:
        used = [node["name"] for node in payload["nodes"] if node["idle"] != node["allocatable"]]
        return {"nodes": {name: {"errorMessage": "has its pod"} for name in used}}

    server.answers["predicate"] = full
    bench = Bench(caller, server.url, "predicate")
    bench.cluster.jobs.pop("ns/old")
    bench.open()

    assert bench.refused() == {}
    bench.place(0, "n1")
    assert bench.refused() == {"n1": "has its pod"}
    bench.place(1, "n2")
    assert bench.refused() == {"n1": "has its pod", "n2": "has its pod"}
    bench.ledger.undo_to(1)
    assert bench.refused() == {"n1": "has its pod"}
    assert [len(asked["nodes"]) for asked in server.of("predicate")] == [2, 1, 1, 1]


@given(st.lists(st.sampled_from(["place n1", "place n2", "undo", "look"]), max_size=12))
@settings(max_examples=examples(30), deadline=None)
def test_what_is_known_of_nodes_is_what_a_look_at_all_of_them_would_say(steps: list[str]) -> None:
    def full(payload: Payload) -> Payload:
        return {"nodes": {node["name"]: {"errorMessage": node["idle"]["cpu"]} for node in payload["nodes"]}}

    with extending(predicate=full) as server, Caller() as caller:
        bench = Bench(caller, server.url, "predicate")
        bench.open()
        for step in [*steps, "look"]:
            match step.split():
                case ["place", node] if len(bench.ledger.log) < 2:
                    bench.place(len(bench.ledger.log), node)
                case ["undo"] if bench.ledger.log:
                    bench.ledger.undo_to(len(bench.ledger.log) - 1)
                case ["look"]:
                    idle = dict(zip(bench.nodes.statics.names, bench.nodes.idle[0].tolist(), strict=True))
                    assert bench.refused() == {name: format_milli(cpu) for name, cpu in idle.items()}


@pytest.mark.parametrize(
    ("labels", "kinds"),
    [
        pytest.param({"apps.kubernetes.io/pod-index": "1"}, 1, id="a number among its like is none"),
        pytest.param({"tier": "web"}, 2, id="any other label is"),
    ],
)
def test_what_makes_a_kind_of_pod(server: ExtenderServer, caller: Caller, labels: dict[str, str], kinds: int) -> None:
    bench = Bench(caller, server.url, "predicate", "prioritize")
    plugin, task = bench.open(), bench.tasks[0]
    other = bench.cluster.shapes.labels("ns", {"job": "new", **labels})
    for one in (task.labels, other, task.labels):
        plugin.dynamic_checks(task.shape, plugin.task_class(msgspec.structs.replace(task, labels=one)), bench.nodes)
        plugin.relative_score(task.shape, one, bench.nodes, bench.nodes.idle[0] > 0)

    assert server.verbs.count("predicate") == server.verbs.count("prioritize") == kinds


def test_reasons_beyond_a_few_are_told_as_one(server: ExtenderServer, caller: Caller) -> None:
    server.answers["predicate"] = lambda payload: {
        "nodes": {node["name"]: {"errorMessage": f"no {node['name']}" * 99, "code": 2} for node in payload["nodes"]}
    }
    bench = Bench(caller, server.url, "predicate")
    for number in range(20):
        bench.cluster.node(f"m{number}")
    bench.open()
    reasons = set(bench.refused().values())

    assert len(bench.refused()) == 22
    assert len(reasons) == 9
    assert max(map(len, reasons)) == 200
    assert OTHER_REASON in reasons


@pytest.mark.parametrize(("code", "curable"), [(0, False), (1, False), (2, True), (3, False)])
def test_whether_evicting_could_cure_it_is_in_the_code(
    server: ExtenderServer, caller: Caller, code: int, curable: bool
) -> None:
    server.answers["predicate"] = {"nodes": {"n1": {"errorMessage": "full", "code": code}}}
    bench = Bench(caller, server.url, "predicate")
    plugin, task = bench.open(), bench.tasks[0]
    checks = plugin.dynamic_checks(task.shape, plugin.task_class(task), bench.nodes)

    assert [check.resolvable for check in checks] == [curable]


def test_queues_with_work_are_asked_about_at_the_start_and_again_once_something_was_told(
    server: ExtenderServer, caller: Caller
) -> None:
    bench = Bench(caller, server.url, "queue_overused", "allocate")
    plugin, queue = bench.open(), bench.cluster.queues["q"]
    assert server.verbs == ["queue_overused"]
    plugin.overused(queue)
    plugin.overused(queue)
    assert server.verbs == ["queue_overused"]
    bench.place(0, "n1")
    plugin.overused(queue)
    plugin.overused(queue)
    assert server.verbs == ["queue_overused", "allocate", "queue_overused"]
    assert server.of("queue_overused")[1]["queue"]["allocated"]["cpu"] == "2"


def test_whether_a_job_is_ready_is_asked_again_once_it_has_changed(server: ExtenderServer, caller: Caller) -> None:
    server.answers["job_ready"] = lambda payload: {"status": payload["job"]["ready"] == 2}
    bench = Bench(caller, server.url, "job_ready")
    plugin = bench.open()
    bench.place(0, "n1")
    assert not plugin.job_ready(bench.view)
    assert not plugin.job_ready(bench.view)
    bench.place(1, "n1")
    assert plugin.job_ready(bench.view)
    assert [asked["job"]["ready"] for asked in server.of("job_ready")] == [1, 2]


@pytest.mark.parametrize(
    ("answer", "ignorable", "ready"),
    [
        pytest.param({}, False, True, id="taken note of"),
        pytest.param({"errorMessage": "no"}, False, False, id="refused"),
        pytest.param({"errorMessage": "no"}, True, False, id="refused by an ignorable one"),
        pytest.param(BROKEN, False, False, id="not heard"),
        pytest.param(BROKEN, True, True, id="not heard by an ignorable one"),
    ],
)
def test_a_job_is_not_ready_with_a_placement_that_the_extender_did_not_take_note_of(
    server: ExtenderServer, caller: Caller, answer: Any, ignorable: bool, ready: bool
) -> None:
    server.answers["allocate"] = answer
    bench = Bench(caller, server.url, "allocate", "deallocate", ignorable=ignorable)
    plugin = bench.open()
    bench.place(0, "n1")
    bench.place(1, "n1")
    assert plugin.job_ready(bench.view) is ready
    bench.ledger.undo_to(1)
    assert plugin.job_ready(bench.view) is ready
    bench.ledger.undo_to(0)
    assert plugin.job_ready(bench.view)
    assert server.verbs == ["allocate", "allocate", "deallocate", "deallocate"]


# -- which pods are its business ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("managed", "asked"),
    [
        pytest.param((GPU,), True, id="a pod that asks for it"),
        pytest.param(("example.com/other", "cpu"), True, id="for one of them"),
        pytest.param(("example.com/other",), False, id="for none of them"),
    ],
)
def test_pods_are_the_extenders_business_by_what_they_ask_for(
    server: ExtenderServer, caller: Caller, managed: tuple[str, ...], asked: bool
) -> None:
    verbs = ("predicate", "prioritize", "preemptable", "reclaimable", "allocate", "deallocate")
    bench = Bench(caller, server.url, *verbs, managed_resources=managed)
    shape = bench.cluster.shape(**{GPU: 1000})
    bench.tasks = [_like(task, shape) for task in bench.tasks]
    plugin = bench.open()
    bench.refused()
    bench.scores()
    bench.victims()
    bench.victims(reclaiming=True)
    bench.place(0, "n1")
    bench.ledger.undo_to(0)

    assert set(server.verbs) == (set(verbs) if asked else set())
    for purpose in Purpose:
        assert (plugin.victim_votes(bench.tasks[0], purpose) is not None) is asked
    assert plugin.is_relative(shape, bench.tasks[0].labels) is asked


def _like(task: Task, shape: Any) -> Task:
    return Task(task.uid, task.namespace, task.name, task.job, shape, task.labels, task.status)


def test_jobs_and_queues_are_its_business_whatever_they_ask_for(server: ExtenderServer, caller: Caller) -> None:
    bench = Bench(caller, server.url, "queue_overused", "job_enqueueable", managed_resources=(GPU,))
    bench.view.phase = Phase.PENDING
    bench.open().job_enqueueable(bench.view)

    assert server.verbs == ["queue_overused", "job_enqueueable"]
