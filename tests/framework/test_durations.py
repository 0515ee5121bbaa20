"""How much longer work runs, by what it declares, by what its like took, and by its limit."""

from __future__ import annotations

from math import inf

import pytest

from tests.support.plans import NOW, manifests, mirror
from vsched.framework.durations import Basis, TimeLeft, left, span

TAKES = "vsched.io/expected-duration="
BEFORE = "\n".join(
    f"job ns/train-{number} min=1\npods ns/train-{number} 1 cpu=1 on=n1 succeeded started=9000 ended={9000 - took}"
    for number, took in enumerate(range(100, 1100, 100))
)
"""Ten of them, which took 100 s to 1000 s."""


@pytest.mark.parametrize(
    ("job", "pod", "expected"),
    [
        pytest.param("", "", (inf, inf, Basis.UNKNOWN), id="nothing is known"),
        pytest.param(
            f"{TAKES}1h", "started=600", (3000.0, 6600.0, Basis.DECLARED), id="its PodGroup says, or twice as much"
        ),
        pytest.param(
            f"{TAKES}1h", f"started=600 {TAKES}20m", (600.0, 1800.0, Basis.DECLARED), id="the pod itself goes first"
        ),
        pytest.param(f"{TAKES}1h", "bound", (3600.0, 7200.0, Basis.DECLARED), id="it has not started yet"),
        pytest.param(f"{TAKES}5m", "started=400", (0.0, 200.0, Basis.DECLARED), id="it takes longer than it said"),
        pytest.param(f"{TAKES}5m", "started=600", (0.0, inf, Basis.OVERDUE), id="it takes twice what it said, or more"),
        pytest.param(
            f"{TAKES}5m", "started=600 deadline=900", (0.0, 300.0, Basis.OVERDUE), id="but is ended by its deadline"
        ),
        pytest.param("", "started=600 deadline=900", (0.0, 300.0, Basis.LIMIT), id="a deadline alone"),
        pytest.param("vsched.io/wall-time=15m", "started=600", (0.0, 300.0, Basis.LIMIT), id="a wall time alone"),
        pytest.param(
            "vsched.io/wall-time=11m", "started=600 deadline=900", (0.0, 60.0, Basis.LIMIT), id="the shorter of both"
        ),
        pytest.param(
            f"{TAKES}1h", "started=600 deadline=900", (300.0, 300.0, Basis.DECLARED), id="a deadline before that"
        ),
        pytest.param(f"{TAKES}1h", "started=600 leaving", (0.0, 30.0, Basis.LEAVING), id="it was told to end"),
        pytest.param(f"{TAKES}1h", "started=600 lost", (inf, inf, Basis.UNKNOWN), id="its node does not answer"),
    ],
)
def test_what_is_declared(job: str, pod: str, expected: tuple[float, float, Basis]) -> None:
    assert _left(f"job ns/a min=1 {job}\npods ns/a 1 cpu=1 on=n1 {pod}", "ns/a")[:3] == expected


@pytest.mark.parametrize(
    ("key", "pod", "expected"),
    [
        pytest.param("ns/train-99", "started=0", (0.0, 1140.0, Basis.LEARNT), id="one that begins"),
        pytest.param("ns/train-99", "started=550", (0.0, 630.0, Basis.LEARNT), id="those that ran as long count"),
        pytest.param("ns/train-99", "started=1000", (0.0, inf, Basis.OVERDUE), id="longer than any"),
        pytest.param("ns/other", "started=0", (0.0, 1140.0, Basis.LEARNT), id="another one of the namespace"),
        pytest.param("far/other", "started=0", (0.0, 1140.0, Basis.LEARNT), id="one of another namespace in the queue"),
        pytest.param(
            "ns/train-99", f"started=60 {TAKES}2m", (60.0, 180.0, Basis.DECLARED), id="what it says itself goes first"
        ),
        pytest.param(
            "ns/train-99", f"started=550 {TAKES}2m", (0.0, 630.0, Basis.LEARNT), id="as long as that may be right"
        ),
    ],
)
def test_what_is_learnt(key: str, pod: str, expected: tuple[float, float, Basis]) -> None:
    assert _left(f"{BEFORE}\njob {key} min=1\npods {key} 1 cpu=1 on=n1 restart=Never {pod}", key)[:3] == expected


def test_nothing_is_learnt_of_pods_that_are_started_again() -> None:
    text = f"{BEFORE}\njob ns/train-99 min=1\npods ns/train-99 1 cpu=1 on=n1 started=0"
    assert _left(text, "ns/train-99").basis is Basis.UNKNOWN


def test_two_of_a_kind_say_nothing() -> None:
    few = "\n".join(BEFORE.splitlines()[:4])
    text = f"{few}\njob ns/train-99 min=1\npods ns/train-99 1 cpu=1 on=n1 started=0 restart=Never"
    assert _left(text, "ns/train-99").basis is Basis.UNKNOWN


