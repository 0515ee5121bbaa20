"""Votes on victims: what each part of them says, and how those of several plugins make an agreement."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import pytest

from tests.support.plans import NOW, manifests, mirror
from vsched.framework.combine.agreeing import Agreement
from vsched.framework.points.victims import Preemptable, Purpose, Votes
from vsched.model.pods.task import Task

WORLD = """
node n1 cpu=4
job ns/x min=1 phase=Running
pods ns/x 3 cpu=1 on=n1
job ns/new pods=1 cpu=1
job ns/other pods=1 cpu=1
"""
SNAPSHOT = mirror(manifests(WORLD)).snapshot(NOW)
X = SNAPSHOT.jobs["ns/x"]
PODS = sorted(X.tasks.values(), key=lambda task: task.name)
NEW, OTHER = (next(iter(SNAPSHOT.jobs[f"ns/{name}"].tasks.values())) for name in ("new", "other"))


class Voter(Preemptable):
    """Says what it is given."""

    def __init__(self, votes: Callable[[Task], Votes | None], *, absolute: bool = False) -> None:
        self._votes = votes
        self.name = "voter"  # type: ignore[misc]  # each has its own
        self.protects_absolutely = absolute  # type: ignore[misc]

    def victim_votes(self, evictor: Task, purpose: Purpose) -> Votes | None:
        return self._votes(evictor)


def agrees(numbers: str, *, absolute: bool = False, depends_on: Hashable = None) -> Voter:
    """Agrees to pods by their numbers; ``-`` abstains."""
    if numbers == "-":
        return Voter(lambda evictor: None)
    votes = Votes.each(lambda task: task.name[-1] in numbers, depends_on=depends_on)
    if not numbers:
        votes = Votes.none(depends_on=depends_on)
    return Voter(lambda evictor: votes, absolute=absolute)


def named(tiers: list[list[Voter]], *, by_tiers: bool = False) -> str:
    found = Agreement(tiers, Purpose.PREEMPT).victims(NEW, PODS, by_tiers=by_tiers)
    return "".join(task.name[-1] for task in found)


@pytest.mark.parametrize(
    ("tiers", "expected", "in_the_reference"),
    [
        pytest.param([[agrees("01")]], "01", "01", id="one plugin decides alone"),
        pytest.param([[agrees("01"), agrees("12")]], "1", "1", id="plugins of a tier have to agree"),
        pytest.param([[agrees("-")], [agrees("2")]], "2", "2", id="a tier where all abstain leaves it to the next"),
        pytest.param([[agrees("0"), agrees("1")], [agrees("2")]], "2", "2", id="so does one that agrees on nobody"),
        pytest.param([[agrees("01")], [agrees("12")]], "01", "01", id="the first tier with victims decides"),
        pytest.param(
            [[agrees("01")], [agrees("12", absolute=True)]], "1", "01", id="what is kept absolutely is kept in any tier"
        ),
        pytest.param(
            [[agrees("12", absolute=True)], [agrees("0")]], "12", "12", id="a tier of protectors names who is left"
        ),
        pytest.param([[agrees("", absolute=True)], [agrees("0")]], "", "0", id="nobody is left"),
    ],
)
def test_tiers_agree(tiers: list[list[Voter]], expected: str, in_the_reference: str) -> None:
    assert named(tiers) == expected
    assert named(tiers, by_tiers=True) == in_the_reference


@pytest.mark.parametrize(
    ("tiers", "is_out"),
    [
        pytest.param([], True, id="where nobody votes nobody is a victim"),
        pytest.param([[agrees("0")]], False, id="whoever takes a closer look rules nobody out"),
        pytest.param([[agrees("")]], True, id="who agrees to nobody rules all jobs out"),
        pytest.param([[agrees("0"), agrees("")]], True, id="one of a tier is enough"),
        pytest.param([[agrees("")], [agrees("0")]], False, id="the next tier may name somebody"),
        pytest.param([[agrees("-")]], True, id="a tier where all abstain names nobody"),
        pytest.param([[agrees("", absolute=True)], [agrees("0")]], True, id="an absolute protector in any tier"),
    ],
)
def test_jobs_are_ruled_out(tiers: list[list[Voter]], is_out: bool) -> None:
    assert Agreement(tiers, Purpose.PREEMPT).rules_out(NEW, by_tiers=False)(X) is is_out


@pytest.mark.parametrize(
    ("voter", "one_class"),
    [
        pytest.param(agrees("0"), True, id="where nothing of the evictor decides"),
        pytest.param(Voter(lambda evictor: Votes.each(bool)), False, id="not where nothing is said: their jobs decide"),
        pytest.param(
            Voter(lambda evictor: Votes.each(bool, depends_on=evictor.name)), False, id="not where it differs"
        ),
        pytest.param(
            Voter(lambda evictor: None if evictor is NEW else Votes.each(bool, depends_on=None)),
            False,
            id="not where one of them is abstained from",
        ),
    ],
)
def test_evictors_of_one_class(voter: Voter, one_class: bool) -> None:
    agreement = Agreement([[voter]], Purpose.PREEMPT)
    assert (agreement.class_of(NEW) == agreement.class_of(OTHER)) is one_class


def test_a_place_can_be_regained_from_whom_a_plugin_agrees_to_unless_it_says_otherwise() -> None:
    assert Votes.each(lambda task: task is NEW).could_regain(NEW)
    assert not Votes.each(lambda task: task is NEW).could_regain(OTHER)
    assert Votes.none()._replace(regains=lambda taker: True).could_regain(NEW)
    assert not Votes.none().could_regain(NEW)


def test_a_victim_comes_back_where_a_whole_tier_would_let_it() -> None:
    willing, unwilling = (Voter(lambda evictor, let=let: Votes.each(lambda task: let)) for let in (True, False))  # type: ignore[misc]

    def could(*tiers: list[Voter]) -> bool:
        return Agreement(tiers, Purpose.PREEMPT).could_retake(PODS[0], NEW, by_tiers=False)

    assert could([willing])
    assert not could([willing, unwilling])
    assert could([willing, unwilling], [willing])
    assert not could([agrees("-")])
