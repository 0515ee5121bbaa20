"""The outcome of a job that asks for closeness names its domain and the tier."""

from __future__ import annotations

import msgspec
import pytest

from tests.support.plans import DEFAULT_POLICY
from tests.support.topologies import RACKS, Tree, snapshot_of
from vsched.framework.cycle import run_cycle
from vsched.model.topology.constraints import NetworkTopology, SubGroupPolicy
from vsched.model.topology.tiers import WHOLE_CLUSTER
from vsched.settings.built_in import REGISTRY

SOFT = NetworkTopology(hard=False)
NODES = "".join(f"node n{number} cpu=4\n" for number in range(1, 9))


@pytest.mark.parametrize(
    ("text", "wish", "tree", "found"),
    [
        pytest.param("job ns/a phase=Inqueue min=2 pods=2 cpu=4", SOFT, RACKS, ("r1", 1), id="placed in this cycle"),
        pytest.param("job ns/a phase=Inqueue min=3 pods=3 cpu=4", SOFT, RACKS, ("b1", 2), id="in a wider domain"),
        pytest.param("job ns/a phase=Inqueue min=8 pods=8 cpu=4", SOFT, RACKS, ("top", 3), id="in the widest"),
        pytest.param(
            "node n9 cpu=4\njob ns/a phase=Inqueue min=9 pods=9 cpu=4",
            SOFT,
            RACKS,
            (WHOLE_CLUSTER, 4),
            id="a node in no domain makes it the whole cluster",
        ),
        pytest.param("job ns/a phase=Inqueue min=9 pods=9 cpu=4", SOFT, RACKS, ("", None), id="no place, no domain"),
        pytest.param("job ns/a phase=Inqueue min=2 pods=2 cpu=4", None, RACKS, ("", None), id="it asks for nothing"),
        pytest.param("job ns/a phase=Inqueue min=2 pods=2 cpu=4", SOFT, {}, ("", None), id="no tiers are known"),
    ],
)
def test_the_domain_of_a_job(
    text: str, wish: NetworkTopology | None, tree: Tree, found: tuple[str, int | None]
) -> None:
    snapshot = snapshot_of(NODES + text, tree, {} if wish is None else {"ns/a": wish})
    outcome = run_cycle(snapshot, DEFAULT_POLICY, REGISTRY).jobs["ns/a"]
    assert (outcome.domain, outcome.tier) == found


RACK = NetworkTopology(highest_tier=1)
TWO_GROUPS = "job ns/a phase=Inqueue min=4\npods ns/a 2 cpu=4 labels=w:a\npods ns/a 2 cpu=4 labels=w:b named=more"


@pytest.mark.parametrize(
    ("text", "wish", "own", "found"),
    [
        pytest.param(TWO_GROUPS, None, RACK, [("w/a", "r1", 1), ("w/b", "r2", 1)], id="each in a rack"),
        pytest.param(
            "pods x/old 1 cpu=4 on=n1\n" + TWO_GROUPS,
            None,
            SOFT,
            [("w/a", "r2", 1), ("w/b", "r3", 1)],
            id="as close as possible",
        ),
        pytest.param(TWO_GROUPS, SOFT, None, [], id="only the job asks"),
        pytest.param(TWO_GROUPS.replace("cpu=4", "cpu=5"), None, RACK, [], id="no place, no domain"),
        pytest.param(
            "job ns/a phase=Running min=1\npods ns/a 1 cpu=4 on=n1 labels=w:a\npods ns/a 1 cpu=4 on=n3 labels=w:a",
            None,
            RACK,
            [("w/a", "b1", 2)],
            id="where its pods are, whatever it asks for",
        ),
        pytest.param(
            "job ns/a phase=Running min=1\n"
            + "".join(f"pods ns/a 1 cpu=1 on=n{1 + at % 8} labels=w:g{at:02}\n" for at in range(20)),
            None,
            RACK,
            [(f"w/g{at:02}", f"r{1 + at % 8 // 2}", 1) for at in range(16)],
            id="the first sixteen",
        ),
    ],
)
def test_the_domains_of_sub_groups(
    text: str, wish: NetworkTopology | None, own: NetworkTopology | None, found: list[tuple[str, str, int]]
) -> None:
    snapshot = snapshot_of(NODES + text, RACKS, {} if wish is None else {"ns/a": wish})
    job = snapshot.jobs["ns/a"]
    policies = (SubGroupPolicy("w", 2, 0, match_keys=("w",), topology=own),)
    job.spec = msgspec.structs.replace(job.spec, sub_groups=policies)
    outcome = run_cycle(snapshot, DEFAULT_POLICY, REGISTRY).jobs["ns/a"]
    assert [(one.name, one.domain, one.tier) for one in outcome.sub_groups] == found