def test_the_nearest_name_goes_first() -> None:
    own = "\n".join(
        f"job ns/own-{number} min=1\npods ns/own-{number} 1 cpu=1 on=n1 succeeded started=9000 ended=8993"
        for number in range(3)
    )
    text = f"{BEFORE}\n{own}\njob ns/own-9 min=1\npods ns/own-9 1 cpu=1 on=n1 started=0 restart=Never"
    assert _left(text, "ns/own-9")[:2] == (7.0, 7.0)


@pytest.mark.parametrize(
    ("job", "longest", "expected"),
    [
        pytest.param("", 900.0, (0.0, 300.0, Basis.LIMIT), id="its job ends by then"),
        pytest.param("vsched.io/wall-time=11m", 900.0, (0.0, 60.0, Basis.LIMIT), id="its own wall time is shorter"),
        pytest.param(f"{TAKES}20m", 900.0, (300.0, 300.0, Basis.DECLARED), id="it declares more"),
    ],
)
def test_for_how_long_its_job_may_run(job: str, longest: float, expected: tuple[float, float, Basis]) -> None:
    found = _left(f"job ns/a min=1 {job}\npods ns/a 1 cpu=1 on=n1 started=600", "ns/a", longest)

    assert found[:3] == expected


@pytest.mark.parametrize(
    ("samples", "elapsed", "expected"),
    [
        pytest.param([4.0, 4.0, 4.0], 0.0, (4.0, 4.0), id="all alike"),
        pytest.param([2.0, 4.0, 8.0], 0.0, (0.0, 16.0), id="a gap below, and one above"),
        pytest.param([2.0, 4.0, 8.0], 2.0, (2.0, 16.0), id="those that were longer"),
        pytest.param([2.0, 4.0, 8.0], 7.0, (7.0, 10.0), id="the last of them"),
        pytest.param([2.0, 4.0, 8.0], 8.0, None, id="none was longer"),
        pytest.param([1.0] * 8 + [2.0, 3.0], 0.0, (1.0, 3.7), id="most are alike, and some longer"),
    ],
)
def test_how_far_samples_reach(samples: list[float], elapsed: float, expected: tuple[float, float] | None) -> None:
    assert span(samples, elapsed) == expected


def finished(name: str, *factors: float) -> str:
    """Jobs that took so many times the 100 s that they declared."""
    lines = []
    for number, factor in enumerate(factors):
        lines.append(f"job {name}-{number} min=1 {TAKES}100s")
        lines.append(f"pods {name}-{number} 1 cpu=1 on=n1 succeeded started=9000 ended={9000 - round(100 * factor)}")
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("before", "started", "expected"),
    [
        pytest.param(finished("ns/train", *[1.0] * 8), 0, (1000.0, 1000.0, True), id="all as declared"),
        pytest.param(finished("ns/train", *[1.0] * 7), 0, (1000.0, 2000.0, False), id="too few to go by"),
        pytest.param(finished("ns/train", *[1.0] * 6, 3.0), 0, (1000.0, 3000.0, False), id="too few, and one longer"),
        pytest.param(finished("ns/train", *[1.0] * 6, 1.5, 1.5), 0, (1000.0, 1750.0, True), id="some longer"),
        pytest.param(finished("ns/train", *[0.5] * 8), 0, (500.0, 500.0, True), id="half of what is declared"),
        pytest.param(finished("ns/train", *[0.5] * 8), 700, None, id="it takes longer than all did"),
        pytest.param(
            finished("ns/train", *[1.0] * 8) + "\n" + finished("ns/other", *[3.0] * 8),
            0,
            (1000.0, 1000.0, True),
            id="the nearest name goes first",
        ),
        pytest.param(
            finished("ns/train", 2.0) + "\n" + finished("ns/other", *[1.0] * 8),
            0,
            (1000.0, 2361.1, True),
            id="what is near and too little is added to what is farther",
        ),
        pytest.param(finished("far/other", *[1.0] * 8), 0, (1000.0, 1000.0, True), id="of the queue"),
        pytest.param(
            "queue q\n" + finished("far/other", *[1.0] * 8).replace("min=1", "min=1 queue=q"),
            0,
            (1000.0, 1000.0, True),
            id="of another queue",
        ),
    ],
)
def test_what_declarations_are_worth_is_learnt(
    before: str, started: int, expected: tuple[float, float, bool] | None
) -> None:
    found = _left(
        f"{before}\njob ns/train-99 min=1 {TAKES}1000s\npods ns/train-99 1 cpu=1 on=n1 started={started}", "ns/train-99"
    )
    if expected is None:
        assert found.basis is Basis.OVERDUE
    else:
        assert (round(found.least, 1), round(found.most, 1), found.proven) == expected


def _left(text: str, key: str, longest: float = inf) -> TimeLeft:
    snapshot = mirror(manifests(text)).snapshot(NOW)
    job = snapshot.jobs[key]
    return left(snapshot.learnt, job.spec, next(iter(job.tasks.values())), NOW, longest)
