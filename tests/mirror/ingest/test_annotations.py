"""Annotations that refine an object: what they come to, and what is remarked where they make no sense."""

from __future__ import annotations

from typing import Any

import pytest

from vsched.api.base import Metadata
from vsched.mirror.ingest.annotations import (
    EXPECTED_DURATION,
    cooldown_seconds_of,
    expected_seconds_of,
    group_limits_of,
    job_budget_of,
    strategy_of,
    waiting_seconds_of,
)
from vsched.mirror.ingest.words import groups as groups_words
from vsched.model.amounts.resources import ResourceAxis
from vsched.model.jobs.budget import JobBudget
from vsched.model.pods.shape import ScoringStrategy

SLA, OLD_SLA = "volcano.sh/sla-waiting-time", "sla-waiting-time"
MINIMUM, MAXIMUM = "volcano.sh/jdb-min-available", "volcano.sh/jdb-max-unavailable"
COOLDOWN, LIMITS = "volcano.sh/cooldown-time", "volcano.sh/nodegroup-resource-limits"
SCORING, WEIGHT = "volcano.sh/resource-strategy-scoring-type", "volcano.sh/resource-strategy-weight"
DURATION = f"{groups_words.LENGTH_ABOVE_ZERO} 30s or 1h30m"


@pytest.mark.parametrize(
    ("annotations", "seconds", "remarks"),
    [
        pytest.param({}, None, [], id="nothing said"),
        pytest.param({SLA: "1h30m"}, 5400.0, [], id="a length of time"),
        pytest.param({OLD_SLA: "10s"}, 10.0, [], id="under its old name"),
        pytest.param({SLA: "1m", OLD_SLA: "10s"}, 60.0, [], id="the new name counts"),
        pytest.param(
            {SLA: "soon", OLD_SLA: "10s"},
            10.0,
            [f"metadata.annotations[{SLA}]: 'soon' (expected {DURATION}): ignored"],
            id="else the old one",
        ),
        pytest.param(
            {SLA: "0s"}, None, [f"metadata.annotations[{SLA}]: '0s' (expected {DURATION}): ignored"], id="zero"
        ),
        pytest.param(
            {OLD_SLA: "-1h"},
            None,
            [f"metadata.annotations[{OLD_SLA}]: '-1h' (expected {DURATION}): ignored"],
            id="less than zero",
        ),
        pytest.param(
            {SLA: "x" * 90},
            None,
            [f"metadata.annotations[{SLA}]: '{'x' * 40}' (expected {DURATION}): ignored"],
            id="a long text is told in part",
        ),
    ],
)
def test_how_long_a_job_is_to_wait(annotations: dict[str, str], seconds: float | None, remarks: list[str]) -> None:
    told: list[str] = []

    assert waiting_seconds_of(annotations, told) == seconds
    assert told == remarks


@pytest.mark.parametrize(
    ("annotations", "budget", "remarked"),
    [
        pytest.param({}, None, [], id="nothing said"),
        pytest.param({MINIMUM: "3"}, JobBudget(3), [], id="so many have to stay"),
        pytest.param({MINIMUM: "50%"}, JobBudget(50, percent=True), [], id="a part has to stay"),
        pytest.param({MAXIMUM: "0"}, JobBudget(0, unavailable=True), [], id="none may be away"),
        pytest.param({MINIMUM: "3", MAXIMUM: "1"}, JobBudget(3), [], id="the minimum before the maximum"),
        pytest.param({MINIMUM: "x", MAXIMUM: "1"}, JobBudget(1, unavailable=True), [MINIMUM], id="unless it is none"),
        pytest.param({MAXIMUM: "-1"}, None, [MAXIMUM], id="a negative number"),
        pytest.param({MAXIMUM: "1.5"}, None, [MAXIMUM], id="a part of a pod"),
    ],
)
def test_budgets_of_jobs(annotations: dict[str, str], budget: JobBudget | None, remarked: list[str]) -> None:
    told: list[str] = []

    assert job_budget_of(annotations, told) == budget
    assert [line.partition(": ")[0] for line in told] == [f"metadata.annotations[{name}]" for name in remarked]


