"""What was loaded can be written down and loads as the same; what cannot be loaded is refused, never a traceback."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from vsched.errors import BadPolicy
from vsched.framework.policy import Switches
from vsched.framework.registry import Registry
from vsched.model.amounts.durations import format_duration, parse_duration
from vsched.settings import load_text
from vsched.settings.describe import describe, describe_lines
from vsched.settings.diff import changes
from vsched.settings.document import policy_text
from vsched.settings.names import SWITCH_BY_KEY
from vsched.settings.words import policy as words

WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)
RESOURCES = st.one_of(st.sampled_from(["nvidia.com/gpu", "cpu", "a.b.weight", "x*"]), WORDS)
WHOLE = st.integers(-(2**63), 2**63 - 1)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
QUOTED_OR_NOT = st.sampled_from([lambda value: value, str])
SECONDS = st.one_of(st.integers(0, 10**9), st.floats(0, 1e9)).map(lambda seconds: format_duration(float(seconds)))

NO_ARGUMENTS = st.just({})
ARGUMENTS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "priority": NO_ARGUMENTS,
    "gang": NO_ARGUMENTS,
    "conformance": NO_ARGUMENTS,
    "proportion": NO_ARGUMENTS,
    "overcommit": st.fixed_dictionaries({}, optional={"overcommit-factor": NUMBERS}),
    "predicates": st.fixed_dictionaries({}, optional={"predicate": st.just({"CacheEnable": "true"})}),
    "nodeorder": st.fixed_dictionaries({}, optional={"leastrequested.weight": st.integers(0, 2**63 - 1).map(str)}),
    "binpack": st.dictionaries(RESOURCES, WHOLE, max_size=3).map(
        lambda weights: {"binpack.resources": list(weights), "binpack": {"resources": weights, "cpu": 3}}
    ),
    "usage": st.fixed_dictionaries(
        {},
        optional={
            "thresholds.cpu": st.integers(0, 100),
            "thresholds": st.just({"mem": "7"}),
            "interval": SECONDS,
            "patience": st.none() | SECONDS,
            "be_cpu": st.integers(0, 10**6) | WORDS,
            "strategies": st.lists(
                st.builds(lambda name, value: {"name": name, "params": {name: value}}, WORDS, NUMBERS)
            ),
            "resources": st.dictionaries(RESOURCES, st.just({"type": "x", "weight": "2"}), max_size=3),
        },
    ),
}


@st.composite
def plugins(draw: st.DrawFn, name: str) -> dict[str, Any]:
    switches = draw(st.dictionaries(st.sampled_from(sorted(SWITCH_BY_KEY)), st.booleans(), max_size=4))
    by_switch = {SWITCH_BY_KEY[key]: (key, value) for key, value in switches.items()}
    return {"name": name, **dict(by_switch.values()), "arguments": draw(ARGUMENTS[name])}


@st.composite
def policies(draw: st.DrawFn) -> dict[str, Any]:
    names = draw(st.lists(st.sampled_from(sorted(ARGUMENTS)), unique=True, min_size=1))
    confs = [draw(plugins(name)) for name in names]
    cut = draw(st.integers(0, len(confs) - 1))
    tiers = [{"plugins": part} for part in (confs[:cut], confs[cut:]) if part]
    weights = draw(st.dictionaries(RESOURCES, NUMBERS, max_size=3))
    scores = {f"QueueScoreOrder.{name}.weight": weight for name, weight in weights.items()}
    document: dict[str, Any] = {
        "actions": ",".join(draw(st.lists(st.sampled_from(["enqueue", "allocate", "backfill"]), min_size=1))),
        "tiers": tiers,
        "configurations": [{"name": "allocate", "arguments": scores}],
    }
    if draw(st.booleans()):
        document["metrics"] = {"elasticsearch": {"password": draw(WORDS)}, "tls.insecureSkipVerify": "true"}
    if draw(st.booleans()):
        document["schedulePeriod"] = format_duration(draw(st.integers(1, 3600_000)) / 1000)
    return document


@settings(deadline=None, max_examples=examples(35))
@given(policies())
def test_any_policy_survives_being_written_and_read(later: Registry, document: dict[str, Any]) -> None:
    first = load_text(yaml.safe_dump(document, allow_unicode=True), "one.yaml", later)
    again = load_text(policy_text(first.policy, first.metrics, first.period_seconds), "two.yaml", later)
    assert (again.policy, again.metrics, again.period_seconds) == (first.policy, first.metrics, first.period_seconds)
    assert changes(first, again) in (words.LAYOUT_ONLY, "no change")
    assert describe(first, later)["tiers"] == describe(again, later)["tiers"]
    assert describe_lines(first, later) == describe_lines(again, later)


KEYS = st.sampled_from(
    [
        "actions",
        "tiers",
        "plugins",
        "name",
        "arguments",
        "configurations",
        "metrics",
        "type",
        "binpack",
        "thresholds",
        "kind",
        "data",
        "resources",
        "strategies",
        "interval",
        "enableJobOrder",
        "enabledVictim",
        "enableHierarchy",
    ]
)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    WHOLE,
    NUMBERS,
    WORDS,
    st.sampled_from(["allocate", "gang", "usage", "binpack", "1s", "ConfigMap"]),
)
TREES = st.recursive(
    VALUES,
    lambda below: st.one_of(st.lists(below, max_size=3), st.dictionaries(KEYS, below, max_size=4)),
    max_leaves=15,
)


@settings(deadline=None)
@given(TREES)
def test_no_yaml_is_a_traceback(later: Registry, tree: Any) -> None:
    with suppress(BadPolicy):
        load_text(yaml.safe_dump(tree, allow_unicode=True), "any.yaml", later)


@settings(deadline=None)
@given(st.text(st.sampled_from("ab:-[]{}&*!|>'\"%@`,# \n\t?~0<"), max_size=40))
def test_no_text_is_a_traceback(later: Registry, text: str) -> None:
    with suppress(BadPolicy):
        load_text(text, "any.yaml", later)


@settings(deadline=None)
@given(st.integers(0, 9 * 10**18))
def test_a_time_survives_being_written_and_read(nanoseconds: int) -> None:
    seconds = nanoseconds / 1e9
    assert parse_duration(format_duration(seconds)) == seconds


def test_times_as_go_writes_them() -> None:
    known = {
        "1h2m3.5s": 3723.5,
        "300ms": 0.3,
        "1.5h": 5400.0,
        "0": 0.0,
        "-1m": -60.0,
        "+2us": 2e-6,
        ".5s": 0.5,
        "2µs": 2e-6,
    }
    assert {text: parse_duration(text) for text in known} == known
    for text in ("", "5", "s", "1 s", "1d", "1s2", "--1s", "1e3s", "9" * 70 + "s", "9999999h"):
        assert parse_duration(text) is None, text


def test_switches_have_two_spellings_each() -> None:
    assert len(SWITCH_BY_KEY) == 2 * len(Switches.__struct_fields__)
