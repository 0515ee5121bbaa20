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
    spent = result["cpu_ms_per_pod"]
    assert spent.keys() == {"cluster", "scheduler", "client"}
    assert spent["scheduler"] == pytest.approx(result["cpu_seconds"]["scheduler"] / 30 * 1e3, abs=0.01)
    assert as_table(result).row_count > 5


@pytest.mark.parametrize(("claims", "written"), [("volumes", "persistentvolumeclaims"), ("devices", "resourceclaims")])
def test_each_pod_may_claim_a_volume_or_a_device_which_the_daemon_writes(claims: str, written: str) -> None:
    result = measure_end_to_end(nodes=4, pods=16, gang=4, seed=1, singles=1, claims=claims)
    assert result["api_writes_per_pod"]["binding"] == 1.0
    assert result["api_writes_per_pod"][written] >= 1.0


def test_pods_that_cannot_fit_are_refused_before_anything_starts() -> None:
    with pytest.raises(BadInput, match="do not fit 1 nodes"):
        measure_end_to_end(nodes=1, pods=40, gang=8, seed=1)
