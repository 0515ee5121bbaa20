"""What a generator file of Kueue says: when which workloads come; and what is refused, with its line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.kueue import RACK, cohorts, generator, queues, series, topology, workload, written
from vsched.errors import BadInput
from vsched.lab.kueue import words
from vsched.lab.kueue.generator import read_generator

MINIMAL = """cohorts:
- className: cohort
  count: 1
  queuesSets:
  - className: cq
    count: 2
    nominalQuota: "20"
    workloadsSets:
    - count: 1
      creationIntervalMs: 100
      workloads:
      - className: small
        runtimeMs: 1_000
        request: 500m
"""


def test_each_workload_comes_after_a_pause_and_the_sets_of_a_queue_come_side_by_side(tmp_path: Path) -> None:
    found = generator(
        tmp_path, cohorts(queues(series(2, 100, workload("a"), workload("b")), series(1, 300, workload("c"))))
    )
    assert [(one.at_ms, one.name) for one in found.arrivals()] == [
        (100, "a-0-0-0"),
        (200, "b-0-0-1"),
        (300, "a-0-1-0"),
        (300, "c-1-0-0"),
        (400, "b-0-1-1"),
    ]


def test_queues_are_named_as_kueues_own_test_names_them_and_a_cohort_has_their_quotas(tmp_path: Path) -> None:
    found = [*generator(tmp_path, cohorts(queues(series(1, 1, workload()), count=2, nominal=3), count=2)).queues()]
    assert [queue.name for queue in found] == [
        "cq-0-0-cohort-0",
        "cq-0-1-cohort-0",
        "cq-0-0-cohort-1",
        "cq-0-1-cohort-1",
    ]
    assert {(queue.cohort.name, queue.cohort.nominal_milli) for queue in found} == {
        ("cohort-0", 6000),
        ("cohort-1", 6000),
    }


def test_what_is_left_out_has_the_default_of_kueues_api(tmp_path: Path) -> None:
    path = tmp_path / "generator.yaml"
    path.write_text(MINIMAL)
    [terms] = read_generator(path).cohorts[0].queues
    [template] = terms.workloads[0].templates
    assert (terms.borrowing_milli, terms.reclaims, terms.preempts) == (None, False, False)
    assert (template.cpu_milli, template.pods, template.priority, template.runtime_ms) == (500, 1, 0, 1000)


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        pytest.param(
            "count: 2", "count: two", "6: cohorts[0].queuesSets[0].count: expected a whole number", id="a word"
        ),
        pytest.param(
            "count: 2", "count: -1", "6: cohorts[0].queuesSets[0].count: expected a whole number", id="too few"
        ),
        pytest.param('"20"', '"20x"', "7: cohorts[0].queuesSets[0].nominalQuota: '20x' is not a quantity", id="amount"),
        pytest.param('"20"', '"-2"', "7: cohorts[0].queuesSets[0].nominalQuota: '-2' is negative", id="negative"),
        pytest.param("className: small", "name: small", "unknown field", id="an unknown field"),
        pytest.param("className: small", "className:", "workloads[0].className: is missing", id="no name"),
        pytest.param("request: 500m", "request: 500m\n        devices: 1", "15: ", id="devices are not made"),
        pytest.param("request: 500m", "podCount: 2", "14: ", id="several pods without a level"),
        pytest.param(
            "nominalQuota",
            "reclaimWithinCohort: LowerPriority\n    nominalQuota",
            "7: cohorts[0].queuesSets[0].reclaimWithinCohort: 'LowerPriority' is not supported here (expected",
            id="taking back from lower priority only",
        ),
        pytest.param("count: 1\n  queues", "count: 0\n  queues", "1: cohorts: 0 queues", id="no queue at all"),
        pytest.param(MINIMAL, "", "1: empty; expected a generator of Kueue with cohorts", id="an empty file"),
        pytest.param(MINIMAL, "dra: {devicesPerNode: 1}\n" + MINIMAL, "1: dra: not supported", id="a section"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_line(tmp_path: Path, before: str, after: str, says: str) -> None:
    path = tmp_path / "generator.yaml"
    path.write_text(MINIMAL.replace(before, after))
    with pytest.raises(BadInput) as error:
        read_generator(path)
    assert f"{path}:" in str(error.value)
    assert says in str(error.value)


@pytest.mark.parametrize(
    ("template", "says"),
    [
        pytest.param({"tasLevel": "rack"}, "is no level of the topology", id="an unknown level"),
        pytest.param(
            {"tasLevel": RACK, "tasConstraint": "near"}, "'near' is not supported", id="an unknown constraint"
        ),
        pytest.param({"tasLevel": RACK, "tasConstraint": "balanced"}, "expected how many pods", id="no size of slices"),
        pytest.param(
            {"tasLevel": RACK, "tasConstraint": "balanced", "podCount": 3, "sliceSize": 2},
            "expected a divisor of podCount",
            id="slices that do not come out even",
        ),
        pytest.param(
            {"tasLevel": RACK, "tasConstraint": "required", "sliceSize": 2}, "unless tasConstraint", id="a useless size"
        ),
    ],
)
def test_a_wish_for_closeness_has_to_fit_the_topology(tmp_path: Path, template: Any, says: str) -> None:
    path = written(tmp_path, cohorts(queues(series(1, 1, workload(**template)))), **topology())
    with pytest.raises(BadInput, match=says):
        read_generator(path)


def test_two_sets_of_cohorts_of_one_name_are_refused(tmp_path: Path) -> None:
    one = cohorts(queues(series(1, 1, workload())))
    with pytest.raises(BadInput, match=r"cohorts\[1\].className: 'cohort' is there twice"):
        generator(tmp_path, one, one)


def test_a_flavor_has_to_name_the_topology(tmp_path: Path) -> None:
    more = topology()
    more["resourceFlavor"]["topologyName"] = "other"
    with pytest.raises(BadInput, match=words.other_topology("tree", "other")):
        generator(tmp_path, cohorts(queues(series(1, 1, workload()))), **more)
