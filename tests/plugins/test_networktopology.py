"""network-topology-aware: its arguments, tiers of labels, fuller domains first, and nodes close to the job's pods."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.plans import policy_from
from tests.support.topologies import RACKS, decided, nodes_of, opened
from vsched.errors import BadPolicy
from vsched.framework.places.domains import grouping
from vsched.framework.policy import Policy
from vsched.framework.session import Session
from vsched.model.topology.constraints import NetworkTopology
from vsched.plugins.networktopology import NetworkTopologyAware
from vsched.plugins.words import arguments as words

RACK, BLOCK = NetworkTopology(highest_tier=1), NetworkTopology(highest_tier=2)
SOFT = NetworkTopology(hard=False)
EIGHT = "\n".join(f"node n{number} cpu=4 memory=8Gi" for number in range(1, 9)) + "\n"


def policy(*others: str, switches: dict[str, bool] | None = None, **arguments: Any) -> Policy:
    """Gangs, and the plugin with these arguments; underscores in names stand for dots."""
    named = {key.replace("_", "."): value for key, value in arguments.items()}
    plugin = {"name": "network-topology-aware", "arguments": named, **(switches or {})}
    plugins = [{"name": name} for name in ("priority", "gang", "predicates", *others)]
    return policy_from(json.dumps({"actions": "allocate", "tiers": [{"plugins": [*plugins, plugin]}]}))


def names(session: Session, job: str = "ns/a") -> list[str]:
    return sorted(set(nodes_of(session, job).values()))


@pytest.mark.parametrize(
    ("text", "wish", "nodes"),
    [
        pytest.param(
            "pods ns/old 1 cpu=1 on=n6\njob ns/a min=2 pods=2 cpu=2",
            RACK,
            ["n5"],
            id="the fullest rack goes first",
        ),
        pytest.param("job ns/a min=2 pods=2 cpu=2", RACK, ["n1"], id="of equals the first by name"),
        pytest.param(
            "pods ns/old 1 cpu=2 on=n6\njob ns/a min=2 pods=4 cpu=2",
            RACK,
            ["n1", "n2"],
            id="one that does not hold all of the job's pods scores nothing",
        ),
        pytest.param(
            "pods ns/old 1 cpu=4 on=n3\njob ns/a min=1\npods ns/a 1 cpu=4 on=n4\npods ns/a 1 cpu=1",
            SOFT,
            ["n1", "n4"],
            id="a pod that has no room next to the others stays in their block",
        ),
    ],
)
def test_which_domain_a_job_gets(text: str, wish: NetworkTopology, nodes: list[str]) -> None:
    assert names(decided(EIGHT + text, RACKS, {"ns/a": wish}, policy())) == nodes


def test_pods_join_the_rack_with_most_of_the_job() -> None:
    """Both racks of the block have one pod or two: the closest tier that holds them all is the block."""
    text = "job ns/a min=1\npods ns/a 1 cpu=1 on=n1\npods ns/a 2 cpu=1 on=n3\npods ns/a 1 cpu=1"
    session = decided(EIGHT + text, RACKS, {"ns/a": BLOCK}, policy())

    assert nodes_of(session, "ns/a")["a.3"] == "n3"


@pytest.mark.parametrize(
    ("arguments", "node"),
    [
        pytest.param({}, "n5", id="a pod of a job without networkTopology goes to the fullest rack"),
        pytest.param({"hypernode_binpack_normal-pod_enable": False}, "n1", id="unless that is off"),
        pytest.param({"weight": 0}, "n1", id="or the plugin has no weight"),
    ],
)
def test_where_other_pods_go(arguments: dict[str, Any], node: str) -> None:
    text = "pods ns/old 1 cpu=2 on=n6\njob ns/a min=1 pods=1 cpu=1"

    assert names(decided(EIGHT + text, RACKS, {}, policy(**arguments))) == [node]


def test_a_switch_turns_the_scores_of_domains_off() -> None:
    text = "pods ns/old 1 memory=6Gi on=n6\npods ns/old 1 cpu=3 on=n7\njob ns/a min=2 pods=2 cpu=1 memory=1Gi"
    memory_only: dict[str, Any] = {"hypernode.binpack.cpu": 0}
    on = decided(EIGHT + text, RACKS, {"ns/a": RACK}, policy(**memory_only))
    off = decided(EIGHT + text, RACKS, {"ns/a": RACK}, policy(switches={"enabledHyperNodeOrder": False}, **memory_only))

    assert (names(on), names(off)) == (["n5"], ["n7", "n8"])


@pytest.mark.parametrize(
    ("labels", "wish", "nodes"),
    [
        pytest.param(["rack", "zone"], RACK, ["n3", "n4"], id="labels make tiers, the closest first"),
        pytest.param(["rack", "zone"], NetworkTopology(tier_name="rack"), ["n3", "n4"], id="named after their keys"),
        pytest.param(
            [{"key": "rack", "tier": 3, "tierName": "shelf"}],
            NetworkTopology(tier_name="shelf"),
            ["n1", "n2"],
            id="or as the entry says",
        ),
        pytest.param([{"key": "rack", "tier": 3}], BLOCK, [], id="the number of a tier counts"),
        pytest.param(["zone"], RACK, ["n1", "n3"], id="another label makes other domains"),
        pytest.param([], RACK, [], id="no labels make no tiers"),
    ],
)
def test_tiers_of_labels(labels: list[Any], wish: NetworkTopology, nodes: list[str]) -> None:
    text = (
        "node n1 cpu=4 zone=a rack=r1\nnode n2 cpu=4 zone=b rack=r1\n"
        "node n3 cpu=4 zone=a rack=r2\nnode n4 cpu=4 zone=a rack=r2\njob ns/a min=2 pods=2 cpu=4"
    )

    assert names(decided(text, {}, {"ns/a": wish}, policy(hypernode_labels=labels))) == nodes


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            {"hypernode.labels": [""]},
            words.label_without_key(0),
            id="key",
        ),
        pytest.param(
            {"hypernode.labels": ["a", {"key": "b", "tier": 1}]},
            words.TIERS_FALL,
            id="order",
        ),
        pytest.param(
            {"hypernode.labels": ["a", "a"]},
            words.LABEL_TWICE,
            id="twice",
        ),
        pytest.param(
            {"hypernode.labels": [{"key": "a", "tier": -1}]},
            words.tier_below_zero(-1),
            id="below zero",
        ),
    ],
)
def test_labels_that_cannot_be_used_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(BadPolicy) as error:
        policy(**arguments)

    assert message in str(error.value)


def test_numbers_that_make_no_sense_are_replaced() -> None:
    found = policy(
        **{
            "hypernode.binpack.cpu": -1,
            "hypernode.binpack.normal-pod.fading": -0.5,
            "hypernode.gradient.evict.max-hypernodes": 0,
        }
    ).plugin("network-topology-aware")
    assert found is not None

    args: Any = found.args
    assert (args.cpu, args.fading, args.domains_to_free) == (1, 0.8, 8)


def test_how_many_domains_are_tried_with_evictions() -> None:
    some = policy(**{"hypernode.gradient.evict.max-hypernodes": 3})

    assert opened(EIGHT, RACKS, {}, some).places.eviction_domains == 3
    assert opened(EIGHT, RACKS, {}).places.eviction_domains == 8


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(st.tuples(st.sampled_from("ab"), st.booleans()), max_size=12))
def test_sums_by_domain_follow_placements_and_what_is_taken_back(steps: list[tuple[str, bool]]) -> None:
    text = EIGHT + "job ns/a pods=12 cpu=1 memory=1Gi\njob ns/b pods=12 cpu=2"
    session = opened(text, RACKS, {}, policy())
    (plugin,) = (one for one in session.plugins.place_plugins.closeness if isinstance(one, NetworkTopologyAware))
    left = {job: list(session.jobs[f"ns/{job}"].job.pending.values()) for job in "ab"}
    for job, undone in steps:
        task = left[job][0]
        choice = session.node_selection.choose(task)
        if choice is None:
            continue
        with session.statement() as statement:
            statement.allocate(session.jobs[task.job], task, choice.row)
            if not undone:
                statement.keep()
                left[job].pop(0)
    task = left["a"][0]
    kept = plugin.task_score(task, session.nodes, np.ones(8, dtype=np.bool_))
    fresh = {
        (position, column): grouping(session.nodes.statics, tier).sums(session.nodes.requested[column])
        for position, tier in enumerate(session.places.tiers.tiers[:-1])
        for column in (0, 1)
    }

    assert kept is not None
    assert {key: sums.tolist() for key, sums in plugin._used.items()} == {
        key: sums.tolist() for key, sums in fresh.items()
    }
