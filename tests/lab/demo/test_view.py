"""The demo's state as a document, a line and a screen."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.console import Console

from vsched.cli.show.drawing import bar
from vsched.lab.demo import words
from vsched.lab.demo.view import LOOK, DemoState, NamespaceLine, QueueLine, as_document, as_line, as_live

STATE = DemoState(
    elapsed_seconds=10.0,
    seconds=20.0,
    nodes=100,
    nodes_used=97,
    cpus=3200,
    created=2000,
    bound=1900,
    finished=1500,
    per_second=180,
    peak_per_second=640,
    gangs_bound=321,
    latency_ms={"p50": 12.3, "p99": 2345.6},
    queues=(
        QueueLine("research", 3, 1.04, 1600.0, 1540.0, 300, 55, {"p50": 20.0, "p99": 900.0}),
        QueueLine("batch", 1, 0.5, 800.0, 1600.0, 150, 45, {"p50": 30.0, "p99": 3000.0}),
    ),
    namespaces=(NamespaceLine("team-a", 3, 1200.0, 80), NamespaceLine("team-b", 2, 1200.0, 20)),
    decisions=("team-a/gang-7 on 3 nodes after 20 ms",),
    sessions=400,
    page="http://127.0.0.1:8080/",
)


class TestWhatIsShown:
    def test_as_data(self) -> None:
        printed = as_document(STATE)
        assert printed["pods_waiting"] == 100
        assert printed["pods_per_second"] == 190.0
        assert printed["pods_per_second_peak"] == 640
        assert printed["queues"]["batch"]["deserved_cpu"] == 1600.0
        assert "last_error" not in printed
        assert as_document(replace(STATE, errors=1, last_error="oh"))["last_error"] == "oh"
        assert as_document(replace(STATE, contested={"late": 0.71234567}))["held_since_all_ask"] == {"late": 0.7123}

    def test_as_a_line(self) -> None:
        cpus, latency = "research 1600/1540, batch 800/1600", "p50 12 ms / p99 2.3 s"
        assert as_line(STATE) == words.progress(10.0, 1900, 180, 100, 97, 100, latency, cpus)

    def test_as_a_picture(self) -> None:
        console = Console(width=140, no_color=True)
        with console.capture() as capture:
            console.print(as_live(replace(STATE, errors=2, last_error="oh")))
        lines = capture.get().splitlines()
        assert words.headline(97, 100, 10.0) in lines[0]
        assert "180 pods/s (at most 640)   1,900 bound" in lines[1]
        research = next(line for line in lines if line.startswith("research"))
        assert research.split()[:3] == ["research", "3", "104%"]
        assert research.count("█") + research.count("·") + research.count("┃") == LOOK.cells
        assert any("team-a/gang-7 on 3 nodes" in line for line in lines)
        assert words.errors(2, "oh").strip() in lines[-1]

    @pytest.mark.parametrize(
        ("filled", "mark", "full", "at"),
        [
            pytest.param(0.0, 0.5, 0, 14, id="nothing"),
            pytest.param(0.5, 0.25, 13, 7, id="more than deserved: the mark covers one"),
            pytest.param(1.7, 2.0, LOOK.cells - 1, LOOK.cells - 1, id="beyond the cluster stays within the bar"),
        ],
    )
    def test_a_bar(self, filled: float, mark: float, full: int, at: int) -> None:
        text = bar(LOOK, 1.0, filled, fair=mark).plain
        assert len(text) == LOOK.cells
        assert (text.count("█"), text.index("┃")) == (full, at)
