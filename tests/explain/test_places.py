"""Where a job that asks for closeness is and could be: the tree of domains, its pods in each, and room for the rest."""

from __future__ import annotations

from io import StringIO

import msgspec
import pytest
from rich.console import Console

from tests.support.plans import DEFAULT_POLICY
from tests.support.topologies import RACKS, Tree, snapshot_of
from vsched.cli.show import words
from vsched.cli.show.drawing import look_for
from vsched.cli.show.places import places_table
from vsched.explain.explaining import explain
from vsched.explain.places import LISTED_MAX
from vsched.explain.records import Explanation
from vsched.explain.words import reasons
from vsched.framework.cycle import run_cycle
from vsched.model.topology.constraints import NetworkTopology, SubGroupPolicy
from vsched.model.topology.tiers import WHOLE_CLUSTER
from vsched.settings.built_in import REGISTRY

RACK, BLOCK = NetworkTopology(highest_tier=1), NetworkTopology(highest_tier=2)
SOFT, FREE = NetworkTopology(hard=False), NetworkTopology()
NODES = "".join(f"node n{number} cpu=4\n" for number in range(1, 9))


def held(**amounts: int) -> str:
    """Jobs that hold so much cpu of these nodes."""
    return "".join(
        f"job x/{node} min=1 phase=Running\npods x/{node} 1 cpu={cpu} on={node}\n" for node, cpu in amounts.items()
    )


NEARLY = NODES + held(n1=2, n3=2, n5=4, n7=4, n8=4)
"""Racks r1 and r2 with room for three pods of two cores, r3 for two, r4 for none."""
WANT = "job ns/a phase=Inqueue min=4 pods=4 cpu=2\n"
RUNS = NODES + "job ns/a min=2 phase=Running\npods ns/a 1 cpu=2 on=n1\npods ns/a 1 cpu=2 on=n2\n"


def explained(text: str, wish: NetworkTopology | None, tree: Tree = RACKS) -> Explanation:
    snapshot = snapshot_of(text, tree, {} if wish is None else {"ns/a": wish})
    report = run_cycle(snapshot, DEFAULT_POLICY, REGISTRY)
    found = explain(snapshot, DEFAULT_POLICY, REGISTRY, report, "ns", "a", kind="PodGroup", simulations=0)
    assert found is not None
    return found


def tree_of(found: Explanation) -> list[tuple[int, str, int, int | None, bool]]:
    assert found.places is not None
    return [(one.depth, one.name, one.holds, one.room, one.usable) for one in found.places.domains]


def test_a_gang_that_waits_for_a_rack_sees_the_room_in_each_domain() -> None:
    found = explained(NEARLY + WANT, RACK)
    assert found.places is not None
    assert (found.places.asks, found.places.wanted) == (reasons.domain_or_closer("tier 1 (rack)"), 4)
    assert (found.places.domain, found.places.tier) == ("", None)
    assert tree_of(found) == [
        (0, WHOLE_CLUSTER, 0, 4, False),
        (1, "top", 0, 4, False),
        (2, "b1", 0, 4, False),
        (3, "r1", 0, 3, True),
        (3, "r2", 0, 3, True),
        (2, "b2", 0, 2, False),
        (3, "r3", 0, 2, True),
        (3, "r4", 0, 0, True),
    ]
    counts = [(one.tier, one.name, one.allowed, one.domains, one.enough) for one in found.places.tiers]
    assert counts == [(1, "rack", True, 4, 0), (2, "block", False, 2, 1), (3, "", False, 1, 1), (4, "", False, 1, 1)]


def test_pods_that_run_rule_out_the_other_domains() -> None:
    found = explained(RUNS + held(n3=2) + "pods ns/a 1 cpu=8 named=more\n", BLOCK)
    assert found.places is not None
    assert (found.places.domain, found.places.tier) == ("r1", 1)
    usable = {name: pods for _, name, pods, _, may in tree_of(found) if may}
    assert usable == {"r1": 2, "b1": 2}


def test_a_job_that_runs_is_told_where_and_no_room_is_counted() -> None:
    found = explained(RUNS, RACK)
    assert found.places is not None
    assert (found.places.domain, found.places.tier, found.places.wanted) == ("r1", 1, 0)
    assert [one for one in tree_of(found) if one[2]] == [
        (0, WHOLE_CLUSTER, 2, None, False),
        (1, "top", 2, None, False),
        (2, "b1", 2, None, False),
        (3, "r1", 2, None, True),
    ]


@pytest.mark.parametrize(
    ("wish", "asks"),
    [
        pytest.param(SOFT, "as close as possible", id="soft"),
        pytest.param(FREE, reasons.ONE_DOMAIN_AS_CLOSE, id="hard without a limit"),
        pytest.param(NetworkTopology(tier_name="block"), reasons.domain_or_closer("tier block"), id="by name"),
        pytest.param(
            NetworkTopology(highest_tier=9), reasons.domain_or_closer("tier 9"), id="a tier that is not there"
        ),
    ],
)
def test_what_it_asks_for(wish: NetworkTopology, asks: str) -> None:
    found = explained(NEARLY + WANT.replace("cpu=2", "cpu=4"), wish)
    assert found.places is not None
    assert found.places.asks == asks


