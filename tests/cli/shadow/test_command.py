"""``vsched shadow report``: from a log and from a running shadow, as text, documents and a page."""

from __future__ import annotations

import asyncio
import json
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from msgspec import to_builtins

from tests.support.serving import serving
from tests.support.shadowing import shadowing
from tests.support.waiting import until
from vsched.cli import cli
from vsched.cli.shadow import words
from vsched.cli.shadow.page import BARS_MAX, Bar, page_of, plot
from vsched.client import words as client_words
from vsched.clock import now
from vsched.daemon.shadow.segments import FindingLog
from vsched.errors import BadInput
from vsched.shadow.findings import (
    Evicted,
    Finding,
    Interval,
    Partial,
    QueueShare,
    ShadowBegan,
    Started,
    WouldEvict,
    WouldStart,
)
from vsched.shadow.summary import summed
from vsched.sim.cluster import Cluster

AT = now() - 1000.0
HOSTILE = "<script>alert(1)</script>\x1b[31m"
FINDINGS: list[Finding] = [
    ShadowBegan(AT, ("volcano",), "0123456789abcdef"),
    WouldStart(AT + 1, "team/waits", "research", 4, AT),
    Started(AT + 100, "team/slow", "research", 2, AT, AT + 10),
    Started(AT + 100, "team/worse", "research", 2, AT, 0.0, "QueueCapability", HOSTILE),
    Started(AT + 100, "team/sudden", "research", 2, AT),
    WouldEvict(AT + 100, "team/runs", 3, "preempt", "team/waits"),
    Evicted(AT + 200, "team/back", "team/back-0", "n1", AT + 140, used=False, back=True),
    Evicted(AT + 200, "team/gone", "team/gone-0", "n1", AT + 140, used=True, back=False),
    Partial(AT + 300, "team/half", "research", AT + 200, 2, 4),
    Interval(AT + 400, AT, {"cpu": 12.25}, {"research": QueueShare(400.0, 200.0, 120.0)}),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    log = FindingLog(tmp_path / "log", 1_000_000)
    log.append(FINDINGS)
    log.close()
    return tmp_path / "log"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["shadow", "report", *arguments])


def test_the_log_is_shown_as_text(folder: Path) -> None:
    result = run("--log", str(folder))
    assert result.exit_code == 0
    lines = [" ".join(line.split()) for line in result.output.splitlines()]
    for line in (
        words.about("volcano", "0123456789ab"),
        f"{words.START_LATER} 1 ({words.later_together('90s')})",
        f"{words.START_WAITS_HERE} 1",
        f"{words.START_UNSEEN} 1",
        f"{words.IN_VAIN} {words.evictions(1, 2)}",
        f"{words.PARTIAL} {words.gangs_together(1, '100s')}",
        "cpu 12.2",
        "research 50% 2m 6m40s",
    ):
        assert line in lines, line
    assert "\x1b" not in result.output
    assert [line for line in lines if line.startswith("team/waits research 4")]
    assert [line for line in lines if line.startswith("team/runs 3")]


@pytest.mark.parametrize("flags", [("-o", "json"), ("--json",)])
def test_documents_have_everything(folder: Path, flags: tuple[str, ...]) -> None:
    result = run("--log", str(folder), *flags)
    assert json.loads(result.output) == json.loads(json.dumps(to_builtins(summed(FINDINGS).shown())))


def test_since_leaves_out_what_ended_before(folder: Path) -> None:
    found = json.loads(run("--log", str(folder), "--since", f"{now() - AT - 250:.0f}s", "--json").output)
    assert (found["starts"]["later"], found["would_evict_pods"], found["partials"]) == (0, 0, 1)
    assert [one["job"] for one in found["waiting"]] == ["team/waits"]


def test_a_page_has_plots_and_tables_and_asks_for_nothing(folder: Path, tmp_path: Path) -> None:
    result = run("--log", str(folder), "--html", str(tmp_path / "report.html"))
    assert result.exit_code == 0
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    tags: list[tuple[str, dict[str, str | None]]] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            tags.append((tag, dict(attrs)))

    Reader().feed(text)
    names = [tag for tag, _ in tags]
    assert not {"script", "link", "img", "iframe"} & set(names), "it is one file, and nothing of a message is markup"
    assert not [attributes for _, attributes in tags if "src" in attributes or "href" in attributes]
    assert names.count("svg") == 5
    assert names.count("table") == 8
    assert "team/worse" in text


