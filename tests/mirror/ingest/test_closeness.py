"""What is read of how close pods have to be, and of the sub-groups of a PodGroup; and what cannot be."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.support import builders as make
from tests.support.plans import NOW, manifests, mirror
from vsched.api import words as wire_words
from vsched.errors import BadObject
from vsched.mirror.ingest.bounds import MATCH_KEYS_MAX, NAME_LENGTH_MAX, POLICIES_MAX, REQUIREMENTS_MAX
from vsched.mirror.ingest.implicit import implied_job, joined
from vsched.mirror.ingest.podgroups import job_spec_of
from vsched.mirror.ingest.words import fields as fields_words
from vsched.mirror.ingest.words import groups as groups_words
from vsched.mirror.ingest.words import nodes as nodes_words
from vsched.model.amounts.resources import ResourceAxis
from vsched.model.jobs.job import Job
from vsched.model.jobs.spec import JobSpec
from vsched.model.pods.shape import Requirement, Selector
from vsched.model.topology.constraints import NetworkTopology, SubGroupPolicy
from vsched.model.topology.subgroups import Membership, SubGroupKey


def spec_of(*policies: Any) -> JobSpec:
    group = make.decode(make.pod_group(spec={"subGroupPolicy": list(policies)}))
    return job_spec_of(group, ResourceAxis(), "default", [])


@pytest.mark.parametrize(
    ("fields", "policy"),
    [
        pytest.param({"name": "a"}, SubGroupPolicy("a", 1, 0), id="a name alone: one pod, and none is needed"),
        pytest.param(
            {"name": "a", "subGroupSize": 4, "minSubGroups": 2, "matchLabelKeys": ["rack", "row"]},
            SubGroupPolicy("a", 4, 2, match_keys=("rack", "row")),
            id="size, number and keys",
        ),
        pytest.param({"name": "a", "subGroupSize": 0}, SubGroupPolicy("a", 0), id="a size of zero has no minimum"),
        pytest.param(
            {
                "name": "a",
                "labelSelector": {
                    "matchLabels": {"app": "x"},
                    "matchExpressions": [{"key": "tier", "operator": "Exists"}],
                },
            },
            SubGroupPolicy("a", selector=Selector((Requirement("app", "In", ("x",)), Requirement("tier", "Exists")))),
            id="a selector",
        ),
        pytest.param(
            {"name": "a", "networkTopology": {"highestTierAllowed": 1}},
            SubGroupPolicy("a", topology=NetworkTopology(hard=True, highest_tier=1)),
            id="a topology without a mode is hard",
        ),
        pytest.param(
            {"name": "a", "networkTopology": {"mode": "soft", "highestTierName": "rack"}},
            SubGroupPolicy("a", topology=NetworkTopology(hard=False, tier_name="rack")),
            id="a soft topology, and a tier by its name",
        ),
        pytest.param(
            {"name": "a", "matchLabelKeys": ["rack", "rack"]},
            SubGroupPolicy("a", match_keys=("rack",)),
            id="a key that is there twice counts once",
        ),
    ],
)
def test_what_a_policy_says(fields: dict[str, Any], policy: SubGroupPolicy) -> None:
    assert spec_of(fields).sub_groups == (policy,)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        pytest.param(
            {"subGroupSize": -1},
            fields_words.negative_number("spec.subGroupPolicy[1].subGroupSize", -1),
            id="a size below 0",
        ),
        pytest.param(
            {"minSubGroups": -2},
            fields_words.negative_number("spec.subGroupPolicy[1].minSubGroups", -2),
            id="a number below zero",
        ),
        pytest.param(
            {"matchLabelKeys": ["a", ""]},
            groups_words.no_label_key("spec.subGroupPolicy[1]", 1),
            id="an empty key",
        ),
        pytest.param(
            {"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}},
            nodes_words.unknown_operator(
                "spec.subGroupPolicy[1].labelSelector.matchExpressions[0]", "Near", "DoesNotExist, Exists, In, NotIn"
            ),
            id="an operator that there is not",
        ),
        pytest.param(
            {"networkTopology": {"mode": "firm"}},
            fields_words.unknown_word("spec.subGroupPolicy[1].networkTopology.mode", "firm", "hard or soft"),
            id="a mode that there is not",
        ),
        pytest.param(
            {"networkTopology": {"highestTierAllowed": 1, "highestTierName": "rack"}},
            groups_words.tier_by_name_and_number("spec.subGroupPolicy[1].networkTopology"),
            id="a tier by number and by name",
        ),
        pytest.param(
            {"networkTopology": {"highestTierAllowed": -1}},
            fields_words.negative_number("spec.subGroupPolicy[1].networkTopology.highestTierAllowed", -1),
            id="a tier below zero",
        ),
        pytest.param(
            {"name": "a" * (NAME_LENGTH_MAX + 1)},
            fields_words.too_long("spec.subGroupPolicy[1].name", NAME_LENGTH_MAX + 1, NAME_LENGTH_MAX),
            id="too long a name",
        ),
    ],
)
def test_a_field_that_cannot_be_used_is_named_with_what_was_expected(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(BadObject) as error:
        spec_of({"name": "fine"}, {"name": "b", **fields})

    assert str(error.value) == f"PodGroup ns/pg: {message}"


@pytest.mark.parametrize(
    ("policies", "message"),
    [
        pytest.param(
            [{"name": f"p{number}"} for number in range(POLICIES_MAX + 1)],
            wire_words.too_many_entries("spec.subGroupPolicy", POLICIES_MAX + 1, POLICIES_MAX),
            id="policies",
        ),
        pytest.param(
            [{"name": "a", "matchLabelKeys": [f"k{number}" for number in range(MATCH_KEYS_MAX + 1)]}],
            wire_words.too_many_entries("spec.subGroupPolicy[0].matchLabelKeys", MATCH_KEYS_MAX + 1, MATCH_KEYS_MAX),
            id="keys",
        ),
        pytest.param(
            [
                {
                    "name": "a",
                    "labelSelector": {"matchLabels": {f"k{one}": "v" for one in range(REQUIREMENTS_MAX + 1)}},
                }
            ],
            wire_words.too_many_entries(
                "spec.subGroupPolicy[0].labelSelector.matchLabels", REQUIREMENTS_MAX + 1, REQUIREMENTS_MAX
            ),
            id="labels of a selector",
        ),
    ],
)
def test_a_job_with_more_than_is_read_waits_and_says_so(policies: list[dict[str, Any]], message: str) -> None:
    spec = spec_of(*policies)

    assert spec.unsupported == message
    assert spec.sub_groups == ()


def sizes_of(job: Job) -> Counter[SubGroupKey]:
    """How many pods each sub-group of a job has."""
    return Counter(map(Membership(job.spec.sub_groups).of, job.tasks.values()))


PARTITIONS = """
    node n1 cpu=8
    job ns/train min=4
    pods ns/train 2 cpu=1 labels=volcano.sh/task-spec:worker,volcano.sh/partition-id:0
    pods ns/train 2 cpu=1 labels=volcano.sh/task-spec:worker,volcano.sh/partition-id:1
