"""``vsched bench-live`` on small clusters, from end to end."""

from __future__ import annotations

import os
import re
from errno import ENOENT
from pathlib import Path

import pytest

from tests.support.printed import printed
from vsched.errors import BadInput
from vsched.lab.bench.live.measure import measure_end_to_end
from vsched.lab.bench.live.settings import LiveSettings
from vsched.lab.bench.live.view import as_tables
from vsched.lab.bench.words import live as words


def test_the_whole_way_is_measured_beside_plain_loops(tmp_path: Path) -> None:
    profile = tmp_path / "profile.txt"
    asked = LiveSettings(nodes=4, pods=24, gang=8, waiting=8, singles=2, posts=8, claims="devices", server_ms=1.0)
    result = measure_end_to_end(asked, profile=profile)

    assert result["pods_per_second"] > 0
    assert 3_000 < result["pod_bytes"] < 7_000
    for part in (result, result["waiting"]):
        assert part["api_writes_per_pod"]["binding"] == 1.0
        assert part["api_writes_per_pod"]["resourceclaims"] >= 1.0
        assert part["writes_per_pod"] == pytest.approx(sum(part["api_writes_per_pod"].values()), abs=0.01)
        assert part["cpu_ms_per_pod"].keys() == {"cluster", "scheduler", "client"}
        assert part["daemon_cpu_ms_per_pod"] == part["cpu_ms_per_pod"]["scheduler"] > 0
    assert 0 < result["single_latency_ms"]["p50"] <= result["single_latency_ms"]["p99"]

    loops = result["loops"]
    assert [loops[name]["writes"] for name in ("bindings", "placed_at_once", "seen_before")] == [8, 20, 38]
    assert min(each["server_cpu_ms_per_write"] for each in loops.values()) >= 0.5
    assert result["ratio"] == pytest.approx(
        result["daemon_cpu_ms_per_pod"] / loops["bindings"]["cpu_ms_per_pod"], rel=0.01
    )
    assert result["times_volcano"].keys() == {"placed_at_once", "seen_before"}
    served = result["waiting"]["cpu_ms_per_pod"]["cluster"]
    assert result["server_times_volcano"] == {
        name: pytest.approx(loops[name]["server_cpu_ms_per_pod"] / served, abs=0.01)
        for name in ("placed_at_once", "seen_before")
    }
    assert " s of processor time, " in profile.read_text(encoding="utf-8")
    shown = printed(*as_tables(result))
    assert words.DAEMON_TIME in shown
    assert "over TLS" in shown
    assert words.server_time(1.0) in shown
    assert words.VOLCANO_SEEN_BEFORE in shown


def test_it_may_be_plain_http_and_small_single_pods_that_claim_volumes() -> None:
    asked = LiveSettings(nodes=4, pods=8, gang=1, singles=1, claims="volumes", tls=False, real=False)
    result = measure_end_to_end(asked)
    assert result["api_writes_per_pod"]["binding"] == 1.0
    assert result["api_writes_per_pod"]["persistentvolumeclaims"] >= 1.0
    assert "podgroup" not in result["api_writes_per_pod"]
    assert result["pod_bytes"] < 3_000
    assert (result["waiting"], result["loops"]) == (None, None)
    assert "ratio" not in result


def test_a_profile_that_cannot_be_written_is_told_before_anything_starts(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "daemon.txt"
    with pytest.raises(BadInput, match=re.escape(words.not_writable(str(path), os.strerror(ENOENT)))):
        measure_end_to_end(LiveSettings(nodes=1, pods=8, singles=0), profile=path)


def test_pods_that_cannot_fit_are_refused_before_anything_starts() -> None:
    with pytest.raises(BadInput, match=re.escape(words.no_room(40, 140, 1, 32))):
        measure_end_to_end(LiveSettings(nodes=1, pods=40, gang=8))
