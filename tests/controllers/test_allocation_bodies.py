"""How times are written in the objects of arbitration."""

from __future__ import annotations

import pytest

from vsched.controllers.allocation_bodies import rfc3339


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        pytest.param(0.0, "1970-01-01T00:00:00Z", id="whole seconds have no fraction"),
        pytest.param(1700000000.25, "2023-11-14T22:13:20.250Z", id="milliseconds are kept"),
        pytest.param(1.9999, "1970-01-01T00:00:02Z", id="finer than that is rounded"),
    ],
)
def test_times_are_rfc_3339(seconds: float, text: str) -> None:
    assert rfc3339(seconds) == text
