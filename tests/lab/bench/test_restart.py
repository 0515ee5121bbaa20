"""``vsched bench-restart``: what is asked for, who gets which core, and the whole of it, small."""

from __future__ import annotations

import os
import re

import pytest

from tests.support.printed import printed
from vsched.daemon.words.log import CACHE_SYNCED
from vsched.errors import BadInput
from vsched.lab.bench.held.run import LATE, PAGES
from vsched.lab.bench.restart import RestartBenchSettings, apart, as_table, measure_restart
from vsched.lab.bench.words import restart as words
from vsched.sim.fleet.residents import Residents

SMALL = RestartBenchSettings(nodes=4, pods=100, pending=20, gang=4)


def test_the_pods_add_up() -> None:
    residents = [Residents(**fields) for fields in SMALL.residents()]
    assert sum(found.count for found in residents) == SMALL.pods
    assert sum(found.count for found in residents if not found.running) == SMALL.pending
    assert {found.scheduler for found in residents if found.count} == {"vsched", "default-scheduler"}


def test_as_many_pods_as_are_pending_are_left_for_a_second_daemon_where_one_takes_over() -> None:
    residents = [Residents(**fields) for fields in SMALL._replace(held=True).residents()]
    assert sum(found.count for found in residents) == SMALL.pods
    assert [found.count for found in residents if not found.running] == [SMALL.pending, SMALL.pending]
    assert {found.scheduler for found in residents} == {"vsched", "default-scheduler", LATE}


@pytest.mark.parametrize(
    ("settings", "cpu"),
    [
        pytest.param(SMALL._replace(held=True), "28", id="five of another scheduler on each node"),
        pytest.param(RestartBenchSettings(5_000, 140_000, 20_000, 1, held=True), "28", id="six"),
        pytest.param(RestartBenchSettings(2_000, 40_000, 8_000, 1, held=True), "29", id="four"),
    ],
)
def test_a_large_pod_fits_on_a_node_without_ours(settings: RestartBenchSettings, cpu: str) -> None:
    assert settings.large["cpu"] == cpu


@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param(SMALL._replace(pods=257), id="more than fit"),
        pytest.param(SMALL._replace(pending=0), id="none pending"),
        pytest.param(SMALL._replace(pending=101), id="more pending than there are"),
        pytest.param(SMALL._replace(pending=51, held=True), id="more than there are for two daemons"),
    ],
)
def test_what_cannot_be_measured_is_refused(wanted: RestartBenchSettings) -> None:
    with pytest.raises(BadInput, match=re.escape(words.no_room(wanted.pods, wanted.pending, wanted.nodes, 256))):
        measure_restart(wanted)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system does not pin processes to cores")
def test_the_daemon_has_a_core_of_its_own_where_there_are_two() -> None:
    before = os.sched_getaffinity(0)
    with apart() as core:
        assert core in before
        assert (core in os.sched_getaffinity(0)) is (len(before) == 1)
    assert os.sched_getaffinity(0) == before


def test_a_small_restart_from_end_to_end_tells_what_held_the_loop_in_each_part() -> None:
    result = measure_restart(SMALL._replace(held=True), calm_seconds=0.1)
    assert result["ready_s"] > 0  # asked for every few milliseconds, so it may be seen after the first binding
    assert 0 < result["first_binding_s"] <= result["all_bound_s"]
    assert result["relist"]["kinds"] == ["Pod"]
    assert result["relist"]["single_latency_ms"]["p50"] > 0
    assert result["rss_mb"]["peak"] > 20
    assert CACHE_SYNCED in [line["event"] for line in result["log"]]
    parts = ["start", "lists", "first session", "bindings", "single pods", "relist", *PAGES, "policy", "claims"]
    parts += ["evictions", "standby", "hand-over", words.STOP_UNDER_LOAD]
    assert list(result["held"]) == parts
    assert result["problems"] == []
    shown = printed(as_table(result))
    assert words.RELIST in shown
    assert words.held("relist") in shown
