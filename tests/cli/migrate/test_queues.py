"""``vsched migrate queues``: what queues of Kueue and KAI become, and what is said of the rest."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from tests.support.other_queues import (
    cluster_queue,
    cohort,
    flavor,
    kai_definitions,
    kai_queue,
    kueue,
    kueue_definitions,
    local_queue,
    numbers,
    quota,
)
from vsched.cli import cli
from vsched.cli.migrate.queues import words as queues_words
from vsched.cli.migrate.queues.convert import EXPECTED, convert, converted_text
from vsched.errors import BadInput
from vsched.sim.cluster import Cluster

Obj = dict[str, Any]
GPU = "nvidia.com/gpu"
TOP = Path(__file__).parents[3]


def made(*objects: Obj) -> dict[str, Obj]:
    """The specs of the Queues that are made, by name."""
    documents = yaml.safe_load_all(converted_text(objects))
    return {one["metadata"]["name"]: one["spec"] for one in documents if one and one["kind"] == "Queue"}


def comments(*objects: Obj) -> list[str]:
    return [line[2:] for line in converted_text(objects).splitlines() if line.startswith("# ")]


# -- Kueue


def test_a_cluster_queue_alone_may_hold_its_quota() -> None:
    spec = made(cluster_queue("a", flavor("x", quota("cpu", 8), quota("memory", "16Gi"))))["a"]
    assert spec == {
        "weight": 1,
        "deserved": {"cpu": "8", "memory": "16Gi"},
        "capability": {"cpu": "8", "memory": "16Gi"},
    }


@pytest.mark.parametrize(
    ("limits", "capability", "guarantee"),
    [
        pytest.param({}, None, None, id="a member of a cohort borrows without limit, and lends all"),
        pytest.param({"borrow": "4"}, "12", None, id="the borrowing limit comes on top of the quota"),
        pytest.param({"borrow": "99"}, "24", None, id="nobody borrows more than the cohort has"),
        pytest.param({"lend": "3"}, None, "5", id="what is not lent is guaranteed"),
        pytest.param({"lend": "8"}, None, None, id="who lends all has no guarantee"),
    ],
)
def test_limits_of_a_member(limits: Obj, capability: str | None, guarantee: str | None) -> None:
    member = cluster_queue("a", flavor("x", quota("cpu", "8", **limits)), cohortName="all")
    found = made(member, cluster_queue("b", flavor("x", quota("cpu", "16")), cohortName="all"))
    assert found["a"]["parent"] == "all"
    assert found["a"].get("capability", {}).get("cpu") == capability
    assert found["a"].get("guarantee", {}).get("resource", {}).get("cpu") == guarantee
    assert found["all"]["capability"] == found["all"]["deserved"] == {"cpu": "24"}


def test_a_cohort_has_its_own_quota_beside_that_of_its_members() -> None:
    found = made(
        cohort("root", flavor("x", quota("cpu", 1))),
        cohort("team", flavor("x", quota("cpu", 2, borrow=3)), parentName="root"),
        cluster_queue("a", flavor("x", quota("cpu", 4)), cohort="team"),
    )
    assert found["root-cohort"] == {"weight": 1, "deserved": {"cpu": "7"}, "capability": {"cpu": "7"}}
    assert found["team"]["parent"] == "root-cohort"
    assert (found["team"]["deserved"], found["team"]["capability"]) == ({"cpu": "6"}, {"cpu": "7"})
    assert list(found) == ["root-cohort", "team", "a"]


def test_guarantees_of_members_are_those_of_the_cohort_too() -> None:
    found = made(
        cohort("top"),
        cohort("team", parentName="top"),
        cluster_queue("a", flavor("x", quota("cpu", 4, lend=1)), cohortName="team"),
        cluster_queue("b", flavor("x", quota("cpu", 4, lend=2)), cohortName="team"),
    )
    assert [found[name]["guarantee"]["resource"]["cpu"] for name in ("a", "b", "team", "top")] == ["3", "2", "5", "5"]


def test_flavors_are_summed_and_named() -> None:
    two = cluster_queue("a", flavor("old", quota(GPU, 4, lend=1)), flavor("new", quota(GPU, 8)), cohortName="c")
    assert made(two)["a"]["deserved"] == {GPU: "12"}
    assert made(two)["a"]["guarantee"] == {"resource": {GPU: "3"}}
    assert any(f"{GPU} is the sum of old, new" in line for line in comments(two))


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        pytest.param(["1", "2"], [1, 2], id="whole weights stay"),
        pytest.param(["500m", "2"], [1, 4], id="fractions become whole numbers in the same proportion"),
        pytest.param(["0.75", "1.5"], [1, 2], id="the smallest such numbers"),
        pytest.param(["0", "3"], [1, 3], id="no weight is 0"),
    ],
)
def test_weights(weights: list[str], expected: list[int]) -> None:
    queues = [cluster_queue(f"q{at}", fairSharing={"weight": weight}) for at, weight in enumerate(weights)]
    assert [spec["weight"] for spec in made(*queues).values()] == expected


@pytest.mark.parametrize(
    ("spec", "word"),
    [
        ({"admissionChecks": ["x"]}, "spec.admissionChecks"),
        ({"admissionChecksStrategy": {"admissionChecks": []}}, "spec.admissionChecksStrategy"),
        ({"preemption": {"withinClusterQueue": "Never"}}, "spec.preemption"),
        ({"flavorFungibility": {"whenCanBorrow": "TryNextFlavor"}}, "spec.flavorFungibility"),
        ({"queueingStrategy": "StrictFIFO"}, "spec.queueingStrategy"),
        ({"namespaceSelector": {"matchLabels": {"a": "b"}}}, "spec.namespaceSelector"),
        ({"namespaceSelector": None}, "spec.namespaceSelector: none"),
        ({"stopPolicy": "HoldAndDrain"}, "spec.stopPolicy: HoldAndDrain"),
        ({"fairSharing": {"weight": 1, "later": 1}}, "spec.fairSharing.later"),
        ({"ofTomorrow": 1}, "spec.ofTomorrow"),
    ],
)
def test_what_a_cluster_queue_cannot_keep_is_named(spec: Obj, word: str) -> None:
    assert any(line.startswith(f"not carried over: {word}") for line in comments(cluster_queue("a", **spec)))


def test_what_has_its_counterpart_is_not_complained_of() -> None:
    spec = {"queueingStrategy": "BestEffortFIFO", "stopPolicy": "None", "fairSharing": {"weight": "2"}}
    told = comments(cluster_queue("a", flavor("x", quota("cpu", 1)), **spec))
    assert not [line for line in told if "not carried" in line]


def test_a_held_queue_is_closed() -> None:
    (document,) = (one for one in yaml.safe_load_all(converted_text([cluster_queue("a", stopPolicy="Hold")])) if one)
    assert document["metadata"]["annotations"] == {"scheduling.volcano.sh/queue-state": "closed"}


def test_other_kinds_are_named() -> None:
    told = comments(
        cluster_queue("a"),
        kueue("ResourceFlavor", "h100", nodeLabels={"a": "b"}, nodeTaints=[{}], tolerations=[], topologyName="t"),
        kueue("AdmissionCheck", "nodes"),
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}},
    )
    for word in (
        queues_words.of_source("h100", "spec.nodeLabels", queues_words.OWN_SELECTORS),
        "spec.nodeTaints",
        "spec.topologyName",
        "AdmissionCheck nodes",
    ):
        assert any(word in line for line in told), word
    assert queues_words.ignored(1, "ConfigMap (v1)") in told
    assert not any("spec.tolerations" in line for line in told)


@pytest.mark.parametrize(
    ("names", "queue", "words"),
    [
        pytest.param(["a"], "a", [], id="the only one is the default"),
        pytest.param(["user"], "a", ["kueue.x-k8s.io/queue-name: user"], id="another name is said"),
        pytest.param(["x", "default"], "a", ["queue-name: x"], id="the one called default is the default"),
        pytest.param(["x", "y"], "", ["there are 2 LocalQueues"], id="of several others none is"),
    ],
)
def test_local_queues(names: list[str], queue: str, words: list[str]) -> None:
    objects = [cluster_queue("a"), *(local_queue("ns", name, "a") for name in names)]
    (namespace,) = convert(objects).namespaces
    assert (namespace.name, namespace.queue) == ("ns", queue)
    assert all(any(word in note for note in namespace.notes) for word in words)
    assert bool(namespace.notes) is bool(words)
    found = [one for one in yaml.safe_load_all(converted_text(objects)) if one and one["kind"] == "Namespace"]
    assert [one["metadata"]["annotations"] for one in found] == (
        [{"scheduling.volcano.sh/queue-name": queue}] if queue else []
    )


def test_a_local_queue_without_its_cluster_queue_is_named() -> None:
    told = comments(cluster_queue("a"), local_queue("ns", "x", "gone"))
    assert queues_words.no_cluster_queue("LocalQueue ns/x", "gone") in told


# -- KAI


def test_numbers_of_kai_are_in_its_units() -> None:
    resources = {
        "cpu": numbers(1500, 4000),
        "memory": numbers(1024, -1, lendingLimit=24),
        "gpu": numbers(0.5, 2),
    }
    assert made(kai_queue("a", resources=resources))["a"] == {
        "weight": 1,
        "deserved": {"cpu": "1500m", "memory": "1000000Ki", GPU: "500m"},
        "capability": {"cpu": "4", GPU: "2"},
        "guarantee": {"resource": {"memory": "1000000000"}},
    }


def test_what_is_not_given_is_none_in_kai() -> None:
    spec = made(kai_queue("a", resources={"gpu": numbers(4)}))["a"]
    assert spec["capability"] == {"cpu": "0", "memory": "0"}
    assert any(line.startswith("spec.resources.cpu.limit: not given") for line in comments(kai_queue("a")))


def test_a_tree_of_kai() -> None:
    every = {"cpu": numbers(-1), "memory": numbers(-1), "gpu": numbers(4)}
    found = made(
        kai_queue("team", "top", resources=every, priority=7, preemptMinRuntime="5m", reclaimMinRuntime="1h"),
        kai_queue("top", resources=every),
    )
    assert list(found) == ["top", "team"]
    assert (found["team"]["parent"], found["team"]["priority"]) == ("top", 7)
    told = comments(kai_queue("a", resources=every))
    assert queues_words.deserves_none("spec.resources.cpu", "cpu") in told


@pytest.mark.parametrize(
    ("spec", "word"),
    [
        ({"displayName": "A"}, "spec.displayName"),
        ({"parentQueue": "gone"}, "spec.parentQueue: Queue gone"),
        ({"priority": -1}, "spec.priority: -1"),
        ({"resources": {"tpu": {}}}, "spec.resources.tpu"),
        ({"resources": {"cpu": {"burst": 1}}}, "spec.resources.cpu.burst"),
        ({"resources": {"cpu": numbers(1, weight=2), "gpu": numbers(1)}}, "spec.resources.cpu.overQuotaWeight: 2"),
    ],
)
def test_what_a_queue_of_kai_cannot_keep_is_named(spec: Obj, word: str) -> None:
    assert any(line.startswith(f"not carried over: {word}") for line in comments(kai_queue("a", **spec)))


def test_children_that_deserve_more_than_their_parent_are_noted() -> None:
    told = comments(
        kai_queue("top", resources={"gpu": numbers(4, 3)}),
        kai_queue("a", "top", resources={"gpu": numbers(3)}),
        kai_queue("b", "top", resources={"gpu": numbers(3, 8)}),
    )
    assert any(line.startswith(f"capability {GPU} 8 is more than that of the queues above, 3") for line in told)
    assert any(line.startswith(f"the queues below deserve 6 {GPU} together, this one 4") for line in told)
    assert any(line.startswith(f"deserved {GPU} 4 is more than capability 3") for line in told)


def test_queues_of_both_get_names_of_their_own() -> None:
    found = made(cluster_queue("a"), kai_queue("a"), kai_queue("b", "a"))
    assert set(found) == {"a", "a-kai", "b"}
    assert found["b"]["parent"] == "a-kai"


# -- what cannot be read


@pytest.mark.parametrize(
    ("obj", "words"),
    [
        (
            cluster_queue("a", flavor("x", quota("cpu", "many"))),
            "resources[0].nominalQuota: cpu: 'many' is not a quantity",
        ),
        (cluster_queue("a", fairSharing={"weight": "x"}), "ClusterQueue a: spec.fairSharing.weight: 'x'"),
        (
            kueue("ClusterQueue", "a", resourceGroups={}),
            "ClusterQueue a: spec.resourceGroups: expected a list, got dict",
        ),
        (kueue("ClusterQueue", "a", cohort=[]) | {"spec": {"cohort": 7}}, "spec.cohort: expected a text, got int"),
        (cohort("a", parentName="a"), queues_words.above_itself("Cohort a", "a -> a")),
        (kai_queue("a", resources={"cpu": {"quota": "1"}}), "spec.resources.cpu.quota: expected a number, got '1'"),
        (kai_queue("a", resources={"cpu": {"quota": -2}}), queues_words.negative("spec.resources.cpu.quota", -2)),
        (kai_queue("a", preemptMinRuntime="soon"), "spec.preemptMinRuntime: 'soon' is not a duration"),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}, queues_words.nothing_to_convert(EXPECTED)),
    ],
)
def test_what_cannot_be_read_is_one_line(obj: Obj, words: str) -> None:
    with pytest.raises(BadInput) as problem:
        converted_text([obj])
    assert words in str(problem.value)


@given(
    st.lists(
        st.tuples(st.integers(0, 50), st.none() | st.integers(0, 50), st.none() | st.integers(0, 50)),
        min_size=1,
        max_size=6,
    )
)
def test_amounts_of_any_cohort_agree(members: list[tuple[int, int | None, int | None]]) -> None:
    queues = [
        cluster_queue(f"q{at}", flavor("x", {"name": "cpu", "nominalQuota": own} | limits(borrow, lend)), cohort="c")
        for at, (own, borrow, lend) in enumerate(members)
    ]
    found = {queue.name: queue for queue in convert(queues).queues}
    top = found.pop("c")
    assert top.deserved["cpu"] == sum(queue.deserved["cpu"] for queue in found.values())
    assert top.guarantee.get("cpu", 0) == sum(queue.guarantee.get("cpu", 0) for queue in found.values())
    for queue in found.values():
        most = queue.capability.get("cpu", top.capability["cpu"])
        assert queue.guarantee.get("cpu", 0) <= queue.deserved["cpu"] <= most <= top.capability["cpu"]


def limits(borrow: int | None, lend: int | None) -> Obj:
    stated = {"borrowingLimit": borrow, "lendingLimit": lend}
    return {name: value for name, value in stated.items() if value is not None}


# -- the command


def run(*words: str, given: str = "") -> Result:
    return CliRunner().invoke(cli, ["migrate", "queues", *words], input=given)


async def test_the_samples_are_taken_by_a_cluster() -> None:
    async with Cluster(1) as cluster:
        for name in ("kueue.yaml", "kai.yaml"):
            found = run(str(TOP / "config/migration" / name))
            assert found.exit_code == 0, found.output
            cluster.apply([one for one in yaml.safe_load_all(found.output) if one])
        queue = cluster.client.get("scheduling.volcano.sh/queues", "", "research")
        assert queue is not None
        assert queue["spec"]["parent"] == "company"


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
async def test_queues_of_a_cluster(tmp_path: Path, version: str) -> None:
    async with Cluster(manifests=[*kueue_definitions(version), *kai_definitions()]) as cluster:
        kubeconfig = tmp_path / "config"
        cluster.write_kubeconfig(kubeconfig)
        cluster.apply(
            [
                kueue("ClusterQueue", "a", version=version, cohort="c"),
                kueue("LocalQueue", "l", "default", version=version, clusterQueue="a"),
                kai_queue("k"),
            ]
        )
        found = await asyncio.to_thread(run, "--kubeconfig", str(kubeconfig))
    names = [one["metadata"]["name"] for one in yaml.safe_load_all(found.output) if one]
    assert names == ["c", "a", "k", "default"]


async def test_a_cluster_without_such_queues_says_so(tmp_path: Path) -> None:
    async with Cluster() as cluster:
        cluster.write_kubeconfig(tmp_path / "config")
        found = await asyncio.to_thread(run, "--kubeconfig", str(tmp_path / "config"))
    assert isinstance(found.exception, BadInput)
    assert str(found.exception).endswith(queues_words.no_queues_served(""))


def test_files_and_a_cluster_are_not_read_together() -> None:
    found = run("-", "--context", "x", given="")
    assert "files and a cluster" in str(found.exception)
