"""``vsched bench-live`` on a small cluster."""

from __future__ import annotations

import pytest

from vsched.errors import BadInput
from vsched.lab.bench.live import as_table, measure_end_to_end


def test_the_whole_way_is_measured() -> None:
    result = measure_end_to_end(nodes=4, pods=30, gang=8, seed=1, singles=3)
    assert result["pods_per_second"] > 0
    assert result["api_writes_per_pod"]["binding"] == 1.0
    assert 0 < result["single_latency_ms"]["p50"] <= result["single_latency_ms"]["p99"] < 1000
    assert as_table(result).row_count > 5


def test_pods_that_cannot_fit_are_refused_before_anything_starts() -> None:
    with pytest.raises(BadInput, match="do not fit 1 nodes"):
        measure_end_to_end(nodes=1, pods=40, gang=8, seed=1)
