"""extender in whole cycles, and as a policy file has it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.support import plans
from tests.support.extending import HANGING, ExtenderServer, Payload, extending, refusing
from tests.support.plans import DEFAULT_POLICY, NOW, Plan, manifests, mirror
from tests.support.waiting import until_now
from vsched.daemon.loop.callouts import Caller
from vsched.errors import BadPolicy
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.framework.words.nodes import available
from vsched.plugins.extender import ExtenderArgs
from vsched.plugins.words.nodes import SILENT
from vsched.settings import load_text
from vsched.settings.built_in import REGISTRY

THREE_NODES = """
    node n1 cpu=4
    node n2 cpu=4
    node n3 cpu=4
"""


@pytest.fixture
def server() -> Iterator[ExtenderServer]:
    with extending() as server:
        yield server


def plan(text: str, policy: Policy = DEFAULT_POLICY, cycles: int = 1) -> Plan:
    """What is decided where the extender is really called."""
    with Caller() as caller:
        return plans.plan(text, policy, cycles=cycles, callouts=caller.cycle)


def policy(url: str, *verbs: str, actions: str = "enqueue, allocate, backfill", **arguments: object) -> Policy:
    given: dict[str, Any] = {"extender.urlPrefix": url, **{f"extender.{verb}Verb": verb for verb in verbs}}
    given |= {f"extender.{key}": value for key, value in arguments.items()}
    plugins = [{"name": "priority"}, {"name": "gang"}, {"name": "predicates"}, {"name": "extender", "arguments": given}]
    text = yaml.safe_dump({"actions": actions, "tiers": [{"plugins": plugins}]})
    return load_text(text, "policy", REGISTRY).policy


def refusing_nodes(*names: str) -> Payload:
    return {"nodes": {name: {"errorMessage": "node(s) had no licence"} for name in names}}


def test_pods_go_where_the_extender_lets_them(server: ExtenderServer) -> None:
    server.answers["predicate"] = refusing_nodes("n1", "n3")
    decided = plan(f"{THREE_NODES}\njob x/a min=2 pods=2 cpu=1", policy(server.url, "predicate"))

    assert set(decided.nodes.values()) == {"n2"}


def test_the_extenders_reasons_are_told_with_all_others(server: ExtenderServer) -> None:
    server.answers["predicate"] = refusing_nodes("n1", "n3")
    decided = plan(f"{THREE_NODES}\njob x/a pods=1 cpu=5\njob x/b pods=1 cpu=1 selector=zone:a", policy(server.url))
    assert decided.why("x/a.0") == available(3, {"Insufficient cpu": 3})

    text = "node n1 cpu=4\nnode n2 cpu=1\nnode n3 cpu=4\njob x/a pods=1 cpu=2"
    decided = plan(text, policy(server.url, "predicate"))
    assert decided.why("x/a.0") == available(3, {"Insufficient cpu": 1, "node(s) had no licence": 2})


def test_pods_go_where_the_extender_likes_them_best(server: ExtenderServer) -> None:
    server.answers["prioritize"] = lambda payload: {
        "nodeScore": {
            node["name"]: float(node["idle"]["cpu"] == "3") * 5 + (node["name"] == "n2") for node in payload["nodes"]
        }
    }
    decided = plan(f"{THREE_NODES}\njob x/a min=3 pods=3 cpu=1", policy(server.url, "prioritize"))

    assert decided.nodes == {"a.0": "n2", "a.1": "n2", "a.2": "n2"}


def test_a_pod_more_than_one_extender_takes_a_node_is_seen_by_it(server: ExtenderServer) -> None:
    """One pod a node: the answer changes with every placement of the cycle."""
    server.answers["predicate"] = lambda payload: refusing_nodes(
        *(node["name"] for node in payload["nodes"] if node["idle"]["cpu"] != "4")
    )
    decided = plan(f"{THREE_NODES}\njob x/a min=1 pods=5 cpu=1", policy(server.url, "predicate"))

    assert sorted(decided.nodes.values()) == ["n1", "n2", "n3"]
    assert decided.why("x/a.3") == available(3, {"node(s) had no licence": 3})
    assert server.verbs == ["predicate"] * 4


def test_a_queue_that_the_extender_calls_overused_gets_nothing(server: ExtenderServer) -> None:
    server.answers["queueOverused"] = lambda payload: {"overused": payload["queue"]["name"] == "q"}
    text = f"{THREE_NODES}\nqueue q\njob x/a pods=1 cpu=1 queue=q\njob x/b pods=1 cpu=1"
    decided = plan(text, policy(server.url, "queueOverused"))

    assert decided.bound == {"b": 1}


def test_a_job_that_the_extender_does_not_admit_waits(server: ExtenderServer) -> None:
    server.answers["jobEnqueueable"] = lambda payload: {"status": 1 if payload["job"]["name"] == "b" else -1}
    text = "\n".join(f"job x/{name} pods=1 cpu=1 phase=Pending minResources=cpu:1" for name in "ab")
    decided = plan(f"{THREE_NODES}\n{text}", policy(server.url, "jobEnqueueable", "jobEnqueued"))

    assert decided.phases() == {"a": "Pending", "b": "Inqueue"}
    assert decided.message("x/a") == "the extender rejected it"
    assert [asked["job"]["name"] for asked in server.of("jobEnqueued")] == ["b"]


def test_a_job_is_bound_once_the_extender_calls_it_ready(server: ExtenderServer) -> None:
    server.answers["jobReady"] = lambda payload: {"status": payload["job"]["ready"] >= 3}
    decided = plan(f"{THREE_NODES}\njob x/a min=1 pods=4 cpu=1\njob x/b pods=2 cpu=1", policy(server.url, "jobReady"))

    assert decided.bound == {"a": 4}


def test_a_session_is_told_of_from_its_opening_to_its_close(server: ExtenderServer) -> None:
    verbs = ("onSessionOpen", "onSessionClose", "allocateFunc", "deallocateFunc")
    decided = plan(f"{THREE_NODES}\njob x/big min=4 pods=4 cpu=3", policy(server.url, *verbs))
    placed = [("allocateFunc", f"big.{number}") for number in range(3)]
    taken_back = [("deallocateFunc", f"big.{number}") for number in (2, 1, 0)]

    assert decided.bound == {}
    assert [(verb, payload.get("task", {}).get("name", "")) for verb, payload in server.requests] == [
        ("onSessionOpen", ""),
        *placed,
        *taken_back,
        ("onSessionClose", ""),
    ]


def test_a_gang_with_a_placement_that_the_extender_refuses_is_not_bound(server: ExtenderServer) -> None:
    server.answers["allocateFunc"] = lambda payload: {"errorMessage": "no" if payload["task"]["name"] == "a.1" else ""}
    decided = plan(
        f"{THREE_NODES}\njob x/a min=2 pods=2 cpu=1\njob x/b pods=2 cpu=1", policy(server.url, "allocateFunc")
    )

    assert decided.bound == {"b": 2}


@pytest.mark.parametrize(
    ("status", "evicted"),
    [
        pytest.param(1, ["old.1"], id="those it names go"),
        pytest.param(-1, [], id="none goes that it rejects"),
        pytest.param(0, ["old.0"], id="without an opinion the others decide"),
    ],
)
def test_victims_are_those_that_the_extender_agrees_to(server: ExtenderServer, status: int, evicted: list[str]) -> None:
    server.answers["preemptable"] = lambda payload: {
        "status": status,
        "victims": [task for task in payload["evictees"] if task["node"] == "n2"],
    }
    text = """
        class high 1000
        node n1 cpu=2
        node n2 cpu=2
        job x/old phase=Running
        pods x/old 1 cpu=2 on=n1 running
        pods x/old 1 cpu=2 on=n2 running
        job x/new pods=1 cpu=2 class=high
    """
    decided = plan(text, policy(server.url, "preemptable", actions="enqueue, allocate, preempt"))

    assert decided.evicted == [evicted]
    assert {payload["evictor"]["name"] for payload in server.of("preemptable")} == {"new.0"}


@pytest.mark.parametrize(("answer", "evicted"), [({"code": 2}, ["low.3"]), ({"code": 0}, []), (None, [])])
def test_nobody_is_evicted_on_a_node_that_the_extender_refuses_whoever_is_on_it(
    server: ExtenderServer, answer: Payload | None, evicted: list[str]
) -> None:
    """Not even where it agrees a moment later: what it does not answer, or refuses for another reason, may pass."""
    refused = {"nodes": {"n1": {"errorMessage": "node(s) had no licence", **(answer or {})}}}
    server.answers["predicate"] = lambda payload: (
        {} if len(server.of("predicate")) > 1 else {"nodes": 7} if answer is None else refused
    )
    text = "class high 9\nnode n1 cpu=4\njob x/low min=1 phase=Running\npods x/low 4 cpu=1 on=n1 running\n"
    text += "job x/new min=1 pods=1 cpu=1 class=high"
    decided = plan(text, policy(server.url, "predicate", actions="enqueue, allocate, preempt"))

    assert decided.evicted == [evicted]


def test_each_cycle_is_a_session(server: ExtenderServer) -> None:
    plan(f"{THREE_NODES}\njob x/a pods=1 cpu=1", policy(server.url, "onSessionOpen", "onSessionClose"), cycles=2)

    assert server.verbs == ["onSessionOpen", "onSessionClose"] * 2


ALL = ("predicate", "prioritize", "preemptable", "reclaimable", "queueOverused", "jobEnqueueable", "jobReady")


@pytest.mark.parametrize(("ignorable", "bound"), [(True, {"a": 2}), (False, {})], ids=["ignorable", "needed"])
@pytest.mark.parametrize("silence", ["refuses", "hangs"])
def test_a_dead_extender(server: ExtenderServer, silence: str, ignorable: bool, bound: dict[str, int]) -> None:
    server.answers = dict.fromkeys(ALL, HANGING)
    url = refusing() if silence == "refuses" else server.url
    text = f"{THREE_NODES}\njob x/a min=2 pods=2 cpu=1 phase=Pending minResources=cpu:2"
    decided = plan(text, policy(url, *ALL, ignorable=ignorable, httpTimeout="200ms"))

    assert decided.bound == bound
    if silence == "hangs":
        asked = ["queueOverused", "jobEnqueueable", *(["predicate"] if ignorable else [])]
        # On a busy machine it hears a question after nobody waits for the answer any more.
        until_now(lambda: len(server.verbs) >= len(asked))
        assert sorted(server.verbs) == sorted(asked), "no more is asked of what was silent three times"


def test_a_needed_extender_that_is_dead_is_given_as_the_reason() -> None:
    decided = plan(f"{THREE_NODES}\njob x/a pods=1 cpu=1", policy(refusing(), "predicate"))

    assert decided.why("x/a.0") == available(3, {SILENT: 3})


def test_a_policy_without_the_plugin_calls_nobody(server: ExtenderServer) -> None:
    decided: Plan = plan(f"{THREE_NODES}\njob x/a pods=1 cpu=1")

    assert decided.bound == {"a": 1}
    assert server.requests == []


def test_a_cycle_without_a_way_out_places_nothing_that_an_extender_is_needed_for(server: ExtenderServer) -> None:
    snapshot = mirror(manifests(f"{THREE_NODES}\njob x/a pods=1 cpu=1")).snapshot(NOW)
    report = run_cycle(snapshot, policy(server.url, "predicate"), REGISTRY)

    assert report.binds == ()
    assert server.requests == []


# -- the policy file ------------------------------------------------------------------------------------------------


def test_every_key_is_read() -> None:
    verbs = [
        *("onSessionOpen", "onSessionClose", "predicate", "prioritize", "preemptable", "reclaimable"),
        *("queueOverused", "jobEnqueueable", "jobEnqueued", "jobReady", "allocateFunc", "deallocateFunc"),
    ]
    given = {"httpTimeout": "100ms", "cycleTimeout": "2s", "ignorable": "true", "managedResources": ["example.com/gpu"]}
    conf = policy("http://127.0.0.1:8080/v1/", *verbs, **given).plugin("extender")

    assert conf is not None
    assert conf.args == ExtenderArgs(
        url_prefix="http://127.0.0.1:8080/v1",
        timeout_seconds=0.1,
        cycle_seconds=2.0,
        ignorable=True,
        managed_resources=("example.com/gpu",),
        session_open_verb="onSessionOpen",
        session_close_verb="onSessionClose",
        predicate_verb="predicate",
        prioritize_verb="prioritize",
        preemptable_verb="preemptable",
        reclaimable_verb="reclaimable",
        queue_overused_verb="queueOverused",
        job_enqueueable_verb="jobEnqueueable",
        job_enqueued_verb="jobEnqueued",
        job_ready_verb="jobReady",
        allocate_verb="allocateFunc",
        deallocate_verb="deallocateFunc",
    )


@pytest.mark.parametrize(
    "url",
    [
        *("127.0.0.1:8080", "ftp://host", "http://", "http://host:0", "http://host:99999", "http://[::1"),
        *("http://a b", "http://h?q=1", "http://user:word@host", "http://host/#part"),
    ],
)
def test_a_prefix_that_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(BadPolicy, match=r"extender\.urlPrefix: expected http\(s\)://host\[:port\]\[/path\]"):
        policy(url, "predicate")


@pytest.mark.parametrize("url", ["http://host", "https://host:8443/a/b/", "http://[::1]:80", "http://10.0.0.1"])
def test_a_prefix_that_is_an_address_is_taken(url: str) -> None:
    conf = policy(url, "predicate").plugin("extender")

    assert conf is not None
    assert isinstance(conf.args, ExtenderArgs)
    assert conf.args.url_prefix == url.rstrip("/")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param(
            {"extender.predicateVerb": "filter"}, "extender.urlPrefix: missing", id="verbs without an address"
        ),
        pytest.param({"extender.httpTimeout": "0s"}, "expected a duration", id="no time at all"),
        pytest.param({"extender.httpTimeout": "5"}, "expected a duration", id="time without a unit"),
        pytest.param({"extender.predicateVerb": "a b"}, "expected text that matches", id="a verb with a blank"),
        pytest.param({"extender.filterVerb": "filter"}, "unknown argument", id="a verb that does not exist"),
    ],
)
def test_what_else_is_refused(arguments: dict[str, object], told: str) -> None:
    text = yaml.safe_dump(
        {"actions": "allocate", "tiers": [{"plugins": [{"name": "extender", "arguments": arguments}]}]}
    )
    with pytest.raises(BadPolicy) as caught:
        load_text(text, "policy", REGISTRY)
    assert told in str(caught.value)
