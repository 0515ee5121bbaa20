"""The way of a pod, and that of a gang which starves, through the functions that the page for newcomers names."""

from __future__ import annotations

import inspect
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple

import pytest

from tests.daemon.preempting import POLICY, QUICK_TO_GO, of_class, priority_class
from tests.support.running import digested, gang, has_listed, node, nodes_of, scheduling, status_of
from tests.support.waiting import until
from vsched.sim.cluster import Cluster

PAGE = Path(__file__).parents[2] / "vsched" / "README.md"
ROW = re.compile(r"\| \[([\w/]+)\.py\]\(\1\.py\) \| `([\w.]+)` \|")
SELDOM_SECONDS = 600.0
"""Sessions begin after changes alone."""


class Row(NamedTuple):
    """A function of a table: its module below ``vsched``, and its name there."""

    module: str
    function: str

    @property
    def code(self) -> CodeType:
        """The code that runs when it is called."""
        found = import_module("vsched." + self.module.replace("/", "."))
        for name in self.function.split("."):
            found = inspect.getattr_static(found, name)
        code = inspect.unwrap(found).__code__
        assert isinstance(code, CodeType)
        return code


def tables() -> list[list[Row]]:
    """The rows of the tables in the section about the way of a pod."""
    section = PAGE.read_text().partition("\n## The way of a pod\n")[2].partition("\n## ")[0]
    found = [[Row(*row) for row in ROW.findall(part)] for part in section.split("\n\n")]
    return [rows for rows in found if rows]


POD, GANG = tables()


class Calls:
    """Which of these functions are called in the process, in order."""

    def __init__(self) -> None:
        self._wanted = {row.code: row for row in {*POD, *GANG}}
        self.rows: list[Row] = []

    def profile(self, frame: FrameType, event: str, arg: object) -> None:
        """Note a call; what coroutines and generators go on with counts as one, too."""
        if event == "call" and (row := self._wanted.get(frame.f_code)) is not None:
            self.rows.append(row)


@contextmanager
def traced() -> Iterator[Calls]:
    """All calls until the end, also those in threads that begin meanwhile."""
    calls, before = Calls(), sys.getprofile()
    threading.setprofile(calls.profile)
    sys.setprofile(calls.profile)
    try:
        yield calls
    finally:
        sys.setprofile(before)
        threading.setprofile(None)


def strays(rows: list[Row], calls: list[Row]) -> list[Row]:
    """The rows that are not called in their place; the way begins with the first call of the first row.

    A function is called for the first time after the row before it. One that has been on the way already is called
    once more.
    """
    if rows[0] not in calls:
        return rows[:1]
    calls = calls[calls.index(rows[0]) :]
    wrong, at = list[Row](), 0
    for number, row in enumerate(rows[1:], start=1):
        since = at + 1 if row in rows[:number] else 0
        found = next((place for place in range(since, len(calls)) if calls[place] == row), -1)
        if found > at:
            at = found
        else:
            wrong.append(row)
    return wrong


async def test_a_pod_and_a_gang_that_starves_go_the_way_of_the_tables(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY.replace("  - name: proportion\n", ""))  # nodes alone are short
    group, *pods = gang("old", 2, minimum=0, cpu="2")
    with traced() as calls:
        async with (
            Cluster([node("n1", cpu="4")], settings=QUICK_TO_GO) as cluster,
            scheduling(cluster.url, policy_file=policy, period_seconds=SELDOM_SECONDS) as daemon,
        ):
            await until(lambda: has_listed(daemon))
            cluster.apply([priority_class("high", 9), group])
            await digested(cluster, daemon)
            calls.rows.clear()
            cluster.apply(pods)
            await until(lambda: status_of(cluster, "old").get("phase") == "Running")
            assert strays(POD, calls.rows) == []
            await digested(cluster, daemon)
            calls.rows.clear()
            cluster.apply(of_class("high", gang("new", 2, cpu="2")))
            await until(lambda: len(nodes_of(cluster, "new")) == 2)
            assert strays(GANG, calls.rows) == []


A, B, C = (Row("model/memo", name) for name in "abc")


@pytest.mark.parametrize(
    ("calls", "wrong"),
    [
        pytest.param([A, B, C, A, B, C], [], id="in order"),
        pytest.param([C, A, B, C], [], id="what was called before the way began does not count"),
        pytest.param([A, C, B, C], [C], id="too early"),
        pytest.param([A, C], [B], id="never"),
        pytest.param([B, C], [A], id="never begun"),
    ],
)
def test_what_is_not_called_in_its_place_is_found(calls: list[Row], wrong: list[Row]) -> None:
    assert strays([A, B, C], calls) == wrong


def test_a_function_may_be_on_the_way_twice() -> None:
    assert strays([A, B, A], [A, A, B, A]) == []
    assert strays([A, B, A], [A, A, B]) == [A]
