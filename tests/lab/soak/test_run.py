"""The times of elections in a soak."""

from __future__ import annotations

import pytest

from vsched.lab.soak.run import lease_of


@pytest.mark.parametrize("seconds", [1, 2, 15, 3600])
def test_the_times_of_an_election_go_together(seconds: int) -> None:
    assert lease_of(seconds).duration_seconds == seconds
