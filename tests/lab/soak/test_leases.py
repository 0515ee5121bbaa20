"""What has to hold of the Leases of a bottle's daemons."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from vsched.lab.soak.bottle import words
from vsched.lab.soak.bottle.faults import ClusterFault, ClusterFaultKind
from vsched.lab.soak.bottle.leases import HeldLeases, are_lasting


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        pytest.param([(0.0, "a"), (9.0, "a"), (18.0, "a")], "", id="one that is renewed"),
        pytest.param([(0.0, "a"), (10.5, "b")], "", id="one that has run out"),
        pytest.param([(0.0, "a"), (1.0, ""), (2.0, "b")], "", id="one that was given back"),
        pytest.param([(0.0, "a"), (8.0, "b")], words.taken_early("vsched", "b", 2.0), id="one that is in force"),
        pytest.param(
            [(0.0, "a"), (9.0, "a"), (12.0, "b")], words.taken_early("vsched", "b", 7.0), id="one renewed late"
        ),
    ],
)
def test_a_lease_is_left_to_its_holder_until_it_runs_out(changes: Sequence[tuple[float, str]], told: str) -> None:
    held = HeldLeases()
    found = [held.changed("vsched", {"holderIdentity": who, "leaseDurationSeconds": 10}, at) for at, who in changes]
    assert [one for one in found if one] == ([told] if told else [])


@pytest.mark.parametrize("fault", ClusterFaultKind)
def test_who_has_a_lease_may_lose_it_where_leases_or_the_server_are_tampered_with(fault: ClusterFaultKind) -> None:
    lasting = are_lasting([ClusterFault(fault=fault, every_seconds=1.0)])
    assert lasting == (fault not in ("steal-lease", "delete-lease", "restore"))
