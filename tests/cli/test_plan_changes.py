"""What differs between two plans, and how it is drawn."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from tests.support.plans import NOW, manifests, mirror
from tests.support.questions import recording_of
from vsched.cli.drawing import look_for
from vsched.cli.plan_changes import called
from vsched.cli.plan_changes_view import as_text, shift
from vsched.cli.plan_live import what_if
from vsched.cli.plan_nodes import Add, Remove

LOOK = look_for(160, wide=False, unicode=True)
PLAIN = look_for(160, wide=False, unicode=False)

BARS = {
    "as today": (10, 5, 5, "█" * 7 + "·" * 7),
    "more": (10, 5, 10, "█" * 7 + "▒" * 7),
    "less": (10, 10, 5, "█" * 7 + "░" * 7),
    "a little more, which is seen": (1000, 500, 501, "█" * 7 + "▒" + "·" * 6),
    "a little less, which is seen": (1000, 500, 499, "█" * 7 + "░" + "·" * 6),
    "more than there is": (10, 20, 30, "█" * 14),
    "of nothing": (0, 1, 2, " " * 14),
}


@pytest.mark.parametrize(("whole", "today", "then", "expected"), BARS.values(), ids=BARS.keys())
def test_a_bar_shows_what_stays_what_comes_and_what_goes(whole: int, today: int, then: int, expected: str) -> None:
    assert shift(LOOK, whole, today, then).plain == expected


def test_a_terminal_without_unicode_has_bars_and_arrows_of_its_own() -> None:
    assert shift(PLAIN, 10, 5, 10).plain == "#" * 7 + "+" * 7
    out = StringIO()
    what = what_if(recording_of("node n1 cpu=4\nqueue q\njob x/a min=1 pods=1 cpu=1 queue=q"), [Add(1, "n1")])
    Console(file=out, width=200).print(as_text(what, PLAIN))
    assert out.getvalue().isascii()
    assert "1 -> 2" in out.getvalue()


def test_colours_are_for_terminals_that_want_them() -> None:
    what = what_if(recording_of("node n1 cpu=4\nqueue q\njob x/a min=1 pods=1 cpu=1 queue=q"), [Remove("n1")])
    for no_color, expected in ((False, True), (True, False)):
        out = StringIO()
        console = Console(file=out, width=200, force_terminal=True, color_system="standard", no_color=no_color)
        console.print(as_text(what, LOOK))
        assert ("\x1b[31m" in out.getvalue()) is expected


def test_pods_that_name_no_podgroup_go_by_the_name_of_the_first() -> None:
    def pod(name: str) -> dict[str, object]:
        owners = [{"uid": "u", "kind": "ReplicaSet", "name": "w", "controller": True}]
        metadata = {"name": name, "namespace": "x", "uid": name, "ownerReferences": owners}
        return {"kind": "Pod", "metadata": metadata, "spec": {"schedulerName": "vsched"}}

    seen = mirror([*manifests("job x/a min=1 pods=1"), pod("w-2"), pod("w-1")]).snapshot(NOW)
    assert [called(job, key) for key, job in seen.jobs.items()] == ["x/a", "x/w-1 and 1 more"]
