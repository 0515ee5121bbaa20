"""What ``vsched top`` shows of a picture: it fits every terminal, and says what is there."""

from __future__ import annotations

from io import StringIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len
from rich.console import Console

from tests.support.examples import examples
from tests.support.overviews import COUNTS, EMPTY, job, overviews, session
from vsched.cli.show.drawing import look_for
from vsched.cli.top import words
from vsched.cli.top.document import as_document
from vsched.cli.top.tables import FIRST_JOBS, TABS, Screen, dealt, queues_of, rows_of
from vsched.cli.top.view import as_line, as_screen, rates_of
from vsched.web.overview.document import NodeRow, Overview, PolicyRow, QueueRow
from vsched.web.overview.history import SessionHistory
from vsched.web.words import answers as web_words

NOW = 1010.0


def screen(width: int = 160, height: int | None = None, *, unicode: bool = True, **fields: object) -> Screen:
    made = Screen(width, height, look_for(width, wide=False, unicode=unicode), NOW, "http://d")
    return made.__class__(**{name: fields.get(name, getattr(made, name)) for name in Screen.__slots__})


def shown(overview: Overview, on: Screen) -> list[str]:
    console = Console(file=StringIO(), width=on.width, highlight=False, no_color=True)
    console.print(as_screen(overview, on))
    assert isinstance(console.file, StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def queue(name: str, parent: str = "", **fields: object) -> QueueRow:
    row = QueueRow(
        name, parent, "Open", 1, 0, 0.5, False, (2000, 0), (4000, None), (None, None), (None, None), 3, 1, ""
    )
    return replace(row, **fields) if fields else row


def node(name: str, cpu: int | None, memory: int | None = 0, state: str = "") -> NodeRow:
    return NodeRow(name, (cpu, memory), 12, None, 4, state, "pool")


SOME = replace(
    EMPTY,
    at=NOW,
    queues={"root": queue("root"), "research": queue("research", "root", share=1.5, overused=True)},
    nodes={name: node(name, cpu, state=state) for name, cpu, state in (("n1", 100, ""), ("n2", 0, "cordoned"))},
    jobs={
        row.key: row
        for row in (
            job("ns/runs", None, phase="Running", ready=2, pending=0),
            *(job(f"ns/w{n:02}", n, "the gang needs 2, 1 fits", reason="GangSize") for n in range(1, 31)),
        )
    },
    sessions=tuple(replace(session(number), at=NOW - 5 + number) for number in range(1, 5)),
    policy=PolicyRow(3, "abc", "policy.yaml", ("enqueue", "allocate"), (), NOW - 60, True, "", ()),
    counts={**dict.fromkeys(COUNTS, 0), "nodes": 2, "pods_running": 1234, "pods_waiting": 60, "jobs_waiting": 30},
)


@given(
    overviews,
    st.integers(20, 240),
    st.integers(8, 60),
    st.sampled_from(TABS),
    st.integers(0, 50),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=examples(30))
def test_any_picture_fits_any_terminal(
    overview: Overview, width: int, height: int, tab: str, top: int, unicode: bool, keys: bool
) -> None:
    on = screen(width, height, unicode=unicode, tab=tab, top=top, keys=keys, problem="x" * 300 if keys else "")
    lines = shown(overview, on)
    assert max(map(cell_len, lines)) <= width
    assert unicode or all(line.isascii() for line in lines)
    if height >= 24 and width >= 80:
        assert len(lines) <= height


def test_everything_at_a_glance() -> None:
    lines = shown(SOME, screen(keys=True))
    assert lines[0] == "vsched 0.1.0  http://d  leader  live"
    assert lines[1] == "pods 1,234 run, 60 wait   jobs 0 run, 30 wait   nodes 2 (1 cordoned)"
    assert lines[3] == "policy 3 from policy.yaml, 60s ago: enqueue, allocate"
    assert lines[4].endswith("50%  4/8             2 nodes █·")
    text = "\n".join(lines)
    assert "└ research  Open" in text
    assert "waiting  30 GangSize" in text
    assert lines[-1].startswith("[all]  queues")
    waiting = [line for line in lines if line.startswith("ns/")]
    assert len(waiting) == FIRST_JOBS
    assert f"1 to {FIRST_JOBS} of 30" in lines
    assert waiting[0].split()[:3] == ["ns/w01", "a", "Inqueue"]
    assert waiting[0].endswith("GangSize  the gang needs 2, 1 fits")


def test_a_table_of_its_own_is_scrolled() -> None:
    height = 24
    first = shown(SOME, screen(100, height, tab="jobs"))
    assert first[-1] == "1 to 15 of 31"
    later = shown(SOME, screen(100, height, tab="jobs", top=20))
    assert later[-1] == "17 to 31 of 31"
    assert later[-2].split()[0] == "ns/runs"
    assert rows_of(SOME, screen(tab="jobs")) == 31
    assert rows_of(SOME, screen()) == 0


@pytest.mark.parametrize("tab", [tab for tab in TABS if tab != "all"])
def test_each_tab_has_its_columns(tab: str) -> None:
    headings = {
        "queues": "queue     state  weight  priority  share  cpu",
        "namespaces": "namespace  queue  weight  share  cpu",
        "jobs": "job queue phase priority min ready pending running age position reason message",
        "nodes": "node  cpu",
        "sessions": "session age why bindings evictions waiting snapshot allocate hand-over",
    }
    lines = [" ".join(line.split()) for line in shown(SOME, screen(tab=tab))]
    assert any(line.startswith(" ".join(headings[tab].split())) for line in lines)


def test_what_is_wrong_is_said() -> None:
    refused = replace(SOME, policy=replace(SOME.policy, ok=False, text="line 3: unknown plugin"))  # type: ignore[type-var]
    lines = shown(refused, screen(problem="http://d: nobody listens there"))
    assert lines[0].endswith(words.nothing_new("0s", "nobody listens there"))
    assert lines[3] == words.edit_rejected(3, ", 60s ago", "line 3: unknown plugin")


def test_a_standby_has_nothing_but_its_role() -> None:
    standby = replace(EMPTY, role="standby", resources=())
    idle = web_words.ask_the_leader("standby")
    assert shown(standby, screen()) == ["vsched 0.1.0  http://d  standby  live", idle, ""]
    assert as_line(standby) == idle
    assert as_line(replace(SOME, role="stopping")).startswith("stopping: 2 nodes, 1234 pods run")


def test_one_plain_line() -> None:
    assert as_line(SOME) == (
        "leader: 2 nodes, 1234 pods run, 60 wait, 30 jobs wait, 0.4 sessions/s, 0 bindings/s; cpu 4/8, memory 4Gi/16Gi"
    )


def test_rates_are_of_the_last_seconds() -> None:
    rows = [replace(session(number), at=at, binds=5) for number, at in ((1, NOW - 91), (92, NOW - 1), (102, NOW))]
    rates = rates_of(replace(SOME, sessions=tuple(rows)))
    # Most did nothing and are not listed: ten in the last second, and of the ninety before them one a second.
    assert (rates.sessions, rates.binds) == (2.0, 1.0)
    quiet = SessionHistory()  # nothing to do since the daemon began
    for number in range(1, 31):
        quiet.add(replace(session(number), at=NOW - 30 + number, binds=0))
    assert 0.9 < rates_of(replace(SOME, sessions=quiet.rows())).sessions < 1.1
    assert rates_of(EMPTY) == (0.0, 0.0, 0.0, 0.0, 0.0)


def test_rates_are_of_no_time_that_has_passed_since() -> None:
    on = replace(SOME, at=NOW - 70)
    assert shown(on, screen())[2] == "nothing changed for 70s"


def test_who_waits_in_no_order_is_among_those_who_wait() -> None:
    lost = job("ns/lost", None, "its queue is gone", reason="QueueNotFound", queue="nowhere")
    lines = shown(replace(SOME, jobs={**SOME.jobs, lost.key: lost}), screen(tab="jobs"))
    names = [line.split()[0] for line in lines if line.startswith("ns/")]
    assert names[-2:] == ["ns/lost", "ns/runs"]
    glance = shown(replace(EMPTY, at=NOW, jobs={lost.key: lost}), screen())
    assert "waiting  1 QueueNotFound" in glance
    assert any(line.startswith("ns/lost") for line in glance)


def test_a_queue_that_deserves_nothing_has_no_share_of_it() -> None:
    root = queue("root", deserved=(None, None), share=0.0)
    assert queues_of(replace(SOME, queues={"root": root})).by_name["root"].share is None


def test_queues_are_those_of_vsched_queue() -> None:
    found = queues_of(SOME).by_name["research"]
    assert (found.parent, found.share, found.overused, found.jobs, found.waiting) == ("root", 1.5, True, 3, 1)
    assert (found.allocated, found.deserved) == ({"cpu": 2000, "memory": 0}, {"cpu": 4000})


@given(st.integers(0, 60), st.lists(st.integers(0, 40), min_size=1, max_size=4))
def test_lines_are_dealt_out_whole(room: int, wants: list[int]) -> None:
    lines = dealt(room, wants)
    assert sum(lines) <= room
    assert all(0 <= got <= want for got, want in zip(lines, wants, strict=True))
    assert sum(wants) > room or lines == wants
    # Nobody gets less than another who wants no more.
    assert all(lines[a] >= lines[b] - 1 for a in range(len(wants)) for b in range(len(wants)) if wants[a] >= wants[b])


def test_the_picture_for_programs() -> None:
    printed = as_document(SOME)
    assert printed["at"] == "1970-01-01T00:16:50Z"
    assert printed["queues"]["research"]["deserved"] == {"cpu": "4"}
    assert printed["queues"]["research"]["share"] == 1.5
    nothing = replace(SOME, queues={"q": queue("q", deserved=(None, None), share=0.0)})
    assert as_document(nothing)["queues"]["q"]["share"] is None, "as vsched queue list has it"
    assert [row["job"] for row in printed["jobs"]][:2] == ["ns/w01", "ns/w02"]
    assert printed["jobs"][0]["request"] == {"cpu": "1"}
    assert printed["nodes"]["n2"]["usage"] == {"cpu": 12, "memory": None}
    assert printed["resources"]["memory"] == {"total": "16Gi", "held": "4Gi"}