"""


def test_partitions_of_a_volcano_job_are_sub_groups_of_the_policy_that_its_controller_writes() -> None:
    objects = manifests(PARTITIONS)
    policy = {
        "name": "worker",
        "subGroupSize": 2,
        "minSubGroups": 2,
        "labelSelector": {"matchLabels": {"volcano.sh/task-spec": "worker"}},
        "matchLabelKeys": ["volcano.sh/partition-id"],
    }
    next(one for one in objects if one["kind"] == "PodGroup")["spec"]["subGroupPolicy"] = [policy]

    job = mirror(objects).snapshot(NOW).jobs["ns/train"]

    assert {key.values: size for key, size in sizes_of(job).items()} == {("0",): 2, ("1",): 2}


def topology_of(fields: dict[str, Any] | None) -> NetworkTopology | None:
    group = make.decode(make.pod_group(spec={"networkTopology": fields}))
    return job_spec_of(group, ResourceAxis(), "default", []).topology


@pytest.mark.parametrize(
    ("fields", "topology"),
    [
        pytest.param(None, None, id="nothing"),
        pytest.param({}, NetworkTopology(), id="without a mode it is hard, without a tier there is no limit"),
        pytest.param(
            {"mode": "hard", "highestTierAllowed": 0}, NetworkTopology(highest_tier=0), id="a tier may be zero"
        ),
        pytest.param({"highestTierName": "rack"}, NetworkTopology(tier_name="rack"), id="a tier by its name"),
        pytest.param(
            {"mode": "soft", "highestTierAllowed": 2}, NetworkTopology(hard=False, highest_tier=2), id="a wish"
        ),
    ],
)
def test_how_close_the_pods_of_a_podgroup_have_to_be(
    fields: dict[str, Any] | None, topology: NetworkTopology | None
) -> None:
    assert topology_of(fields) == topology


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        pytest.param(
            {"mode": "Hard"},
            fields_words.unknown_word("spec.networkTopology.mode", "Hard", "hard or soft"),
            id="a mode",
        ),
        pytest.param(
            {"highestTierAllowed": -1},
            fields_words.negative_number("spec.networkTopology.highestTierAllowed", -1),
            id="a tier below zero",
        ),
        pytest.param(
            {"highestTierAllowed": 1, "highestTierName": "rack"},
            groups_words.tier_by_name_and_number("spec.networkTopology"),
            id="a tier twice",
        ),
    ],
)
def test_closeness_that_cannot_be_used_is_refused_by_field(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(BadObject) as error:
        topology_of(fields)

    assert str(error.value).endswith(f": {message}")


MODE, TIER = "volcano.sh/network-topology-mode", "volcano.sh/network-topology-highest-tier"


@pytest.mark.parametrize(
    ("pod", "workload", "topology"),
    [
        pytest.param({}, {}, None, id="nothing"),
        pytest.param({MODE: "Hard"}, {}, NetworkTopology(), id="a mode, in letters of any case"),
        pytest.param({TIER: "2"}, {}, NetworkTopology(highest_tier=2), id="a tier alone is hard"),
        pytest.param({}, {MODE: "soft"}, NetworkTopology(hard=False), id="the workload may say it"),
        pytest.param(
            {MODE: "soft"}, {MODE: "hard", TIER: "1"}, NetworkTopology(hard=False, highest_tier=1), id="the pod first"
        ),
        pytest.param({MODE: "near", TIER: "-1"}, {}, NetworkTopology(), id="what cannot be used is taken for hard"),
    ],
)
def test_how_close_pods_without_a_podgroup_have_to_be(
    pod: dict[str, str], workload: dict[str, str], topology: NetworkTopology | None
) -> None:
    said = implied_job(make.decode(make.pod("p", metadata={"annotations": pod})), "podgroup-x", "ns", 0.0, [])

    assert joined(said, workload, []).topology == topology
