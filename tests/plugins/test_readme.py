"""The page about writing a plugin: its plugins decide as it says, and its table has every extension point."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.support.pages import blocks, page, rows, words_in
from tests.support.plans import NOW, manifests, mirror
from tests.support.voting import RECLAIM, agreed
from vsched.explain.order import waiting_order
from vsched.explain.words import reasons
from vsched.framework.cycle import run_cycle
from vsched.framework.points.extension import NoArgs, Plugin, Point
from vsched.framework.points.victims import VictimVotes
from vsched.framework.registry import Registry, points_of
from vsched.framework.words.nodes import available
from vsched.model.plan import CycleReport
from vsched.settings import load_text
from vsched.settings.built_in import REGISTRY
from vsched.settings.load import default_text
from vsched.settings.names import switch_key

PAGE = "vsched/plugins/README.md"


def shown() -> dict[str, type[Plugin[Any]]]:
    """The plugins of the page, by name."""
    names: dict[str, Any] = {}
    for block in blocks("python"):
        if block.page == PAGE:
            exec(compile(block.text, block.where, "exec", dont_inherit=True), names)
    found = [one for one in names.values() if isinstance(one, type) and issubclass(one, Plugin)]
    return {plugin.name: plugin for plugin in found if plugin is not Plugin}


REGISTERED = Registry.of((*REGISTRY.plugins.values(), *shown().values()), REGISTRY.actions.values())


def policy(plugins: str, actions: str = "enqueue, allocate, backfill") -> Any:
    """The default policy with other plugins in front of it, by name or as mappings."""
    text = default_text().replace('"enqueue, allocate, backfill"', f'"{actions}"')
    return load_text(text.replace("tiers:", f"tiers:\n- plugins: [{plugins}]", 1), "policy", REGISTERED).policy


def decided(text: str, plugins: str, actions: str = "enqueue, allocate, backfill") -> CycleReport:
    return run_cycle(mirror(manifests(text)).snapshot(NOW), policy(plugins, actions), REGISTERED)


def bound(report: CycleReport) -> set[str]:
    return {bind.job for bind in report.binds}


def test_every_plugin_of_the_page_is_tried_here() -> None:
    assert set(shown()) == {"small-first", "retiring", "masters", "one-each", "batches", "heavy", "in-turn"}


TWO = "node n1 cpu=2\njob ns/big min=2 pods=2 cpu=1 age=100\njob ns/small min=1 pods=1 cpu=2 age=1"


@pytest.mark.parametrize(
    ("plugins", "first"),
    [
        pytest.param("", {"ns/big"}, id="the older one, where no plugin says otherwise"),
        pytest.param("{name: small-first}", {"ns/small"}, id="small-first"),
        pytest.param("{name: batches, arguments: {batches.length: 10s}}", {"ns/big"}, id="batches"),
        pytest.param(
            "{name: batches, arguments: {batches.length: 10s, batches.reverse: 1}}", {"ns/small"}, id="the last batch"
        ),
    ],
)
def test_orders_decide_who_goes_first(plugins: str, first: set[str]) -> None:
    plugins = plugins or "{name: pdb}"
    assert bound(decided(TWO, plugins)) == first


def test_what_an_order_says_of_itself_is_told() -> None:
    snapshot = mirror(manifests(TWO)).snapshot(NOW)
    place = waiting_order(snapshot, policy("{name: small-first}"), REGISTERED).place("ns/big")

    assert place is not None
    assert place.message == reasons.position_in_queue("2nd", 2, "default", "ns/small needs fewer pods")


def test_a_filter_keeps_pods_off_nodes_and_says_why() -> None:
    report = decided("node n1 cpu=4 retiring=yes\njob ns/a pods=1 cpu=1", "{name: retiring}")

    assert report.binds == ()
    (verdict,) = report.unschedulable.values()
    assert verdict.message == available(1, {"node(s) were about to retire": 1})


def test_a_score_decides_among_nodes() -> None:
    text = "node n1 cpu=4\nnode n2 cpu=64\njob ns/o min=1 phase=Running\npods ns/o 1 cpu=2 on=n1\njob ns/a pods=1 cpu=1"

    assert [bind.node for bind in decided(text, "{name: retiring}").binds] == ["n2"]


FULL = """
class high 10
node n1 cpu=2
job ns/led min=0 phase=Running
pods ns/led 1 cpu=1 on=n1 role=master
pods ns/led 1 cpu=1 on=n1 role=worker
job ns/urgent pods=2 cpu=1 class=high
"""
TAKING = """
actions: "enqueue, allocate, preempt"
tiers:
- plugins: [PLUGINS]
- plugins: [{name: predicates}]
"""


@pytest.mark.parametrize(
    ("plugins", "evicted"),
    [
        pytest.param("{name: priority}", {"led.0", "led.1"}, id="by priority alone both pods leave"),
        pytest.param("{name: priority}, {name: masters}", {"led.1"}, id="the master stays"),
    ],
)
def test_a_vote_protects_victims(plugins: str, evicted: set[str]) -> None:
    found = load_text(TAKING.replace("PLUGINS", plugins), "policy", REGISTERED).policy
    report = run_cycle(mirror(manifests(FULL)).snapshot(NOW), found, REGISTERED)

    assert {eviction.name for eviction in report.evictions} == evicted


@pytest.mark.parametrize(("role", "victims"), [("worker", 1), ("batch", 0)])
def test_a_vote_may_look_at_all_candidates_of_a_node(role: str, victims: int) -> None:
    snapshot = mirror(manifests(FULL)).snapshot(NOW)
    plugin: Any = REGISTERED.plugins["one-each"](NoArgs())
    evictor = next(iter(snapshot.jobs["ns/urgent"].tasks.values()))
    running = list(snapshot.jobs["ns/led"].tasks.values())

    assert len(agreed(plugin, msgspec.structs.replace(evictor, role=role), running, RECLAIM) or ()) == victims


def test_a_lever_of_the_page_is_an_edit_that_programs_can_read() -> None:
    plugin = REGISTERED.plugins["heavy"]
    (lever,) = plugin(plugin.args_type()).argument_levers()

    assert lever.edit(5) == {"edit": "argument", "plugin": "heavy", "key": "heavy.most", "value": 105}


def test_a_queue_that_a_plugin_calls_overused_gets_nothing() -> None:
    text = "queue q weight=200\nnode n1 cpu=4\njob ns/a pods=1 cpu=1 queue=q"

    assert decided(text, "{name: heavy}").binds == ()
    assert bound(decided(text, "{name: heavy, arguments: {heavy.most: 300}}")) == {"ns/a"}


def test_a_listener_follows_the_placements_of_a_session() -> None:
    jobs = "\n".join(f"job ns/{queue}{number} pods=1 cpu=1 queue={queue}" for queue in "ab" for number in range(3))
    text = f"queue a\nqueue b\nnode n1 cpu=4\n{jobs}"

    assert len({job[:4] for job in bound(decided(text, "{name: in-turn}"))}) == 2


def test_the_table_has_every_extension_point_with_its_switch_and_its_methods() -> None:
    listed = {
        words_in(row[0])[0]: (words_in(row[1]), words_in(row[2]))
        for row in rows(page(PAGE).section("Extension points"))
    }
    points = {point.__name__: point for plugin in REGISTRY.plugins.values() for point in points_of(plugin)}
    points |= {
        point.__name__: point for point in _below(Point) if point.__module__.startswith("vsched.framework.points")
    }
    points.pop(VictimVotes.__name__, None)

    assert set(listed) == set(points)
    for name, (switches, methods) in listed.items():
        point = points[name]
        assert switches == ([switch_key(point.point)] if point.point else []), name
        assert set(getattr(point, "__abstractmethods__", ())) <= set(methods), name
        assert all(callable(getattr(point, method)) for method in methods), name


def _below(point: type[Point]) -> list[type[Point]]:
    return [found for one in point.__subclasses__() for found in (one, *_below(one))]
