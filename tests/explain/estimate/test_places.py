"""When a job that asks for closeness may start: room in one domain counts, room here and there does not."""

from __future__ import annotations

import pytest

from tests.support.declared import kept
from tests.support.plans import DEFAULT_POLICY, NOW
from tests.support.topologies import RACKS, snapshot_of
from vsched.explain.explaining import explain
from vsched.framework.cycle import run_cycle
from vsched.model.frozen import freeze
from vsched.model.topology.constraints import NetworkTopology
from vsched.settings.built_in import REGISTRY

TAKES = "vsched.io/expected-duration="


def job(node: int, duration: str) -> str:
    """A job that has a node of four cores for itself, and so long still to run."""
    return f"job x/f{node} min=1 phase=Running {TAKES}{duration}\npods x/f{node} 1 cpu=4 on=n{node} started={NOW:.0f}\n"


FULL = "".join(f"node n{number} cpu=4\n" for number in range(1, 9))
FULL += job(1, "10m") + job(3, "20m") + job(5, "30m") + job(2, "40m") + "".join(job(n, "5h") for n in (4, 6, 7, 8))
"""Nodes of three racks come free first; the first rack that is free as a whole is r1, n2 with it after 40m."""
WANT = "job ns/a phase=Inqueue min=2 pods=2 cpu=4\n"


@pytest.mark.parametrize(
    ("wish", "minutes"),
    [
        pytest.param(None, 20, id="two nodes anywhere"),
        pytest.param(NetworkTopology(hard=False), 20, id="close if possible: it does not wait for it"),
        pytest.param(NetworkTopology(highest_tier=2), 20, id="in one block: n1 and n3"),
        pytest.param(NetworkTopology(highest_tier=1), 40, id="in one rack: n1 and n2"),
    ],
)
def test_the_start_is_when_one_allowed_domain_has_room(wish: NetworkTopology | None, minutes: int) -> None:
    snapshot = kept(freeze(snapshot_of(FULL + WANT, RACKS, {} if wish is None else {"ns/a": wish})))
    report = run_cycle(snapshot, DEFAULT_POLICY, REGISTRY)
    found = explain(snapshot, DEFAULT_POLICY, REGISTRY, report, "ns", "a", simulations=0, foreseen=lambda: False)
    assert found is not None
    assert found.start is not None
    assert found.start.earliest == found.start.latest == pytest.approx(NOW + 60 * minutes, abs=1)
