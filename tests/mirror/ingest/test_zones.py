"""Reports on NUMA zones, and what pods ask of zones: how they are read, and what is said of what cannot be used."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from tests.support.zones import DECISION, POLICY, report, volcano_report, zone
from vsched import api
from vsched.api import words as wire_words
from vsched.errors import BadObject
from vsched.mirror.ingest.pods import PodReader
from vsched.mirror.ingest.words import fields as fields_words
from vsched.mirror.ingest.words import nodes as nodes_words
from vsched.mirror.ingest.zones import shares_of, volcano_zones_of, zones_of
from vsched.model.amounts.resources import ResourceAxis
from vsched.model.nodes.zones import NodeZones, Zone
from vsched.model.pods.shape import ZoneRequest
from vsched.model.pods.task import Task

Obj = dict[str, Any]
GIB = 1 << 30


def read(found: Obj) -> NodeZones:
    kind = found["kind"]
    decoded = api.decode(kind, orjson.dumps(found))
    if isinstance(decoded, api.NodeResourceTopology):
        return zones_of(decoded)
    assert isinstance(decoded, api.Numatopology)
    return volcano_zones_of(decoded)


def test_a_node_resource_topology() -> None:
    found = report("n1", policy="restricted", scope="pod", managedFields=[{"time": "2026-01-01T00:00:10Z"}, {}])
    found["zones"] = [
        zone(1, cpu=("1500m", "4"), memory=("1Gi", "2Gi")),
        {"name": "core-9", "type": "Core"},
        zone(0, cpu=("2", "4")),
    ]

    assert read(found) == NodeZones(
        "n1",
        "restricted",
        per_pod=True,
        zones=(
            Zone(0, (("cpu", 2000),), (("cpu", 4000),)),
            Zone(1, (("cpu", 1500), ("memory", GIB)), (("cpu", 4000), ("memory", 2 * GIB))),
        ),
        reported=1767225610.0,
    )


@pytest.mark.parametrize(
    ("word", "policy", "per_pod"),
    [
        ("None", "none", False),
        ("BestEffort", "best-effort", False),
        ("Restricted", "restricted", False),
        ("RestrictedPodLevel", "restricted", True),
        ("SingleNUMANodeContainerLevel", "single-numa-node", False),
        ("SingleNUMANodePodLevel", "single-numa-node", True),
    ],
)
def test_the_old_words_for_policy_and_scope(word: str, policy: str, per_pod: bool) -> None:
    found = read(report("n1", "4") | {"attributes": [], "topologyPolicies": [word]})

    assert (found.policy, found.per_pod) == (policy, per_pod)


def test_a_numatopology() -> None:
    cpus = {0: 0, 1: 0, 2: 0, 3: 1, 4: 1}
    found = volcano_report("n1", "1-2,4", cpus, "best-effort", {"u": ["0,3", "1"], "idle": []}, reserved="500m")

    assert read(found) == NodeZones(
        "n1",
        "best-effort",
        zones=(Zone(0, (("cpu", 2000),), (("cpu", 2000),)), Zone(1, (("cpu", 1000),), (("cpu", 2000),))),
        pods=(("idle", ()), ("u", ((0, (("cpu", 2000),)), (1, (("cpu", 1000),))))),
    )


@pytest.mark.parametrize(
    ("found", "problem"),
    [
        pytest.param(
            report("n1", "4", policy="strict"),
            fields_words.unknown_word(
                "NodeResourceTopology n1: attributes[topologyManagerPolicy]",
                "strict",
                "none, best-effort, restricted, single-numa-node",
            ),
            id="a policy that does not exist",
        ),
        pytest.param(
            report("n1", "4", scope="node"),
            fields_words.unknown_word(
                "NodeResourceTopology n1: attributes[topologyManagerScope]", "node", "container, pod"
            ),
            id="a scope that does not exist",
        ),
        pytest.param(
            report("n1", *["4"] * 9),
            wire_words.too_large("NodeResourceTopology n1: zones", 9, "of type Node", 8),
            id="more zones than kubelets manage",
        ),
        pytest.param(
            report("n1") | {"zones": [zone(0), zone(0)]},
            f"NodeResourceTopology n1: {nodes_words.TWO_ZONES_OF_ONE_NUMBER}",
            id="a zone twice",
        ),
        pytest.param(
            report("n1") | {"zones": [{"name": "left", "type": "Node"}]},
            nodes_words.no_zone_number("NodeResourceTopology n1: zones[0]", "left"),
            id="a zone without a number",
        ),
        pytest.param(
            report("n1", "much"),
            "NodeResourceTopology n1: zones[0].resources.cpu: ",
            id="an amount that is none",
        ),
        pytest.param(
            volcano_report("n1", "0-", {0: 0}),
            nodes_words.no_cpu_numbers("Numatopology n1: spec.numares[cpu].allocatable", "0-"),
            id="a list of cpus that is none",
        ),
        pytest.param(
            volcano_report("n1", "0", {cpu: cpu for cpu in range(9)}),
            f"Numatopology n1: {nodes_words.too_many_numa_nodes(8)}",
            id="more zones in Volcano's report",
        ),
        pytest.param(
            volcano_report("n1", "0", {0: 0}, policy="strict"),
            fields_words.unknown_word(
                "Numatopology n1: spec.policies[TopologyManagerPolicy]",
                "strict",
                "none, best-effort, restricted, single-numa-node",
            ),
            id="a policy that does not exist there",
        ),
    ],
)
def test_what_cannot_be_used_is_said(found: Obj, problem: str) -> None:
    with pytest.raises(BadObject) as caught:
        read(found)
    assert str(caught.value).startswith(problem)


@pytest.mark.parametrize(
    ("text", "shares"),
    [
        ('{"numa": {"1": {"cpu": "2", "memory": "1Gi"}}}', ((1, (("cpu", 2000), ("memory", GIB))),)),
        ('{"numa": {}}', ()),
        ('{"numa": {"x": {}}}', ()),
        ("no JSON", ()),
        ('{"numa": {"0": {"cpu": "many"}}}', ()),
    ],
)
def test_a_decision_is_read_as_far_as_it_can_be(text: str, shares: object) -> None:
    assert shares_of(text) == shares


# -- pods --------------------------------------------------------------------------------------------------------------


def container(cpu: str, memory: str = "1Gi", limits: bool = True, **more: Any) -> Obj:
    amounts = {"cpu": cpu, "memory": memory}
    return {"name": "c", "resources": {"requests": amounts, **({"limits": amounts} if limits else {})}, **more}


def task_of(*containers: Obj, inits: tuple[Obj, ...] = (), **annotations: str) -> tuple[Task, list[str]]:
    fields = {
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "ns", "uid": "u", "annotations": annotations},
        "spec": {"schedulerName": "vsched", "containers": containers, "initContainers": inits},
    }
    decoded = api.decode("Pod", orjson.dumps(fields))
    assert isinstance(decoded, api.Pod)
    facts = PodReader(ResourceAxis(), frozenset({"vsched"})).read(decoded)
    assert facts is not None
    return facts.task, list(facts.remarks)


@pytest.mark.parametrize(
    ("containers", "inits", "asked"),
    [
        pytest.param(
            (container("2"),), (), ZoneRequest("", (((0, 2000), (1, GIB)),), (), ((0, 2000), (1, GIB))), id="one"
        ),
        pytest.param((container("2", limits=False),), (), None, id="without limits it is not Guaranteed"),
        pytest.param((container("1500m"),), (), None, id="parts of cpus are not aligned"),
        pytest.param((container("2"), container("1", limits=False)), (), None, id="one without limits is enough"),
        pytest.param(
            (container("2"), container("500m")),
            (),
            ZoneRequest("", (((0, 2000), (1, GIB)),), (), ((0, 2500), (1, 2 * GIB))),
            id="of several containers those with whole cpus are aligned",
        ),
        pytest.param(
            (container("2"),),
            (container("3"), container("1", restartPolicy="Always")),
            ZoneRequest(
                "",
                (((0, 1000), (1, GIB)), ((0, 2000), (1, GIB))),
                (((0, 3000), (1, GIB)),),
                ((0, 3000), (1, 2 * GIB)),
            ),
            id="init containers come one after the other, sidecars stay",
        ),
    ],
)
def test_what_a_pod_asks_of_zones(
    containers: tuple[Obj, ...], inits: tuple[Obj, ...], asked: ZoneRequest | None
) -> None:
    assert task_of(*containers, inits=inits)[0].shape.zones == asked


@pytest.mark.parametrize(
    ("policy", "cpu", "policy_read", "remarks"),
    [
        pytest.param("restricted", "2", "restricted", [], id="a policy"),
        pytest.param("none", "2", "", [], id="none is no policy"),
        pytest.param(
            "strict",
            "2",
            "",
            [
                f"metadata.annotations[{POLICY}]: 'strict' "
                "(expected none, best-effort, restricted, single-numa-node): ignored"
            ],
            id="another word is said",
        ),
        pytest.param(
            "single-numa-node",
            "500m",
            None,
            [fields_words.not_guaranteed(f"metadata.annotations[{POLICY}]")],
            id="a pod that no kubelet aligns is told so",
        ),
    ],
)
def test_the_policy_of_a_pod(policy: str, cpu: str, policy_read: str | None, remarks: list[str]) -> None:
    task, said = task_of(container(cpu), **{POLICY: policy})

    assert (None if task.shape.zones is None else task.shape.zones.policy) == policy_read
    assert said == remarks
    assert not task.unsupported


def test_what_was_decided_stays_with_the_pod() -> None:
    assert task_of(container("2"), **{DECISION: "{}"})[0].zones == "{}"
    assert task_of(container("500m"), **{DECISION: "{}"})[0].zones == "", "no kubelet aligns it"
