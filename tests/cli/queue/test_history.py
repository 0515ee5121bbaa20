"""``vsched queue history``: shares of queues over time as tables, CSV and documents."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import time

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace
from rich.console import Console, RenderableType

from tests.support.queue_commands import queue
from tests.support.running import OFTEN_SEEN, gang, node, nodes_of, scheduling
from tests.support.waiting import until, until_answered
from vsched.cli import cli
from vsched.cli.queue import words
from vsched.cli.queue.history import curve, history_csv, history_table, points_for, queue_table
from vsched.cli.show.drawing import look_for
from vsched.cli.show.output import Output
from vsched.errors import Unavailable
from vsched.sim.cluster import Cluster
from vsched.web.overview.share_series import QueueSeries, ShareSeries
from vsched.web.words import answers as web_words

LOOK = look_for(200, wide=False, unicode=True)
PLAIN = look_for(200, wide=False, unicode=False)
RESEARCH = QueueSeries("research", (None, 0.25, 0.5), (None, 0.3, 0.3), (None, 0.0, 1.25))
FOUND = ShareSeries(
    span="hour",
    begins=6_000_000.0,
    step_seconds=120.0,
    queues=(QueueSeries("", (0.5, 0.75, 1.0), (None, None, None), (0.0, 0.0, 13.76)), RESEARCH),
    left_out=2,
)


def lines(page: RenderableType) -> list[str]:
    console = Console(width=200, file=io.StringIO(), legacy_windows=False)
    with console.capture() as shown:
        console.print(page)
    return [line.rstrip() for line in shown.get().splitlines()]


def test_a_table_has_a_line_a_queue_with_a_curve() -> None:
    shown = lines(history_table(FOUND, LOOK))
    headings = "queue held mean most deserved waiting " + words.held_over("hour")
    assert shown[0].split() == headings.split()
    assert shown[1].split() == ["the", "cluster", "100%", "75%", "100%", "-", "14x", "▅▇█"]
    assert shown[2].split() == ["research", "50%", "38%", "50%", "30%", "125%", "▃▅"]
    assert shown[-2].endswith("each point is the mean of 2m; a full cell is 100%")
    assert shown[-1] == words.no_history(2, "queues have")


def test_it_is_said_until_when_only_what_was_held_is_known_by_the_hour() -> None:
    known = replace(FOUND, hourly=(True, True, False))
    when = time.strftime("%m-%d %H:%M", time.localtime(FOUND.begins + 240))
    expected = words.hourly_before(when)
    assert lines(history_table(known, LOOK))[-2] == expected
    assert expected in lines(queue_table(replace(known, queues=(RESEARCH,)), LOOK))


def test_a_page_about_one_has_a_line_a_step() -> None:
    one = ShareSeries("hour", 6_000_000.0, 120.0, (RESEARCH,), 0)
    shown = lines(queue_table(one, LOOK))
    assert shown[0] == "research"
    assert [line.split()[0] for line in shown[2:5]] == ["held", "deserved", "waiting"]
    assert shown[6].split() == ["from", "held", "deserved", "waiting", "held"]
    assert shown[7].split()[2:] == ["-", "-", "-"]
    assert shown[9].split()[2:] == ["50%", "30%", "125%", "█" * 12]


@pytest.mark.parametrize(
    ("points", "top", "drawn"),
    [
        pytest.param((0.0, 0.5, 1.0), 1.0, "▁▅█", id="from nothing to all"),
        pytest.param((0.0, None, 0.1), 0.1, "▁ █", id="a gap, and a small top"),
        pytest.param((0.0, 0.0), 0.0, "▁▁", id="nothing at all"),
    ],
)
def test_a_curve_is_as_high_as_its_part_of_the_top(points: tuple[float | None, ...], top: float, drawn: str) -> None:
    assert curve(points, top, LOOK).plain == drawn
    assert curve(points, top, PLAIN).plain.isascii()


def test_csv_has_a_line_a_step_of_each_queue() -> None:
    first, *rows = csv.reader(io.StringIO(history_csv(FOUND)))
    assert first == ["queue", "from", "seconds", "held", "deserved", "waiting"]
    assert rows[2] == ["", "6000240", "120", "1.0", "", "13.76"]
    assert rows[3] == ["research", "6000000", "120", "", "", ""]
    assert len(rows) == 6


def test_nothing_seen_is_said() -> None:
    assert lines(history_table(ShareSeries("hour", 0.0, 10.0, (), 0), LOOK)) == [words.NO_DATA]


def test_documents_have_every_step_of_one_queue() -> None:
    assert points_for(Output("csv"), one=True) == 1008
    assert points_for(Output("json"), one=False) == 120
    assert points_for(Output("wide"), one=False) > points_for(Output("text"), one=False)


# -- against a daemon


async def run(*arguments: str) -> Result:
    return await asyncio.to_thread(CliRunner().invoke, cli, ["queue", "history", *arguments])


async def test_a_daemon_tells_what_its_queues_held() -> None:
    members = gang("g", 2)
    members[0]["spec"]["queue"] = "research"
    async with (
        Cluster([node("n1")], manifests=[queue("research"), *members]) as cluster,
        scheduling(cluster.url, listen_address="127.0.0.1:0", observing=OFTEN_SEEN) as daemon,
    ):
        await until(lambda: len(nodes_of(cluster, "g-")) == 2)
        where = ("--daemon", f"127.0.0.1:{daemon.ports['--listen-address']}")

        async def seen() -> bool:
            result = await run("research", "-o", "json", *where)
            return result.exit_code == 0 and 0.5 in json.loads(result.stdout)["queues"][0]["held"]

        await until_answered(seen)
        shown = (await run("--span", "week", *where)).stdout
        assert "research" in shown
        assert words.held_over("week") in shown
        assert (await run("research", *where)).stdout.startswith("research\n")
        unknown = await run("gone", *where)
        assert web_words.no_history("gone") in str(unknown.exception)
    nobody = await run(*where)
    assert isinstance(nobody.exception, Unavailable)