@pytest.mark.parametrize(
    ("labels", "annotations", "seconds", "remarked"),
    [
        pytest.param(None, None, 0.0, "", id="nothing said"),
        pytest.param(None, {COOLDOWN: "5m"}, 300.0, "", id="an annotation"),
        pytest.param({COOLDOWN: "1m"}, {COOLDOWN: "5m"}, 60.0, "", id="a label before an annotation"),
        pytest.param({COOLDOWN: "1"}, {COOLDOWN: "5m"}, 0.0, "metadata.labels", id="also where the label is none"),
        pytest.param({}, {COOLDOWN: "five"}, 0.0, "metadata.annotations", id="no length of time"),
    ],
)
def test_cool_down_of_pods(
    labels: dict[str, str] | None, annotations: dict[str, str] | None, seconds: float, remarked: str
) -> None:
    told: list[str] = []

    assert cooldown_seconds_of(Metadata(labels=labels, annotations=annotations), told) == seconds
    assert [line.partition("[")[0] for line in told] == [remarked] * bool(remarked)


@pytest.mark.parametrize(
    ("text", "limits", "remark"),
    [
        pytest.param(None, (), "", id="nothing said"),
        pytest.param('{"g": {"cpu": 2, "memory": "1Ki"}}', (("g", ((0, 2000), (1, 1024))),), "", id="amounts"),
        pytest.param('{"g": {"cpu": 0}}', (("g", ((0, 0),)),), "", id="zeros are kept"),
        pytest.param('{"h": {}, "g": {}}', (("g", ()), ("h", ())), "", id="groups by name"),
        pytest.param("cores", None, "is malformed", id="no JSON"),
        pytest.param('["g"]', None, "must be an object, is a list", id="no mapping"),
        pytest.param('{"g": {"cpu": "many"}}', None, ".g.cpu: 'many' is not a quantity", id="no quantity"),
    ],
)
def test_limits_of_queues_by_node_group(text: str | None, limits: Any, remark: str) -> None:
    told: list[str] = []

    assert group_limits_of({} if text is None else {LIMITS: text}, ResourceAxis(), told) == limits
    assert len(told) == bool(remark)
    for line in told:
        assert line.startswith(f"metadata.annotations[{LIMITS}]")
        assert remark in line
        assert line.endswith("nodegroup gives the queue no node")


@pytest.mark.parametrize(
    ("annotations", "strategy", "remark"),
    [
        pytest.param({}, None, "", id="nothing said"),
        pytest.param(
            {SCORING: "MostAllocated", WEIGHT: '{"memory": 0, "cpu": 2}'},
            ScoringStrategy(True, (("cpu", 2), ("memory", 0))),
            "",
            id="fuller nodes, by weights",
        ),
        pytest.param({SCORING: "LeastAllocated", WEIGHT: "{}"}, ScoringStrategy(False, ()), "", id="nothing counts"),
        pytest.param(
            {SCORING: "Least", WEIGHT: '{"cpu": 1}'},
            None,
            f"metadata.annotations[{SCORING}]: 'Least' (expected LeastAllocated or MostAllocated): ignored",
            id="no strategy",
        ),
        pytest.param(
            {WEIGHT: '{"cpu": 1}'},
            None,
            f"metadata.annotations[{SCORING}]: '' (expected LeastAllocated or MostAllocated): ignored",
            id="weights alone",
        ),
        *(
            pytest.param(
                {SCORING: "LeastAllocated"} | ({} if text is None else {WEIGHT: text}),
                None,
                f"metadata.annotations[{WEIGHT}]: {text or ''!r} (expected {groups_words.WEIGHTS}): ignored",
                id=f"weights that are none: {text}",
            )
            for text in (None, "cpu", '{"cpu": -1}', '{"cpu": 1.5}', '["cpu"]', '{"cpu": 9999999999}')
        ),
    ],
)
def test_strategies_of_pods(annotations: dict[str, str], strategy: ScoringStrategy | None, remark: str) -> None:
    told: list[str] = []

    assert strategy_of(annotations, told) == strategy
    assert told == ([remark] if remark else [])


@pytest.mark.parametrize(
    ("annotations", "seconds", "remarks"),
    [
        pytest.param({}, 0.0, [], id="nothing said"),
        pytest.param({EXPECTED_DURATION: "2h30m"}, 9000.0, [], id="a length of time"),
        pytest.param(
            {EXPECTED_DURATION: "a while"},
            0.0,
            [f"metadata.annotations[{EXPECTED_DURATION}]: 'a while' (expected {DURATION}): ignored"],
            id="no length of time",
        ),
    ],
)
def test_how_long_work_is_to_take(annotations: dict[str, str], seconds: float, remarks: list[str]) -> None:
    told: list[str] = []
    assert expected_seconds_of(annotations, told) == seconds
    assert told == remarks
