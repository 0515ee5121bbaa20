"""Jobs as tables and documents: which are meant, in which order, and what is told of each."""

from __future__ import annotations

from io import StringIO
from typing import Any

import msgspec
import pytest
from rich.cells import cell_len
from rich.console import Console, RenderableType

from vsched.cli.job import words
from vsched.cli.job.command import SORTS as OFFERED
from vsched.cli.job.source import JobDetails, JobLine, JobList, line_of_object
from vsched.cli.job.view import SORTS, as_document, as_page, as_table, chosen, get_document, list_document
from vsched.cli.show.drawing import look_for
from vsched.explain.records import Change, Estimate, Explanation, WaitingPlace, Whereabouts

NOW = 1_700_000_000.0


def line(key: str, **fields: Any) -> JobLine:
    usual: dict[str, Any] = {"queue": "a", "phase": "Inqueue", "min_member": 2, "ready": 0, "pending": 2, "priority": 0}
    return JobLine(key, **{**usual, "created": NOW - 90, **fields})


WAITS = line(
    "ns/waits", position=1, reason="GangSize", message="the gang needs 2, 1 fits", reasons={"Insufficient cpu": 3}
)
LATER = line("ns/later", position=2, priority=9, reason="Order", created=NOW - 10)
OTHER = line("x/other", queue="b", position=1, min_member=8, reason="QueueCapability", created=NOW - 300)
RUNS = line("ns/runs", phase="Running", ready=2, pending=0, running=2)
ALL = (RUNS, OTHER, LATER, WAITS)


