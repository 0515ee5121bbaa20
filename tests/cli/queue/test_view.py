"""Queues as tables and documents: what fits a terminal, what a bar says, whose queue is below whose."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console, RenderableType

from vsched.cli.queue import words
from vsched.cli.queue.shown import Queues, QueueView, amounts, columns, view_of
from vsched.cli.queue.source import with_jobs
from vsched.cli.queue.view import (
    as_page,
    as_table,
    get_document,
    in_tree,
    list_document,
    scarcest_resource,
)
from vsched.cli.show.columns import entries
from vsched.cli.show.drawing import look_for

GPU = "nvidia.com/gpu"
TOTAL = {"cpu": "80", "memory": "320Gi", GPU: "16"}


def sight(name: str, parent: str = "root", annotations: dict[str, str] | None = None, **fields: Any) -> QueueView:
    """A queue from fields of its spec and status."""
    status = {key: fields.pop(key) for key in ("state", "allocated", "conditions", "running") if key in fields}
    metadata = {"name": name, "uid": f"uid-{name}", "annotations": annotations or {}}
    obj = {"metadata": metadata, "spec": fields, "status": {"state": "Open", **status}}
    return view_of(obj, parent)


def queues(*sights: QueueView) -> Queues:
    named = {found.name: found for found in (sight("root", ""), *sights)}
    return Queues(with_jobs(dict(sorted(named.items()))), amounts(TOTAL))


SOME = queues(
    sight("research", weight=3, priority=10, allocated={"cpu": "20", GPU: "8"}, deserved={"cpu": "10"}, running=2),
    sight("vision", "research", state="Closing", annotations={"volcano.sh/closed-by-parent": "true"}),
    sight("batch", priorityClassName="low", reclaimable=False, capability={"cpu": "40"}, allocated={"cpu": "30"}),
)


def shown(what: RenderableType, width: int = 400) -> list[str]:
    console = Console(file=StringIO(), width=width, highlight=False, no_color=True)
    console.print(what)
    assert isinstance(console.file, StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def line_of(lines: list[str], name: str) -> str:
    return next(line for line in lines if name in line)


@pytest.mark.parametrize("width", [80, 99, 100, 119, 120, 139, 140, 159, 160, 179, 180, 240])
def test_a_table_fits_its_terminal_and_cuts_no_word(width: int) -> None:
    lines = shown(as_table(SOME, look_for(width, wide=False, unicode=True)), width)
    assert max(cell_len(line) for line in lines) <= width
    assert not [line for line in lines if "…" in line]
    assert "20/80" in line_of(lines, "research")
    assert ("priority" in lines[0], "waiting" in lines[0]) == (width >= 140, width >= 120)


@pytest.mark.parametrize("divided", [False, True])
def test_who_knows_shares_by_weight_is_said_where_nobody_told_them(divided: bool) -> None:
    legend = shown(as_table(Queues(queues().by_name, {}, divided), look_for(120, wide=False, unicode=True)))[-1]
    assert ("--daemon" in legend) is not divided


def test_a_narrow_table_has_whole_numbers() -> None:
    lines = shown(
        as_table(queues(sight("q" * 60, allocated={"cpu": "20"})), look_for(40, wide=False, unicode=True)), 40
    )
    assert lines[0].split() == ["queue", "state", "cpu", "memory"]
    assert lines[2].split()[-3:] == ["Open", "20/80", "0/320Gi"]


def test_a_wide_table_has_everything() -> None:
    lines = shown(as_table(SOME, look_for(80, wide=True, unicode=True)))
    assert lines[0].split()[-5:] == ["completed", "deserved", "guarantee", "capability", "reclaimable"]
    assert line_of(lines, "batch").split()[-3:] == ["cpu", "40", "no"]


@pytest.mark.parametrize(
    ("fields", "bar"),
    [
        pytest.param({"allocated": {"cpu": "40"}}, "####.... 40/80", id="half of the cluster"),
        pytest.param({"allocated": {"cpu": "10m"}}, "#....... 0.01/80", id="what little is held is seen"),
        pytest.param({"allocated": {"cpu": "400"}}, "######## 400/80", id="no more than the whole bar"),
        pytest.param(
            {"allocated": {"cpu": "10"}, "capability": {"cpu": "20"}}, "####.... 10/20", id="of its capability"
        ),
        pytest.param(
            {"allocated": {"cpu": "20"}, "deserved": {"cpu": "60"}}, "##....|. 20/80", id="less than deserved"
        ),
        pytest.param(
            {"allocated": {"cpu": "60"}, "deserved": {"cpu": "20"}}, "##|###.. 60/80", id="more than deserved"
        ),
        pytest.param({"deserved": {"cpu": "80"}}, ".......| 0/80", id="all is deserved"),
    ],
)
def test_bars(fields: dict[str, Any], bar: str) -> None:
    lines = shown(as_table(queues(sight("q", **fields)), look_for(100, wide=False, unicode=False)))
    assert bar in line_of(lines, "- q")


def test_without_nodes_to_read_there_is_only_what_is_held() -> None:
    held = Queues({"q": sight("q", "", allocated={"cpu": "2"})})
    assert "2/-" in line_of(shown(as_table(held, look_for(180, wide=False, unicode=True))), "q ")


def test_no_queues() -> None:
    assert shown(as_table(Queues({}), look_for(80, wide=False, unicode=True))) == [words.NO_QUEUES]


def test_queues_are_below_their_parents() -> None:
    ring = queues(sight("b", "a"), sight("a", "b"), sight("c"), sight("d", "c"), sight("e", "d"))
    assert [(depth, found.name) for depth, found in in_tree(ring)] == [
        (0, "root"), (1, "c"), (2, "d"), (3, "e"), (0, "a"), (1, "b"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("sights", "expected"),
    [
        pytest.param([sight("a", allocated={"cpu": "80"})], None, id="none"),
        pytest.param([sight("a", deserved={GPU: "1"})], GPU, id="one that is only deserved"),
        pytest.param(
            [sight("a", allocated={GPU: "4", "x.io/nic": "9"}), sight("b", allocated={GPU: "9"})],
            "x.io/nic",
            id="the one of which the largest part is held",
        ),
    ],
)
def test_the_scarcest_resource(sights: list[QueueView], expected: str | None) -> None:
    assert scarcest_resource(queues(*sights)) == expected


def test_documents() -> None:
    listed = list_document(SOME)
    assert [found["name"] for found in listed["queues"]] == ["root", "batch", "research", "vision"]
    assert listed["total"] == {"cpu": "80", "memory": "320Gi", GPU: "16"}
    assert entries(columns(SOME), SOME.named("research")) == {
        "name": "research",
        "state": "Open",
        "parent": "root",
        "priority": 10,
        "priorityClassName": "",
        "weight": 3,
        "reclaimable": True,
        "share": 2.0,
        "overused": False,
        "allocated": {"cpu": "20", GPU: "8"},
        "deserved": {"cpu": "10"},
        "guarantee": {},
        "capability": {},
        "podGroups": {"pending": 0, "inqueue": 0, "running": 2, "unknown": 0, "completed": 0},
        "conditions": [],
    }
    more = get_document(SOME, SOME.named("vision"), {"Running": 1})
    assert (more["closedByParent"], more["below"], more["podGroupsByPhase"]) == (True, [], {"Running": 1})


def test_a_page_tells_all_about_a_queue() -> None:
    condition = {"type": "Misconfigured", "status": "True", "reason": "LimitsClipped", "message": "cpu 9 of 8"}
    found = sight("vision", "research", state="Closing", conditions=[condition], guarantee={"resource": {GPU: "2"}})
    lines = shown(as_page(queues(found), found, {"Inqueue": 1, "Running": 2}, look_for(160, wide=False, unicode=True)))
    assert line_of(lines, "state").split(maxsplit=1)[1] == "Closing (3 PodGroups remain)"
    assert line_of(lines, "PodGroups  ").split(maxsplit=1)[1] == "1 Inqueue, 2 Running"
    assert line_of(lines, GPU).split()[-5:] == ["-", "-", "2", "-", "16"]
    assert lines[-1] == "Misconfigured: LimitsClipped: cpu 9 of 8"


def test_what_a_daemon_says_counts_for_more_than_the_spec() -> None:
    obj = {"metadata": {"name": "q", "uid": "u"}, "spec": {"deserved": {"cpu": "1"}}, "status": {}}
    found = view_of(obj, "", {"share": 0.25, "overused": True, "deserved": {"cpu": "8", "pods": "3"}})
    assert (found.share, found.overused, found.deserved) == (0.25, True, {"cpu": 8000})


def test_nothing_says_what_the_root_deserves() -> None:
    obj = {"metadata": {"name": "root", "uid": "u"}, "spec": {"deserved": {"cpu": "1"}}, "status": {}}
    found = view_of(obj, "", {"share": 6.72, "deserved": {"cpu": "8"}})
    assert (found.share, found.deserved) == (None, {})


def test_a_quantity_that_is_none_is_left_out() -> None:
    assert amounts({"cpu": "two", "memory": "1Gi", "pods": "9", "requests.cpu": "1"}) == {"memory": 1 << 30}
