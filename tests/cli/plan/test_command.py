"""``vsched plan``: its stable JSON, what it reads, what it ignores, and how it refuses what it cannot read."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from tests.support.hypernodes import hypernode_object
from tests.support.plans import manifests
from vsched.cli import cli
from vsched.cli.plan.words import objects as objects_words
from vsched.errors import VschedError
from vsched.kernels.topology import words as topology_words
from vsched.mirror.ingest.words import nodes as nodes_words
from vsched.plugins.words import queues as queues_words

CLUSTER = """
    node n1 cpu=4 memory=8Gi
    queue q weight=2 capability=cpu:3 guarantee=cpu:1
    weight x 3
    job x/a min=2 pods=3 cpu=1 queue=q
    job x/big min=2 pods=2 cpu=3 queue=q
"""


def invoke(*arguments: str, stdin: str = "") -> Result:
    return CliRunner().invoke(cli, ["plan", *arguments], input=stdin)


def written(objects: list[dict[str, Any]]) -> str:
    return yaml.safe_dump_all(objects)


def plan_of(*arguments: str, stdin: str) -> dict[str, Any]:
    found = invoke("-f", "-", "-o", "json", *arguments, stdin=stdin)
    assert found.exit_code == 0, found.output
    document: dict[str, Any] = json.loads(found.stdout)
    return document


def test_the_json_has_the_shape_that_others_rely_on() -> None:
    document = plan_of(stdin=written([*manifests(CLUSTER), {"kind": "Secret", "metadata": {"name": "s"}}]))

    assert document == {
        "cycles": [
            {
                "binds": [{"pod": f"x/a.{number}", "node": "n1"} for number in range(3)],
                "evictions": [],
                "nominations": [],
            }
        ],
        "jobs": {
            "x/a": {
                "phase": "Inqueue",
                "queue": "q",
                "minMember": 2,
                "ready": 3,
                "pending": 0,
                "message": "",
                "reasons": {},
            },
            "x/big": document["jobs"]["x/big"],
        },
        "queues": {
            "q": {
                "share": 1.0,
                "weight": 2,
                "allocated": {"cpu": "3"},
                "deserved": {"cpu": "3"},
                "capability": {"cpu": "3"},
                "guarantee": {"cpu": "1"},
                "overused": False,
            }
        },
        "namespaces": {"q/x": {"weight": 3, "share": 0.75, "allocated": {"cpu": "3"}}},
        "allocations": {},
        "unschedulable": {key: document["unschedulable"][key] for key in ("x/big.0", "x/big.1")},
        "ignored": {"Secret": 1},
    }
    assert document["jobs"]["x/big"].keys() == document["jobs"]["x/a"].keys()
    assert all(found.keys() == {"message", "reasons"} for found in document["unschedulable"].values())


@pytest.mark.parametrize(
    "dump",
    [
        pytest.param(written, id="YAML documents"),
        pytest.param(lambda objects: json.dumps({"kind": "List", "items": objects}), id="a JSON list object"),
        pytest.param(lambda objects: yaml.safe_dump({"kind": "List", "items": objects}), id="a YAML list object"),
        pytest.param(lambda objects: "\n---\n".join(json.dumps(one) for one in objects), id="JSON documents"),
    ],
)
def test_input_may_come_as(dump: Any) -> None:
    objects = manifests(CLUSTER)

    assert plan_of(stdin=dump(objects)) == plan_of(stdin=written(objects))


def test_several_files_are_one_cluster(tmp_path: Path) -> None:
    objects = manifests(CLUSTER)
    arguments = []
    for number, found in enumerate((objects[:2], objects[2:])):
        path = tmp_path / f"{number}.yaml"
        path.write_text(written(found), encoding="utf-8")
        arguments += ["-f", str(path)]

    assert json.loads(invoke(*arguments, "-o", "json").stdout) == plan_of(stdin=written(objects))


def test_yaml_says_the_same_as_json() -> None:
    stdin = written(manifests(CLUSTER))

    assert yaml.safe_load(invoke("-f", "-", "-o", "yaml", stdin=stdin).stdout) == plan_of(stdin=stdin)


def test_text_tells_what_is_decided_and_why_the_rest_waits() -> None:
    told = invoke("-f", "-", stdin=written(manifests(CLUSTER))).stdout

    for word in ("x/a.0", "n1", "x/big", "0/2", "q"):
        assert word in told
    assert "decides nothing" in invoke("-f", "-", stdin=written(manifests("node n1"))).stdout


def test_what_one_cycle_decides_has_come_true_in_the_next() -> None:
    text = "node n1 cpu=2\nqueue q\njob x/a min=1 pods=4 cpu=1 queue=q"
    one, two = (plan_of("--cycles", cycles, stdin=written(manifests(text))) for cycles in "12")

    assert one["cycles"] == two["cycles"][:1]
    assert two["cycles"][1] == {"binds": [], "evictions": [], "nominations": []}
    assert (one["jobs"]["x/a"]["phase"], two["jobs"]["x/a"]["phase"]) == ("Inqueue", "Running")


def test_another_policy_decides_otherwise(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("actions: enqueue\ntiers:\n- plugins:\n  - name: gang\n", encoding="utf-8")
    stdin = written(manifests(CLUSTER))

    assert plan_of(stdin=stdin)["cycles"][0]["binds"]
    assert plan_of("--config", str(policy), stdin=stdin)["cycles"][0]["binds"] == []


def test_pods_spread_by_what_selects_them(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    weights = {"leastrequested.weight": 0, "balancedresource.weight": 0}
    plugins = [{"name": "gang"}, {"name": "predicates"}, {"name": "nodeorder", "arguments": weights}]
    policy.write_text(yaml.safe_dump({"actions": "enqueue, allocate", "tiers": [{"plugins": plugins}]}))
    cluster = manifests("node n1\nnode n2\nnode n3\njob x/a pods=6 cpu=500m")
    service = {"kind": "Service", "metadata": {"name": "s", "namespace": "x"}, "spec": {"selector": {"job": "a"}}}

    def loads(objects: list[dict[str, Any]]) -> Counter[str]:
        document = plan_of("--config", str(policy), stdin=written(objects))
        return Counter(bind["node"] for bind in document["cycles"][0]["binds"])

    assert loads(cluster) == {"n1": 6}
    assert loads([*cluster, service]) == {"n1": 2, "n2": 2, "n3": 2}


@pytest.mark.parametrize(
    ("scheduler", "arguments", "is_ours"),
    [
        pytest.param("vsched", (), True, id="ours by name"),
        pytest.param("volcano", (), True, id="those of the scheduler that is replaced"),
        pytest.param(None, (), True, id="those that name none"),
        pytest.param("default-scheduler", (), False, id="not those of others"),
        pytest.param("default-scheduler", ("--scheduler-name", "default-scheduler"), True, id="unless asked to"),
        pytest.param("vsched", ("--scheduler-name", "other"), False, id="and then nobody else's"),
    ],
)
def test_whose_pods_are_planned_for(scheduler: str | None, arguments: tuple[str, ...], is_ours: bool) -> None:
    objects = manifests("node n1\njob x/a min=1 pods=1 cpu=1")
    objects[-1]["spec"]["schedulerName"] = scheduler

    assert bool(plan_of(*arguments, stdin=written(objects))["cycles"][0]["binds"]) is is_ours
    told = invoke("-f", "-", *arguments, stdin=written(objects)).stderr
    assert (objects_words.pods_left_out("1 pod", str(scheduler), "a.0") in told) is not is_ours


def test_a_pod_without_a_group_is_bound_and_is_no_job_of_its_own() -> None:
    objects = manifests("node n1\npods x/a 1 cpu=1")
    del objects[-1]["metadata"]["annotations"]
    document = plan_of(stdin=written(objects))

    assert document["cycles"][0]["binds"] == [{"pod": "x/a.0", "node": "n1"}]
    assert document["jobs"] == {}


def test_the_same_input_gives_the_same_bytes() -> None:
    stdin = written(manifests(CLUSTER))

    assert len({invoke("-f", "-", "-o", "json", stdin=stdin).stdout for _ in range(3)}) == 1


@pytest.mark.parametrize(
    ("stdin", "arguments", "told"),
    [
        pytest.param("kind: [", (), "stdin:2: ", id="no YAML"),
        pytest.param("just text", (), "text (expected an object with a kind)", id="no object"),
        pytest.param("kind: Node", (), "metadata.name: missing", id="no name"),
        pytest.param(
            "{kind: Node, metadata: {name: n}, status: {allocatable: {cpu: lots}}}",
            (),
            "stdin:document 1: Node n: status.allocatable.cpu: 'lots' is not a quantity",
            id="no quantity",
        ),
        pytest.param(
            "{kind: Queue, metadata: {name: q}, spec: {weight: heavy}}",
            (),
            'Queue q: spec.weight: must be an integer, is "heavy"',
            id="no number",
        ),
        pytest.param("kind: Node\nmetadata: {name: n}", ("--now", "soon"), "--now: 'soon' is not a time", id="no time"),
        pytest.param(
            "kind: Node\nmetadata: {name: n}", ("--now", "2026-01-01T00:00:00"), "has no time zone", id="no time zone"
        ),
        pytest.param("", ("-f", "/does/not/exist"), "/does/not/exist", id="no file"),
        pytest.param("", ("--config", "/does/not/exist"), "/does/not/exist", id="no policy"),
    ],
)
def test_what_cannot_be_read_is_refused_with_one_line(stdin: str, arguments: tuple[str, ...], told: str) -> None:
    found = invoke("-f", "-", *arguments, stdin=stdin)

    assert isinstance(found.exception, VschedError)
    assert told in str(found.exception)
    assert "\n" not in str(found.exception)


def test_without_files_it_says_how_it_is_used() -> None:
    found = invoke()

    assert found.exit_code == 2
    assert "Missing option '-f'" in found.output


def test_an_annotation_that_cannot_be_used_is_told_and_stops_nothing() -> None:
    late = "job x/late pods=1 cpu=1 volcano.sh/sla-waiting-time=soon\nnode n1"
    found = invoke("-f", "-", "-o", "json", stdin=written(manifests(late)))

    assert found.exit_code == 0
    assert [bind["pod"] for bind in json.loads(found.stdout)["cycles"][0]["binds"]] == ["x/late.0"]
    assert found.stderr.startswith("vsched: stdin:document 1: PodGroup x/late: metadata.annotations[volcano.sh/sla-")


def test_budgets_and_quotas_are_read_and_not_counted_as_ignored() -> None:
    objects = manifests("node n1\npdb x/guard allowed=1\nquota x/small cpu=1")
    other = {"kind": "PodDisruptionBudget", "apiVersion": "example.com/v1", "metadata": {"name": "not-that-one"}}

    assert plan_of(stdin=written([*objects, other]))["ignored"] == {"PodDisruptionBudget": 1}


def test_the_json_says_more_of_a_queue_where_there_is_more_to_say(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("actions: allocate\ntiers:\n- plugins:\n  - {name: capacity, enableHierarchy: true}\n")
    stdin = written(manifests("node n1\nqueue plain\nqueue other parent=nowhere priority=3 state=Closed"))
    queues = plan_of("--config", str(policy), stdin=stdin)["queues"]

    more = {key: queues["other"][key] for key in queues["other"].keys() - queues["plain"].keys()}
    assert more == {
        "priority": 3,
        "state": "Closed",
        "problem": {"reason": "LeftOut", "message": queues_words.parent_gone("nowhere")},
    }


def test_trees_of_hypernodes_that_are_left_out_are_told_and_the_plan_goes_on() -> None:
    trees = [hypernode_object("a", 1, "n1"), hypernode_object("b", 1, "~^n1"), hypernode_object("c", 2, "^b")]
    found = invoke("-f", "-", stdin=written([*manifests(CLUSTER), *trees]))
    assert found.exit_code == 0
    why = topology_words.node_in_two("n1", "a", "b")
    assert found.stderr == objects_words.hypernodes_left_out("3 HyperNodes", "a, b, c", why) + "\n"


def test_a_hypernode_that_cannot_be_read_is_refused_in_one_line() -> None:
    found = invoke("-f", "-", stdin=written([hypernode_object("a", 1, "~(n")]))
    assert isinstance(found.exception, VschedError)
    assert str(found.exception) == (
        nodes_words.bad_pattern(
            "stdin:document 1: HyperNode a: spec.members[0].selector.regexMatch.pattern", "missing ): (n"
        )
    )
