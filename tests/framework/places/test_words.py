"""Words about tiers stay short, however many there are."""

from __future__ import annotations

import numpy as np
import pytest

from vsched.framework.places.words import no_tier
from vsched.model.topology.constraints import NetworkTopology
from vsched.model.topology.tiers import WHOLE_CLUSTER, Tier, Tiers


@pytest.mark.parametrize(
    ("count", "said"),
    [
        pytest.param(0, "(known names: none)", id="no name"),
        pytest.param(2, "(known names: t000, t001)", id="a few"),
        pytest.param(900, "t018, t019 and 880 more)", id="many"),
    ],
)
def test_names_of_tiers_are_listed(count: int, said: str) -> None:
    ids = np.zeros(1, dtype=np.int32)
    tiers = Tiers(
        (Tier(1, "", ids, ("a",)), Tier(2, "", ids, (WHOLE_CLUSTER,))), {f"t{at:03}": 1 for at in range(count)}
    )

    message = no_tier(NetworkTopology(tier_name="row"), tiers)
    assert message.endswith(said)
    assert len(message) < 300
