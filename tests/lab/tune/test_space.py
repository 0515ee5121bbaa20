"""What can be changed of a policy: every candidate is a file that the loader takes, and changes nothing else."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vsched.errors import BadInput
from vsched.lab.tune import words
from vsched.lab.tune.objective import SearchedName as Asked
from vsched.lab.tune.results import diff, in_words
from vsched.lab.tune.space import Space, space_of
from vsched.settings import load_text
from vsched.settings.installed import registry
from vsched.settings.words.reading import did_you_mean

CONFIG = Path(__file__).parents[3] / "config"
POLICIES = ("capacity", "consolidate", "fair-over-time", "gpu-packing", "taking-back", "volcano-default")
FILES = [
    *(CONFIG / "policies" / f"{name}.yaml" for name in POLICIES),
    CONFIG / "samples/philly/memory-1d-backfill.yaml",
]
POLICY = """\
actions: "enqueue, allocate, reclaim"   # in this order
tiers:
- plugins:
  - name: priority
  - {name: gang, enablePreemptable: false}
  - name: usage-history
    arguments:
      halfLife: 24h            # a day
      resourceWeights: {nvidia.com/gpu: 1}
  - name: proportion
- plugins: [{name: predicates}, {name: nodeorder}, {name: binpack}]
"""


def space(*search: Asked, text: str = POLICY) -> Space:
    return space_of(text, "policy.yaml", registry(), search or None, "objective.yaml")


@cache
def space_in(path: Path) -> Space:
    return space(text=path.read_text())


@given(st.data())
@settings(max_examples=40)
def test_every_candidate_of_every_policy_loads_and_keeps_what_it_does_not_change(data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(FILES))
    text, found = path.read_text(), space_in(path)
    chosen: dict[str, int] = {}
    for dimension in sorted(found.dimensions, key=lambda one: one.kind == "argument"):
        if found.asks(dimension, chosen):
            chosen[dimension.name] = data.draw(st.integers(0, len(dimension.values) - 1))
    changes = found.changes(chosen)
    made = found.text_if_valid(changes)
    assert made is not None
    if not any(change.kind == "remove" for change in changes):
        assert made.count("#") == text.count("#"), "comments stay, except those of plugins that are left out"
    policy = load_text(made, "candidate", registry()).policy
    for dimension in found.dimensions:
        if dimension.kind == "plugin":
            wanted = dimension.values[chosen[dimension.name]] == "on"
            assert (policy.plugin(dimension.owner) is not None) == wanted
    before = {conf.name for conf in load_text(text, "", registry()).policy.plugins()}
    searched = {dimension.owner for dimension in found.dimensions if dimension.kind == "plugin"}
    assert {conf.name for conf in policy.plugins()} - searched == before - searched


@pytest.mark.parametrize(
    ("search", "choice", "changed"),
    [
        pytest.param(
            Asked("usage-history.halfLife", 1, ("6h", "24h")),
            {"usage-history.halfLife": 0},
            ["-      halfLife: 24h            # a day", "+      halfLife: 6h            # a day"],
            id="an argument, whose comment stays",
        ),
        pytest.param(
            Asked("usage-history.window", 1, ("72h", "168h")),
            {"usage-history.window": 0},
            ["+      window: 72h"],
            id="an argument that is not there, behind the others",
        ),
        pytest.param(
            Asked("binpack.binpack.weight", 1, ("5", "1")),
            {"binpack.binpack.weight": 0},
            [
                "-- plugins: [{name: predicates}, {name: nodeorder}, {name: binpack}]",
                "+- plugins: [{name: predicates}, {name: nodeorder}, {name: binpack, arguments: {binpack.weight: 5}}]",
            ],
            id="an argument of a plugin in braces",
        ),
        pytest.param(
            Asked("nodeorder", 1),
            {"nodeorder": 1},
            [
                "-- plugins: [{name: predicates}, {name: nodeorder}, {name: binpack}]",
                "+- plugins: [{name: predicates}, {name: binpack}]",
            ],
            id="a plugin in braces left out",
        ),
        pytest.param(
            Asked("usage-history", 1),
            {"usage-history": 1},
            [
                "-  - name: usage-history",
                "-    arguments:",
                "-      halfLife: 24h            # a day",
                "-      resourceWeights: {nvidia.com/gpu: 1}",
            ],
            id="a plugin left out with its arguments",
        ),
        pytest.param(
            Asked("minruntime", 1),
            {"minruntime": 0},
            ["+  - name: minruntime"],
            id="a plugin added before shares",
        ),
        pytest.param(
            Asked("backfill", 1),
            {"backfill": 0},
            [
                '-actions: "enqueue, allocate, reclaim"   # in this order',
                '+actions: "enqueue, allocate, reclaim, backfill"   # in this order',
            ],
            id="an action added in its place",
        ),
        pytest.param(
            Asked("reclaim", 1),
            {"reclaim": 1},
            [
                '-actions: "enqueue, allocate, reclaim"   # in this order',
                '+actions: "enqueue, allocate"   # in this order',
            ],
            id="an action left out",
        ),
        pytest.param(
            Asked("reclaim.gangSearchSteps", 1, ("100", "300")),
            {"reclaim.gangSearchSteps": 0},
            ["+configurations:", "+- name: reclaim", "+  arguments:", "+    gangSearchSteps: 100"],
            id="an argument of an action",
        ),
    ],
)
def test_a_choice_changes_these_lines(search: Asked, choice: dict[str, int], changed: list[str]) -> None:
    found = space(search)
    made = found.text_if_valid(found.changes(choice))
    assert made is not None
    lines = [line for line in diff(POLICY, made, "p").splitlines()[2:] if line[0] in "+-"]
    assert lines == changed


def test_another_plugin_comes_first_in_its_tier() -> None:
    found = space(Asked("order of tier 1", 1))
    assert found.dimensions[0].values == ("priority", "gang", "usage-history", "proportion")
    some = space(Asked("order of tier 1", 1, ("proportion", "gang")))
    assert some.dimensions[0].values == ("priority", "proportion", "gang"), "the one in force, and those asked for"
    made = found.text_if_valid(found.changes({"order of tier 1": 2}))
    assert made is not None
    tier = load_text(made, "", registry()).policy.tiers[0]
    assert [conf.name for conf in tier.plugins] == ["usage-history", "priority", "gang", "proportion"]
    assert "      halfLife: 24h            # a day\n" in made


def test_arguments_of_a_plugin_that_is_left_out_are_not_asked_for() -> None:
    found = space(Asked("usage-history", 1), Asked("usage-history.halfLife", 2, ("6h", "24h")))
    argument = found.dimensions[1]
    assert found.asks(argument, {"usage-history": 0})
    assert not found.asks(argument, {"usage-history": 1})
    changes = found.changes({"usage-history": 1, "usage-history.halfLife": 0})
    assert [in_words(change) for change in changes] == ["usage-history left out"]


def test_an_argument_of_a_plugin_that_is_tried_is_written_where_it_is_added() -> None:
    found = space(Asked("easy-backfill", 1), Asked("easy-backfill.depth", 2, (), "1", "3"))
    made = found.text_if_valid(found.changes({"easy-backfill": 0, "easy-backfill.depth": 2}))
    assert made is not None
    assert "  - name: easy-backfill\n    arguments:\n      depth: 3\n  - name: proportion\n" in made


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param(Asked("gang", 7), words.not_optional("gang"), id="a plugin that gangs need"),
        pytest.param(Asked("allocate", 7), words.not_optional("allocate"), id="the action that places"),
        pytest.param(Asked("usage-histry", 7), did_you_mean("usage-history"), id="a misspelled plugin"),
        pytest.param(
            Asked("usage-history.halflife", 7),
            words.no_argument("usage-history", did_you_mean("halfLife")),
            id="a misspelled argument",
        ),
        pytest.param(Asked("pdb.a", 7), words.not_in_policy("pdb"), id="an argument of a plugin that is not there"),
        pytest.param(
            Asked("consolidate.minRunningTime", 7),
            words.not_in_policy("consolidate"),
            id="an argument of an action that is not there",
        ),
        pytest.param(
            Asked("usage-history.halfLife", 7, (), "6h", "1h"), words.no_range(True), id="the larger end first"
        ),
        pytest.param(Asked("usage-history.halfLife", 7, (), "1", "9"), words.no_range(True), id="numbers as durations"),
        pytest.param(Asked("binpack.binpack.resources", 7), words.no_range(False), id="a text without values"),
        pytest.param(Asked("usage-history.halfLife", 7, ("6h", "soon")), "halfLife", id="a value that does not load"),
        pytest.param(Asked("reclaim", 7, ("on", "maybe")), words.values_are("on, off"), id="neither on nor off"),
        pytest.param(Asked("predicates.predicate.CacheEnable", 7), "has no effect", id="an argument without effect"),
        pytest.param(Asked("order of tier 9", 7), words.not_optional("order of tier 9"), id="a tier that is not there"),
    ],
)
def test_what_cannot_be_searched_is_refused_with_its_line(asked: Asked, expected: str) -> None:
    with pytest.raises(BadInput) as refused:
        space(asked)
    assert str(refused.value).startswith(f"objective.yaml:7: search.{asked.name}: ")
    assert expected in str(refused.value)


def test_a_policy_with_aliases_is_refused() -> None:
    text = POLICY.replace("halfLife: 24h ", "halfLife: &a 24h ").replace("- name: proportion", "- name: *a")
    with pytest.raises(BadInput):
        space(text=text)
