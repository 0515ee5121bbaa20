"""The outcome of a job that asks for closeness names its domain and the tier."""

from __future__ import annotations

import pytest

from tests.support.plans import DEFAULT_POLICY
from tests.support.topologies import RACKS, Tree, snapshot_of
from vsched.framework.cycle import run_cycle
from vsched.model.topology.constraints import NetworkTopology
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