def test_a_job_that_asks_for_nothing_has_no_places() -> None:
    assert explained(NEARLY + WANT.replace("cpu=2", "cpu=8"), None).places is None


def test_without_tiers_there_are_none_to_tell() -> None:
    assert explained(NODES + WANT, RACK, {}).places is None


def test_of_many_domains_the_fullest_and_the_roomiest_are_listed_and_all_are_counted() -> None:
    tree: Tree = {f"rack{n:02}": (1, f"n{n}") for n in range(40)}
    nodes = "".join(f"node n{n} cpu={4 if n != 33 else 6}\n" for n in range(40))
    runs = "job ns/a phase=Running min=3\npods ns/a 1 cpu=4 on=n21\npods ns/a 2 cpu=7 named=more\n"
    found = explained(nodes + runs, RACK, tree)
    assert found.places is not None
    names = [one.name for one in found.places.domains]
    assert names[:2] == [WHOLE_CLUSTER, "rack21"]
    assert len(names) == 1 + LISTED_MAX
    assert [(one.domains, one.listed) for one in found.places.tiers] == [(40, LISTED_MAX), (1, 1)]
    lines = text_of(found)
    assert lines[-1] == words.more_domains("34 more domains", 1, " (rack)")


def text_of(found: Explanation) -> list[str]:
    assert found.places is not None
    console = Console(file=StringIO(), width=160, no_color=True)
    console.print(places_table(found.places, look_for(160, wide=False, unicode=True)))
    assert isinstance(console.file, StringIO)
    return [" ".join(line.split()) for line in console.file.getvalue().splitlines()]


def test_a_terminal_shows_the_tree() -> None:
    whole = "the whole cluster"
    assert text_of(explained(NEARLY + WANT, RACK))[:5] == [
        "asks for one domain of tier 1 (rack) or closer",
        "domain tier nodes its pods has room for",
        f"{whole} 4 8 4 of 4 (not allowed)",
        "top 3 8 4 of 4 (not allowed)",
        "b1 2 (block) 4 4 of 4 (not allowed)",
    ]
    assert text_of(explained(RUNS, RACK))[1:3] == [words.pods_are_in("r1", 1), "domain tier nodes its pods"]


SEGMENT = SubGroupPolicy("seg", size=2, minimum=2, match_keys=("seg",), topology=RACK)


def test_sub_groups_are_told_with_their_own_domains() -> None:
    text = (
        NODES
        + "job ns/a phase=Running min=4\n"
        + "".join(f"pods ns/a 1 cpu=2 on={node} labels=seg:a\n" for node in ("n1", "n2"))
        + "pods ns/a 2 cpu=9 named=more labels=seg:b\n"
    )
    snapshot = snapshot_of(text, RACKS, {})
    job = snapshot.jobs["ns/a"]
    job.spec = msgspec.structs.replace(job.spec, sub_groups=(SEGMENT,))
    report = run_cycle(snapshot, DEFAULT_POLICY, REGISTRY)
    found = explain(snapshot, DEFAULT_POLICY, REGISTRY, report, "ns", "a", kind="PodGroup", simulations=0)
    assert found is not None
    assert found.places is not None
    rack = reasons.domain_or_closer("tier 1 (rack)")
    assert [(one.name, one.holds, one.domain, one.tier, one.asks) for one in found.places.sub_groups] == [
        ("seg/b", 0, "", None, rack),
        ("seg/a", 2, "r1", 1, rack),
    ]
    assert (found.places.asks, found.places.domain) == ("as close as possible", "r1")
    assert text_of(found)[-2:] == [
        words.has_on_nodes("sub-group seg/b", "0 pods", 2, "", words.and_asks_for(rack)),
        words.has_on_nodes("sub-group seg/a", "2 pods", 2, ", in r1, tier 1", words.and_asks_for(rack)),
    ]


def test_a_sub_group_that_asks_for_a_label_is_told_with_the_value_of_it() -> None:
    nodes = "".join(f"node n{number} cpu=4 zone={'east' if number < 5 else 'west'}\n" for number in range(1, 9))
    text = nodes + "job ns/a phase=Running min=1\npods ns/a 1 cpu=2 on=n6 labels=seg:a\n"
    snapshot = snapshot_of(text, RACKS, {})
    job = snapshot.jobs["ns/a"]
    policy = SubGroupPolicy("seg", 1, 1, match_keys=("seg",), topology=NetworkTopology(key="zone"))
    job.spec = msgspec.structs.replace(job.spec, sub_groups=(policy,))
    report = run_cycle(snapshot, DEFAULT_POLICY, REGISTRY)

    found = explain(snapshot, DEFAULT_POLICY, REGISTRY, report, "ns", "a", kind="PodGroup", simulations=0)
    assert found is not None
    assert found.places is not None
    assert [(one.domain, one.tier, one.asks) for one in found.places.sub_groups] == [
        ("west", 1, reasons.nodes_with_one_value("zone"))
    ]
