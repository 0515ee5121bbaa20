"""Numbers put together as one reading: which node is meant, what is unknown, and whose clock is wrong."""

from __future__ import annotations

from math import inf, isfinite, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.collectors.cluster_api import moment, number_of
from vsched.collectors.figures import AHEAD_SECONDS, CPU, CPU_SPREAD, MEMORY, MOST, Names, collect
from vsched.collectors.source import MOST_NAMED, NodeTarget
from vsched.model.nodes.usage import Figures, NodeUsage

NOW = 1_000_000.0
KNOWN = [NodeTarget("n1"), NodeTarget("n2", "host-2"), NodeTarget("n6", "fd00::6")]


@pytest.mark.parametrize(
    ("instance", "node"),
    [
        pytest.param("n1", "n1", id="the name"),
        pytest.param("n1:9100", "n1", id="the name and a port"),
        pytest.param("host-2:9100", "n2", id="what the source calls it and a port"),
        pytest.param("fd00::6", "n6", id="an address with colons in it"),
        pytest.param("[fd00::6]:9100", "n6", id="such an address and a port"),
        pytest.param("n2", None, id="the name of a node that is called something else there"),
        pytest.param("n1:metrics", None, id="something else than a port"),
        pytest.param("n1.example.com", None, id="a longer name"),
        pytest.param("", None, id="nothing"),
    ],
)
def test_which_node_is_meant(instance: str, node: str | None) -> None:
    assert Names(KNOWN).node(instance) == node


def test_a_reading() -> None:
    found = {
        (CPU, "5m"): {"n1:9100": 63.0, "host-2": nan, "stranger": 1.0},
        (CPU_SPREAD, "5m"): {"n1:9100": 4.0},
        (CPU, "1h"): {"n1:9100": 70.0},
        (MEMORY, "5m"): {"host-2": 40.0},
    }
    collected = collect(NOW, KNOWN, {"n1": NOW - 5, "host-2": NOW - 400, "other": NOW}, found)
    assert collected.reading.nodes == {
        "n1": NodeUsage(NOW - 5, {"5m": Figures(63.0, 4.0), "1h": Figures(70.0)}, {}),
        "n2": NodeUsage(NOW - 400, {}, {"5m": Figures(40.0)}),
    }
    assert (collected.reading.taken, collected.strangers, collected.ahead) == (NOW, ("other", "stranger"), 0)


@pytest.mark.parametrize(
    ("measured", "left"),
    [
        pytest.param(NOW - 3600, NOW - 3600, id="old samples stay old"),
        pytest.param(NOW + AHEAD_SECONDS, NOW, id="a clock a little ahead counts as now"),
        pytest.param(NOW + AHEAD_SECONDS + 1, None, id="a clock far ahead says nothing of age"),
        pytest.param(nan, None, id="no time at all"),
        pytest.param(inf, None, id="the end of time"),
    ],
)
def test_clocks(measured: float, left: float | None) -> None:
    collected = collect(NOW, KNOWN, {"n1": measured}, {(CPU, "5m"): {"n1": 1.0}})
    usage = collected.reading.nodes.get("n1")
    assert (usage.measured if usage else None) == left
    assert collected.ahead == (1 if measured == NOW + AHEAD_SECONDS + 1 else 0)


def test_strangers_are_bounded() -> None:
    strangers = {f"s{number:04}": 1.0 for number in range(5000)}
    assert len(collect(NOW, KNOWN, strangers, {}).strangers) == MOST_NAMED


_NUMBERS = st.dictionaries(
    st.sampled_from(["n1", "n1:1", "n1:2", "host-2", "x"]), st.floats(allow_nan=True, allow_infinity=True)
)


@given(_NUMBERS, _NUMBERS, _NUMBERS, _NUMBERS)
def test_what_is_told_is_finite_and_of_nodes_that_are_known(
    measured: dict[str, float], cpu: dict[str, float], spread: dict[str, float], memory: dict[str, float]
) -> None:
    found = collect(NOW, KNOWN, measured, {(CPU, "5m"): cpu, (CPU_SPREAD, "5m"): spread, (MEMORY, "5m"): memory})
    for name, usage in found.reading.nodes.items():
        assert name in {"n1", "n2"}
        assert 0 <= usage.measured <= NOW
        figures = [*usage.cpu.values(), *usage.memory.values()]
        assert figures
        numbers = [number for one in figures for number in (one.average, one.spread)]
        assert all(isfinite(number) and number >= 0 for number in numbers)
        told = [value for key, value in cpu.items() if Names(KNOWN).node(key) == name and value < MOST]
        assert not told or usage.cpu["5m"].average == max(0.0, *told)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("300m", 0.3),
        ("0", 0.0),
        ("1", 1.0),
        ("1532967429n", 1.532967429),
        ("12u", 0.000012),
        ("2048Ki", 2097152.0),
        ("1.5Gi", 1610612736.0),
        ("1e3", 1000.0),
        ("-300m", -0.3),
        ("", nan),
        ("NaN", nan),
        ("Ki", nan),
    ],
)
def test_quantities(text: str, number: float) -> None:
    assert number_of(text) == pytest.approx(number, nan_ok=True)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2026-11-21T16:00:00Z", 1795276800.0),
        ("2026-11-21T17:00:00+01:00", 1795276800.0),
        ("2026-11-21T16:00:00.123456789Z", 1795276800.123456),
        ("2026-11-21T16:00:00", 1795276800.0),
        ("soon", nan),
        ("", nan),
    ],
)
def test_moments(text: str, seconds: float) -> None:
    assert moment(text) == pytest.approx(seconds, nan_ok=True)