def shown(what: RenderableType, width: int = 400) -> list[str]:
    console = Console(file=StringIO(), width=width, highlight=False, no_color=True)
    console.print(what)
    assert isinstance(console.file, StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


@pytest.mark.parametrize(
    ("wanted", "keys"),
    [
        pytest.param({}, ["ns/waits", "ns/later", "ns/runs", "x/other"], id="in the order of each queue"),
        pytest.param({"namespace": "ns"}, ["ns/waits", "ns/later", "ns/runs"], id="of a namespace"),
        pytest.param({"namespace": "n"}, [], id="of a namespace, not of those that begin so"),
        pytest.param({"queue": "b"}, ["x/other"], id="of a queue"),
        pytest.param({"phase": "Running"}, ["ns/runs"], id="in a phase"),
        pytest.param({"waiting": True}, ["ns/waits", "ns/later", "x/other"], id="that wait"),
        pytest.param({"sort": "name"}, ["ns/later", "ns/runs", "ns/waits", "x/other"], id="by name"),
        pytest.param({"sort": "age"}, ["x/other", "ns/runs", "ns/waits", "ns/later"], id="the oldest first"),
        pytest.param(
            {"sort": "priority"}, ["ns/later", "ns/waits", "ns/runs", "x/other"], id="the most important first"
        ),
        pytest.param({"sort": "phase"}, ["ns/waits", "ns/later", "x/other", "ns/runs"], id="by phase"),
        pytest.param({"sort": "reason"}, ["ns/waits", "ns/later", "x/other", "ns/runs"], id="by reason"),
        pytest.param({"sort": "size"}, ["x/other", "ns/later", "ns/runs", "ns/waits"], id="the biggest first"),
    ],
)
def test_which_jobs_in_which_order(wanted: dict[str, Any], keys: list[str]) -> None:
    usual = {"namespace": None, "queue": None, "phase": None, "waiting": False, "sort": "order"}
    assert [found.key for found in chosen(ALL, **{**usual, **wanted})] == keys


def test_what_can_be_sorted_by_is_what_is_offered() -> None:
    assert tuple(SORTS) == OFFERED


@pytest.mark.parametrize("width", [80, 100, 120, 200])
@pytest.mark.parametrize("unicode", [True, False])
def test_a_table_fits_its_terminal(width: int, unicode: bool) -> None:
    lines = shown(as_table(ALL, look_for(width, wide=False, unicode=unicode), NOW, messages=width >= 140), width)
    assert max(map(cell_len, lines)) <= width
    assert len(lines) == 5
    assert lines[4].split()[:3] == ["ns/waits", "a", "Inqueue"]
    assert "GangSize" in lines[4]
    assert ("1 fits" in lines[4]) == (width >= 140)


@pytest.mark.parametrize(
    ("width", "document"),
    [
        pytest.param(40, ["Inqueue", "GangSize"], id="narrow: the least that makes sense"),
        pytest.param(80, ["a", "Inqueue", "0", "90s", "1", "GangSize"], id="usual"),
        pytest.param(120, ["a", "Inqueue", "0", "2", "0", "2", "0", "90s", "1", "GangSize"], id="all columns"),
    ],
)
def test_a_long_name_gives_way_and_numbers_do_not(width: int, document: list[str]) -> None:
    jobs = [msgspec.structs.replace(WAITS, key=f"team/{'n' * 250}-{number}") for number in (1, 2)]
    [_, *rows] = shown(as_table([*jobs, WAITS], look_for(width, wide=False, unicode=True), NOW), width)
    names = [row.split()[0] for row in rows]
    assert [cell_len(row) for row in rows[:2]] == [width, width]
    assert all(name.startswith("tea") and "…" in name for name in names[:2])
    assert [name[-2:] for name in names[:2]] == ["-1", "-2"]
    assert [row.split()[1:] for row in rows] == [document] * 3


def test_a_wide_table_says_why_and_cuts_nothing() -> None:
    long = line("ns/long", message="word " * 60)
    [head, document] = shown(as_table([long], look_for(80, wide=True, unicode=True), NOW))
    assert head.split()[-2:] == ["reason", "message"]
    assert document.endswith("word " * 59 + "word")


def test_no_jobs() -> None:
    assert shown(as_table([], look_for(80, wide=False, unicode=True), NOW)) == ["no jobs"]


EXPLAINED = Explanation(
    "PodGroup",
    "ns/waits",
    Whereabouts.WAITS,
    "the gang needs 2, 1 fits",
    reasons={"Insufficient cpu": 3, "node(s) had untolerated taint": 5},
    place=WaitingPlace(1, 2, 3, 9),
    changes=(Change("minMember 1", ()),),
    start=Estimate(None, None, "in 5 to 9 minutes, if jobs end as declared"),
)


def test_a_page_tells_all_about_a_job() -> None:
    lines = shown(as_page(JobDetails(WAITS, "http://d", EXPLAINED), NOW, look_for(80, wide=False, unicode=True)))
    facts = {words[0]: words[1] for words in (document.split(maxsplit=1) for document in lines[:9])}
    assert facts["pods"] == "0 ready, 2 pending, 0 running"
    assert facts["age"] == "90s"
    assert facts["position"] == words.position(1, 2, 3, 9)
    assert lines[10] == "the gang needs 2, 1 fits"
    assert [document.split(maxsplit=1) for document in lines[13:15]] == [
        ["5", "node(s) had untolerated taint"],
        ["3", "Insufficient cpu"],
    ]
    assert "would start with minMember 1" in lines
    assert "estimate in 5 to 9 minutes, if jobs end as declared" in lines
    assert lines[-1] == words.explain_shows_more("ns/waits").strip()


def test_documents() -> None:
    document = list_document(JobList(ALL, "http://d"), [WAITS])
    assert document["source"] == "http://d"
    assert document["jobs"] == [as_document(WAITS)]
    assert document["jobs"][0]["created"] == "2023-11-14T22:11:50Z"
    assert document["jobs"][0]["succeeded"] is None
    found = get_document(JobDetails(WAITS, "http://d", EXPLAINED))
    assert found["explanation"]["place"]["overall"] == 3
    conditions = ({"type": "Scheduled", "status": "True"},)
    assert get_document(JobDetails(WAITS, "http://d", conditions=conditions))["conditions"] == [conditions[0]]


@pytest.mark.parametrize(
    ("ready", "minimum", "phase", "waits"),
    [
        pytest.param(1, 2, "Inqueue", True, id="less than the minimum"),
        pytest.param(2, 2, "Running", False, id="the minimum"),
        pytest.param(0, 2, "Completed", False, id="over"),
        pytest.param(None, 2, "Pending", True, id="nobody counted, by its phase"),
        pytest.param(None, 2, "Running", False, id="nobody counted, running"),
    ],
)
def test_who_waits(ready: int | None, minimum: int, phase: str, waits: bool) -> None:
    assert line("ns/a", ready=ready, min_member=minimum, phase=phase).waits is waits


def test_a_podgroup_tells_what_is_written_on_it() -> None:
    conditions = [
        {"type": "Scheduled", "status": "False", "reason": "old"},
        {
            "type": "Unschedulable",
            "status": "True",
            "reason": "NotEnoughResources",
            "message": "3 Insufficient\n \x1b[31mcpu",
        },
    ]
    found = line_of_object(
        {
            "metadata": {"namespace": "ns", "name": "g", "creationTimestamp": "2023-11-14T22:13:20Z"},
            "spec": {"minMember": 2, "priorityClassName": "high"},
            "status": {"phase": "Inqueue", "conditions": conditions},
        }
    )
    assert (found.key, found.queue, found.priority, found.created) == ("ns/g", "default", "high", NOW)
    assert (found.reason, found.message) == ("NotEnoughResources", "3 Insufficient [31mcpu"), "no terminal obeys it"
    assert (found.ready, found.pending, found.position) == (None, None, None)
    assert line_of_object({"metadata": {"name": "bare"}}).phase == "Pending"
