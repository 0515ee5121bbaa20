"""The rollout of a policy as it is written: what is read, and what is refused with its line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from vsched.errors import BadPolicy
from vsched.framework.registry import Registry
from vsched.settings import load_text
from vsched.settings.rollout import Limit, LimitReference, Measure, RolloutSpec, RolloutStep, read_rollout
from vsched.settings.words import rollout as words
from vsched.settings.words.reading import did_you_mean

CONFIG = Path(__file__).parents[2] / "config"
GOOD = """
candidate: candidate.conf
baseline: 30m
steps:
- shadow: 30m
- window: "22:00-06:00"
  for: 48h
- all: 24h
limits:
  evictions per hour: "<= 20"
  wait p95: "<= 120 % of baseline"
  evictions in vain: "<= 0"
  session p99: "<= 200ms"
takeBack: false
"""


def test_everything_that_may_be_said_is_read() -> None:
    steps = (RolloutStep(1800.0, shadow=True), RolloutStep(48 * 3600.0, 22 * 60, 6 * 60), RolloutStep(24 * 3600.0))
    limits = (
        Limit(Measure.EVICTIONS, 20.0),
        Limit(Measure.WAIT, 1.2, LimitReference.BASELINE),
        Limit(Measure.IN_VAIN, 0.0),
        Limit(Measure.SESSION, 0.2),
    )
    assert read_rollout(GOOD, "here") == RolloutSpec("candidate.conf", steps, limits, False, 1800.0)


def test_a_limit_may_be_what_the_shadow_step_predicts() -> None:
    found = read_rollout(GOOD.replace('"<= 20"', '"<= 150 % of predicted"'), "here")
    assert found.limits[0] == Limit(Measure.EVICTIONS, 1.5, LimitReference.PREDICTED)
    shadow, *others = found.steps
    assert [found.limits[0].holds_in(step) for step in (shadow, *others)] == [False, True, True]


SHARDED = 'candidate: c\nsteps:\n- shadow: 1h\n- shard: 1\n  for: 2h\nlimits:\n  wait p95: "<= 1m"\n'


def test_a_rollout_may_be_for_one_shard() -> None:
    found = read_rollout(SHARDED, "here", shards=2)
    assert found.steps == (RolloutStep(3600.0, shadow=True), RolloutStep(7200.0, shard=1))
    assert (found.shard, read_rollout(GOOD, "here").shard) == (1, None)


@pytest.mark.parametrize(
    ("text", "shards", "problem"),
    [
        pytest.param(SHARDED, 1, "here:4: steps[1].shard: " + words.WITHOUT_SHARDS, id="one daemon for all"),
        pytest.param(
            SHARDED.replace("shard: 1", "shard: 4"),
            2,
            "here:4: steps[1].shard: " + words.no_such_shard(2, 4),
            id="past",
        ),
        pytest.param(GOOD, 2, "here:4: steps: " + words.no_shard(2), id="all of several shards"),
        pytest.param(
            SHARDED.replace("limits:", "- {shard: 0, for: 1h}\nlimits:"),
            2,
            "here:6: steps[2].shard: " + words.another_shard(1, 0),
            id="two shards",
        ),
    ],
)
def test_a_rollout_fits_the_shards_that_there_are(text: str, shards: int, problem: str) -> None:
    with pytest.raises(BadPolicy, match=re.escape(problem)):
        read_rollout(text, "here", shards=shards)


def test_what_is_left_out_has_defaults() -> None:
    found = read_rollout('candidate: c\nsteps:\n- all: 1h\nlimits:\n  session p99: "<= 1s"\n', "here")
    assert (found.take_back, found.baseline_seconds, found.refers_to_baseline) == (True, 3600.0, False)


@pytest.mark.parametrize(
    ("hours", "at", "covers"),
    [
        pytest.param("22:00-06:00", 23, True, id="before midnight"),
        pytest.param("22:00-06:00", 5, True, id="after midnight"),
        pytest.param("22:00-06:00", 6, False, id="the end is outside"),
        pytest.param("09:00-17:00", 9, True, id="the beginning is inside"),
        pytest.param("09:00-17:00", 8, False, id="before a window within a day"),
    ],
)
def test_hours_of_a_window(hours: str, at: int, covers: bool) -> None:
    step = read_rollout(GOOD.replace("22:00-06:00", hours), "here").steps[1]
    assert step.covers(19_000 * 86400.0 + at * 3600.0) is covers


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        pytest.param(
            "takeBack", "takeback", "here:14: takeback: " + words.unknown_key(did_you_mean("takeBack")), id="key"
        ),
        pytest.param("takeBack: false", "takeBack: 7", "here:14: takeBack: expected true or false", id="no boolean"),
        pytest.param(
            "  for: 48h\n", "", "here:6: steps[1]: " + words.without_length("for"), id="no length of a window"
        ),
        pytest.param("- all: 24h", "- all:", "here:8: steps[2].all: expected a duration", id="no length of all"),
        pytest.param("- all: 24h", "- queue: a", "here:8: steps[2]: expected " + words.STEP, id="no such step"),
        pytest.param("- all: 24h", "- shard: 1", "here:8: steps[2]: " + words.without_length("for"), id="no length"),
        pytest.param(
            "all: 24h", "{shard: one, for: 1h}", "here:8: steps[2].shard: expected " + words.SHARD, id="no number"
        ),
        pytest.param("all: 24h", "{shard: 1, for: 1h}", "here:6: steps[1]: " + words.beside_shard(1), id="a mixture"),
        pytest.param("22:00-06:00", "22-6", "here:6: steps[1].window: expected " + words.WINDOW, id="no hours"),
        pytest.param(
            "22:00-06:00", "06:00-06:00", "here:6: steps[1].window: expected " + words.EMPTY_WINDOW, id="empty"
        ),
        pytest.param(
            "session p99", "session p98", "here:13: limits.session p98: nobody measures this", id="unmeasured"
        ),
        pytest.param('"<= 200ms"', '"<= 200"', "here:13: limits.session p99: expected " + words.SPAN, id="no unit"),
        pytest.param('"<= 20"', '"< 20"', "here:10: limits.evictions per hour: expected " + words.COUNT, id="no sign"),
        pytest.param('"<= 0"', '"<= 0s"', "here:12: limits.evictions in vain: expected " + words.COUNT, id="a unit"),
        pytest.param(
            "of baseline", "of predicted", "here:11: limits.wait p95: " + words.NOT_PREDICTED, id="no shadow sees waits"
        ),
        pytest.param(
            '- shadow: 30m\n- window: "22:00-06:00"\n  for: 48h\n- all: 24h\nlimits:\n  evictions per hour: "<= 20"',
            '- all: 24h\nlimits:\n  evictions per hour: "<= 100 % of predicted"',
            "here:7: limits.evictions per hour: " + words.NOT_PREDICTED,
            id="nothing predicts",
        ),
        pytest.param("baseline: 30m", "baseline: 0s", "here:3: baseline: expected a duration", id="no baseline"),
        pytest.param(
            "candidate: candidate.conf", "candidate: []", "here:2: candidate: expected " + words.CANDIDATE, id="list"
        ),
    ],
)
def test_what_is_wrong_is_refused_with_its_line(before: str, after: str, problem: str) -> None:
    assert before in GOOD
    with pytest.raises(BadPolicy, match=re.escape(problem)):
        read_rollout(GOOD.replace(before, after), "here")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("[]", "expected " + words.HOLDS, id="a list"),
        pytest.param("", "empty", id="nothing"),
        pytest.param("steps: []\n", "steps: " + words.steps_expected(20, "a list"), id="no steps"),
        pytest.param("limits: {}\n", "limits: expected " + words.NO_LIMIT, id="no limits"),
    ],
)
def test_what_is_no_rollout_is_refused(text: str, problem: str) -> None:
    with pytest.raises(BadPolicy, match=re.escape(problem)):
        read_rollout(text, "here")


def test_the_sample_and_the_one_of_the_guide_are_read(registry: Registry) -> None:
    data = yaml.safe_load((CONFIG / "samples/live/rollout.yaml").read_text(encoding="utf-8"))["data"]
    found = read_rollout(data["rollout"], "here")
    for key in ("volcano-scheduler.conf", found.candidate):
        load_text(data[key], "here", registry)
    guide = (CONFIG / "policies/README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```\n(candidate: .*?)```", guide, re.DOTALL)
    assert read_rollout(block, "here") == found
