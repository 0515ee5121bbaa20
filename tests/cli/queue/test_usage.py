"""``vsched queue usage``: resource-hours as a table, as CSV and as documents."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result
from rich.console import Console

from tests.support.running import OFTEN_SEEN, gang, node, nodes_of, scheduling
from tests.support.waiting import until, until_answered
from vsched.cli import cli
from vsched.cli.queue import words
from vsched.cli.queue.usage import ROWS_MAX, hours, span_text, usage_csv, usage_table
from vsched.cli.show.drawing import look_for
from vsched.errors import BadInput
from vsched.model.history.showback import Showback, UsageRow
from vsched.sim.cluster import Cluster

GPU = "nvidia.com/gpu"
FOUND = Showback(
    at=1e9,
    span_seconds=86_400.0,
    counted_seconds=86_400.0,
    by=("queue", "user"),
    resources=("cpu", "memory", GPU, "example.com/idle"),
    had={"cpu": 2400.0, "memory": 9600.0, GPU: 96.0, "example.com/idle": 24.0},
    rows=(
        UsageRow("research", "", "ann", 0.5, {"cpu": 1200.0, "memory": 1.25, GPU: 24.0}),
        UsageRow("batch", "", "", 0.1, {"cpu": 240.0}),
        UsageRow("batch", "", "=SUM(A1)", 0.001, {"memory": 9.6}),
    ),
)


def table(found: Showback, *, wide: bool = False, width: int = 200) -> list[str]:
    console = Console(width=width, file=io.StringIO(), legacy_windows=False)
    with console.capture() as shown:
        console.print(usage_table(found, look_for(width, wide=wide, unicode=True)))
    return [line.rstrip() for line in shown.get().splitlines()]


def test_a_table_has_a_line_each_and_what_the_cluster_had() -> None:
    lines = table(FOUND)
    assert lines[0].split() == ["queue", "user", "share", "core-hours", "GiB-hours", "gpu-hours"]
    assert lines[1].split()[:2] == ["research", "ann"]
    assert lines[1].split()[-4:] == ["50.0%", "1,200", "1.25", "24.00"]
    assert lines[2].split()[:2] == ["batch", "-"]
    assert lines[4].split() == ["the", "cluster", "2,400", "9,600", "96.00"]
    assert lines[-1] == words.of_the_last("24h", "", "3 lines")


def test_a_wide_table_has_resources_that_nobody_used() -> None:
    assert "idle-hours" in table(FOUND, wide=True)[0]


def test_a_long_table_says_how_many_are_missing() -> None:
    rows = tuple(UsageRow(f"q{number}", "", "", 0.0, {"cpu": 1.0}) for number in range(ROWS_MAX + 3))
    many = Showback(1e9, 3600.0, 1800.0, ("queue",), ("cpu",), {"cpu": 99.0}, rows)
    lines = table(many)
    assert lines[-2:] == [
        words.more_rows(3),
        words.of_the_last("60m", words.of_which_counted("30m"), "53 lines"),
    ]
    assert len(table(many, wide=True)) == len(rows) + 4


def test_nothing_counted_is_said() -> None:
    assert table(Showback(0.0, 3600.0, 0.0, ("queue",), (), {}, ())) == [words.NOTHING_COUNTED]


def test_csv_has_plain_numbers_of_all_resources_and_no_formulas() -> None:
    first, *rows = csv.reader(io.StringIO(usage_csv(FOUND)))
    assert first == [
        "queue",
        "user",
        "share",
        "cpu core-hours",
        "memory GiB-hours",
        f"{GPU} hours",
        "example.com/idle hours",
    ]
    assert rows[0] == ["research", "ann", "0.5", "1200.0", "1.25", "24.0", "0.0"]
    assert rows[2][1] == "'=SUM(A1)"


@pytest.mark.parametrize(
    ("amount", "told"), [(0.0, "0.00"), (1.234, "1.23"), (99.99, "99.99"), (1234.5, "1,234"), (1e6, "1,000,000")]
)
def test_hours_have_as_many_digits_as_matter(amount: float, told: str) -> None:
    assert hours(amount) == told


@pytest.mark.parametrize(
    ("seconds", "told"), [(604_800, "7d"), (86_400, "24h"), (5400, "90m"), (60, "60s"), (45_000, "12.5h")]
)
def test_spans_are_told_in_their_largest_unit(seconds: float, told: str) -> None:
    assert span_text(seconds) == told


# -- against a daemon


async def run(*arguments: str) -> Result:
    return await asyncio.to_thread(CliRunner().invoke, cli, ["queue", "usage", *arguments])


async def test_a_daemon_and_its_dump_tell_what_was_used(tmp_path: Path) -> None:
    group, *members = gang("g", 2)
    group["metadata"]["annotations"] = {"vsched.io/user": "ann"}
    async with (
        Cluster([node("n1")], manifests=[group, *members]) as cluster,
        scheduling(cluster.url, listen_address="127.0.0.1:0", observing=OFTEN_SEEN) as daemon,
    ):
        await until(lambda: len(nodes_of(cluster, "g-")) == 2)
        where = ("--daemon", f"127.0.0.1:{daemon.ports['--listen-address']}")

        async def counted() -> bool:
            result = await run("-o", "json", *where)
            assert result.exit_code == 0, result.exception
            return bool(json.loads(result.stdout)["rows"])

        await until_answered(counted)
        [row] = yaml.safe_load((await run("--by", "queue,user", "-o", "yaml", *where)).stdout)["rows"]
        assert (row["queue"], row["namespace"], row["user"]) == ("default", "", "ann")
        assert row["used"]["cpu"] > 0
        assert 0 < row["share"] <= 0.5
        lines = (await run(*where)).stdout.splitlines()
        assert lines[0].split()[:3] == ["queue", "share", "core-hours"]
        assert lines[1].split()[0] == "default"
        dumped = tmp_path / "session.dump"
        result = await asyncio.to_thread(CliRunner().invoke, cli, ["dump", "--out", str(dumped), *where])
        assert result.exit_code == 0, result.output
    listed = await run("--from", str(dumped), "--by", "namespace", "--since", "7d", "-o", "csv")
    assert listed.stdout.splitlines()[1].startswith("default,0.")


async def test_a_span_beyond_a_week_and_other_words_are_refused() -> None:
    for arguments in (("--since", "8d"), ("--since", "0"), ("--by", "pod"), ("--since", "soon")):
        result = await run(*arguments)
        assert result.exit_code == 2, result.output
    wrong = await run("--from", "README.md")
    assert isinstance(wrong.exception, BadInput)


def test_on_80_columns_names_give_way_and_figures_do_not() -> None:
    names = ["research-department-of-particle-physics", "team-with-quite-a-long-name", "ann.someone@example.com"]
    row = UsageRow(*names, 0.5, {"cpu": 1_234_567.0, "memory": 9_876_543.0, GPU: 123_456.0})
    had = {"cpu": 2_234_567.0, "memory": 19_876_543.0, GPU: 223_456.0}
    found = Showback(1e9, 3600.0, 3600.0, ("queue", "namespace", "user"), ("cpu", "memory", GPU), had, (row,))
    lines = table(found, width=80)
    assert lines[0].split()[-4:] == ["share", "core-hours", "GiB-hours", "gpu-hours"]
    assert lines[1].split()[-4:] == ["50.0%", "1,234,567", "9,876,543", "123,456"]
    assert "".join(line.split()[0] for line in lines[1:4]).startswith(names[0][:12])