def test_after_some_days_sums_have_intervals_of_resampled_days(tmp_path: Path) -> None:
    log = FindingLog(tmp_path, 1_000_000)
    for day in range(6):  # on every other day a gang starts a minute later
        at = AT - 86_400.0 * (6 - day)
        of_day = Interval(at, at - 60.0, {"cpu": 60.0 * (day % 2)}, {"research": QueueShare(60.0, 30.0 * day)})
        log.append([of_day, *([Started(at, f"team/{day}", "q", 1, at, at - 60.0)] if day % 2 else [])])
    log.close()
    sums = json.loads(run("--log", str(tmp_path), "--json").output)["over_days"]
    assert sums["later"]["value"] == 3.0
    assert 0.0 <= sums["later"]["low"] < 3.0 < sums["later"]["high"] <= 6.0
    assert sums["later_seconds"] == {name: 60.0 * value for name, value in sums["later"].items()}
    assert sums["in_vain"] == {"value": 0.0, "low": 0.0, "high": 0.0}
    assert sums["idle"] == {"cpu": sums["later_seconds"]}
    share = sums["queues"]["research"]
    assert share["value"] == pytest.approx(sum(0.5 * day for day in range(6)) / 6)
    assert 0.0 <= share["low"] < share["value"] < share["high"] <= 2.5
    lines = [" ".join(line.split()) for line in run("--log", str(tmp_path)).output.splitlines()]
    assert f"{words.OVER_DAYS} {words.resampled(6)}" in lines
    assert [line for line in lines if line.startswith(f"{words.FIGURES['later_seconds']} 3m ")]
    low, high = sums["idle"]["cpu"]["low"], sums["idle"]["cpu"]["high"]
    assert f"cpu 180.0 {low:.1f} {high:.1f}" in lines


def test_a_plot_is_drawn_to_scale() -> None:
    bars = [Bar(f"<{number}>", float(number), str(number)) for number in range(BARS_MAX + 5)]
    drawn = plot("t", bars, mark=1.0)
    widths = [float(one.attrib["width"]) for one in drawn.iter("rect")]
    assert len(widths) == BARS_MAX
    assert widths == pytest.approx([number / (BARS_MAX - 1) * widths[-1] for number in range(BARS_MAX)], abs=0.1)
    assert [one.text for one in drawn.iter("text")][:2] == ["<0>", "0"]
    assert len(list(drawn.iter("line"))) == 1
    assert not list(plot("t", []).iter("rect"))


def test_an_empty_report_says_so() -> None:
    assert page_of(summed([]).shown()).count(f"<p>{words.NONE}</p>") == 8


async def test_a_running_shadow_is_asked(tmp_path: Path) -> None:
    async with Cluster([]) as cluster, shadowing(cluster, listen_address="127.0.0.1:0", shadow_log=tmp_path) as shadow:
        await until(lambda: shadow.health.ready().ok)
        url = f"http://127.0.0.1:{shadow.ports['--listen-address']}"
        for more in ((), ("--since", "1h")):
            result = await asyncio.to_thread(run, "--daemon", url, "--json", *more)
            assert json.loads(result.output)["limits"] == list(summed([]).shown().limits)


async def test_a_daemon_that_is_no_shadow_is_named() -> None:
    async with Cluster([]) as cluster, serving(cluster.url) as (_, url):
        result = await asyncio.to_thread(run, "--daemon", url)
        assert isinstance(result.exception, BadInput)
        assert str(result.exception) == client_words.no_shadow(url)


def test_a_log_and_a_daemon_are_one_too_many(folder: Path) -> None:
    result = run("--log", str(folder), "--daemon", "http://127.0.0.1:1")
    assert isinstance(result.exception, BadInput)
    assert str(result.exception) == words.LOG_OR_DAEMON
