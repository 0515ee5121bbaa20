"""What differs between two plans, and how it is drawn."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from tests.support.hypernodes import hypernode_object
from tests.support.plans import NOW, manifests, mirror
from tests.support.questions import recording_of
from vsched.cli.plan.changes import called
from vsched.cli.plan.changes_view import as_text, shift
from vsched.cli.plan.live import WhatIf, what_if
from vsched.cli.plan.nodes import Add, Remove
from vsched.cli.plan.settings import setting_of
from vsched.cli.plan.submit import submit_of
from vsched.cli.plan.words import pages as pages_words
from vsched.cli.show.drawing import look_for
from vsched.settings import load_text
from vsched.settings.built_in import REGISTRY

POLICY = load_text("actions: allocate\ntiers: [{plugins: [{name: gang}, {name: predicates}]}]", "p", REGISTRY).policy
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


def drawn(what: WhatIf) -> str:
    out = StringIO()
    Console(file=out, width=200).print(as_text(what, LOOK))
    return out.getvalue()


def test_what_nodes_have_to_give_is_a_difference_too() -> None:
    what = what_if(recording_of("node n1 cpu=4", policy=POLICY), [setting_of("node/n1.allocatable.nvidia.com/gpu=8")])
    assert not what.changes.nothing
    assert "gpu" in drawn(what)


def test_what_was_left_aside_is_told_where_nothing_differs(tmp_path: Path) -> None:
    path = tmp_path / "service.yaml"
    path.write_text("{apiVersion: v1, kind: Secret, metadata: {name: s}}", encoding="utf-8")
    text = drawn(what_if(recording_of("node n1 cpu=4"), [submit_of(str(path))]))
    assert pages_words.NOTHING_DIFFERENT + "\nignored: 1 Secret" in text


def test_a_podgroup_without_pods_says_what_it_waits_for_and_is_told_once(tmp_path: Path) -> None:
    path = tmp_path / "group.yaml"
    head = "apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\nmetadata: {name: g}\n"
    path.write_text(f"{head}spec: {{minMember: 2, queue: q}}", encoding="utf-8")
    what = what_if(recording_of("node n1 cpu=4\nqueue q"), [submit_of(str(path)), submit_of(str(path))])
    [fate] = what.changes.submitted
    assert fate.message == "no pods exist, and the gang needs 2"
    assert what.changes.jobs == []


def test_of_thousands_of_jobs_those_that_matter_are_told() -> None:
    lines = [f"job x/a{number} min=1 pods=1 cpu=1 on=n{number % 2} phase=Running" for number in range(140)]
    text = "node n0 cpu=70\nnode n1 cpu=70\nqueue default\n" + "\n".join(lines)
    waiting = "\n".join(f"job x/w{number} min=1 pods=1 cpu=1" for number in range(60))
    shown = drawn(what_if(recording_of(f"{text}\n{waiting}"), [Remove("n1")]))
    assert "Jobs: 70 stop or wait, 60 still wait" in shown
    assert pages_words.more_rows(80) in shown
    assert "x/w" not in shown
    assert len(shown.splitlines()) < 80


def test_pods_that_name_no_podgroup_go_by_the_name_of_their_controller() -> None:
    def pod(name: str) -> dict[str, object]:
        owners = [{"uid": "u", "kind": "ReplicaSet", "name": "w", "controller": True}]
        metadata = {"name": name, "namespace": "x", "uid": name, "ownerReferences": owners}
        return {"kind": "Pod", "metadata": metadata, "spec": {"schedulerName": "vsched"}}

    seen = mirror([*manifests("job x/a min=1 pods=1"), pod("w-2"), pod("w-1")]).snapshot(NOW)
    assert [called(job, key) for key, job in seen.jobs.items()] == ["x/a", "ReplicaSet x/w"]


def test_a_gang_that_asks_for_closeness_is_told_with_its_domain(tmp_path: Path) -> None:
    rack = hypernode_object("r1", 1, "n2", "n3", tier_name="rack")
    group = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "x"},
        "spec": {"minMember": 2, "queue": "q", "networkTopology": {"mode": "hard", "highestTierAllowed": 1}},
    }
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "x", "annotations": {"scheduling.k8s.io/group-name": "g"}},
            "spec": {"schedulerName": "vsched", "containers": [{"name": "c", "image": "i", "resources": asks}]},
        }
        for name in ("g-0", "g-1")
        for asks in ({"requests": {"cpu": "3"}},)
    ]
    path = tmp_path / "new.yaml"
    path.write_text(yaml.safe_dump_all([rack, group, *pods]), encoding="utf-8")
    what = what_if(recording_of("node n1 cpu=4\nnode n2 cpu=4\nnode n3 cpu=4\nqueue q"), [submit_of(str(path))])
    told = {fate.kind: (fate.nodes, fate.domain, fate.tier) for fate in what.changes.submitted}
    assert told["PodGroup"] == ({"n2": 1, "n3": 1}, "r1", 1)
    assert "n2, n3 (in r1, tier 1)" in drawn(what)
