"""The combination rules: how the answers of several plugins become one. Excludes what any real plugin answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from vsched.framework.combine.combining import victims, vote
from vsched.framework.jobs import JobView
from vsched.framework.points.extension import Vote
from vsched.framework.refusal import Refusal
from vsched.model.jobs.job import Job
from vsched.model.jobs.spec import JobSpec
from vsched.model.pods.shape import ShapeTable
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task

PERMIT, ABSTAIN, REJECT = Vote.PERMIT, Vote.ABSTAIN, Vote.REJECT
NO = Refusal("No", "no")

JOB = JobView(Job("ns/j", JobSpec("ns", "j")))
TABLE = ShapeTable()


def task(name: str) -> Task:
    return Task(name, "ns", name, "ns/j", TABLE.shape(()), TABLE.labels("ns", {}), Status.RUNNING, "n1")


@pytest.mark.parametrize(
    ("tiers", "passes"),
    [
        pytest.param([], True, id="nobody asked: it passes"),
        pytest.param([[ABSTAIN], [ABSTAIN]], True, id="everybody abstains: it passes"),
        pytest.param([[PERMIT, REJECT]], False, id="a rejection beats a permission of its own tier"),
        pytest.param([[PERMIT], [REJECT]], True, id="a tier that permitted is not overruled by a later one"),
        pytest.param([[ABSTAIN], [REJECT]], False, id="a silent tier leaves it to the next"),
        pytest.param([[REJECT], [PERMIT]], False, id="a rejection is not overruled by a later tier"),
        pytest.param([[ABSTAIN, PERMIT]], True, id="one permission among abstentions is enough"),
        pytest.param([[NO]], False, id="a refusal counts as a rejection"),
    ],
)
def test_a_vote(tiers: list[list[Vote | Refusal]], passes: bool) -> None:
    answer = vote([[lambda job, one=one: one for one in tier] for tier in tiers], JOB)

    assert (answer is None) is passes


def test_a_refusal_is_passed_on_word_for_word() -> None:
    assert vote([[lambda job: NO]], JOB) == NO


Names = list[str] | None
"""What a plugin answers: names of victims, or None where it abstains."""


@pytest.mark.parametrize(
    ("tiers", "expected"),
    [
        pytest.param([], [], id="nobody asked: no victims"),
        pytest.param([[["a", "b"]]], ["a", "b"], id="one plugin decides alone"),
        pytest.param([[["b", "a"]]], ["a", "b"], id="victims come in the order of the candidates"),
        pytest.param([[["a", "b"], ["b", "c"]]], ["b"], id="plugins of a tier have to agree"),
        pytest.param([[["a"], None]], ["a"], id="who abstains does not count"),
        pytest.param([[None], [["c"]]], ["c"], id="a tier of abstentions leaves it to the next"),
        pytest.param([[["a"]], [["b"]]], ["a"], id="a tier with victims is final"),
        pytest.param([[[]], [["b"]]], ["b"], id="an empty answer ends its tier, and the next is asked"),
        pytest.param([[["a"], []], [["b"]]], ["b"], id="an empty answer takes back what the tier had agreed on"),
        pytest.param(
            [[["a"], ["b"], ["c"]], [["d"]]], ["d"], id="an empty intersection ends its tier; nobody re-seeds it"
        ),
    ],
)
def test_victims(tiers: list[list[Names]], expected: list[str]) -> None:
    candidates = [task(name) for name in "abcd"]

    def answer(names: Names) -> Any:
        def ask(offered: Sequence[Task]) -> Sequence[Task] | None:
            assert len(offered) == 4, "every plugin sees all candidates"
            return None if names is None else [one for one in offered if one.name in names]

        return ask

    chosen = victims([[answer(names) for names in tier] for tier in tiers], candidates)

    assert [one.name for one in chosen] == expected
