"""Estimates in words."""

from __future__ import annotations

from math import inf

import pytest

from tests.support.plans import NOW
from vsched.explain.estimate.words import Foreseen, told, when
from vsched.framework.durations import Basis, TimeLeft
from vsched.framework.times import length

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
DECLARED = TimeLeft(9.0, 9.0, Basis.DECLARED, 2 * HOUR)
LONGER = TimeLeft(9.0, 9.0, Basis.DECLARED, 3 * HOUR)
LATE = DECLARED._replace(worth=(1.0, 1.8))
HALF = DECLARED._replace(worth=(0.5, 0.52))
UNPROVEN = DECLARED._replace(worth=(1.0, 2.0), proven=False)
LEARNT = TimeLeft(5.0, 9.0, Basis.LEARNT)
OVERDUE = TimeLeft(0.0, inf, Basis.OVERDUE)


@pytest.mark.parametrize(
    ("earliest", "latest", "expected"),
    [
        (0.0, 0.0, "now"),
        (0.0, 5 * MINUTE, "between now and 08:05 UTC (in 5m at the latest)"),
        (5 * MINUTE, 40 * MINUTE, "between 08:05 and 08:40 UTC (in 5m to 40m)"),
        (5 * MINUTE, 5 * MINUTE + 20, "about 08:05 UTC (in 5m)"),
        (20.0, 50.0, "between 08:00:20 and 08:00:50 UTC (in 20s to 50s)"),
        (20.0, 2 * HOUR, "between 08:00 and 10:00 UTC (in 20s to 2h)"),
        (HOUR, 20 * HOUR, "between 09:00 and 2027-01-16 04:00 UTC (in 1h to 20h)"),
        (HOUR, inf, "not before 09:00 UTC (in 1h)"),
        (0.0, inf, "from now on"),
    ],
)
def test_ranges(earliest: float, latest: float, expected: str) -> None:
    assert when(NOW, NOW + earliest, NOW + latest) == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0.0, "0s"),
        (119.0, "119s"),
        (120.0, "2m"),
        (HOUR - 1, "1h"),
        (90 * MINUTE, "1h30m"),
        (DAY, "1d"),
        (4 * DAY + 7 * HOUR, "4d7h"),
    ],
)
def test_lengths_have_two_units_at_most(seconds: float, expected: str) -> None:
    assert length(seconds) == expected


@pytest.mark.parametrize(
    ("ends", "first", "expected"),
    [
        ([], [], "about 08:05 UTC (in 5m)"),
        (
            [("ns/a", DECLARED)],
            [],
            "about 08:05 UTC (in 5m), if ns/a ends as declared (2h)",
        ),
        (
            [("ns/a", DECLARED), ("ns/b", DECLARED)],
            ["ns/c"],
            "about 08:05 UTC (in 5m), if ns/a and 1 other end as declared (2h), after 1 job that goes first",
        ),
        (
            [("ns/a", LEARNT), ("ns/b", DECLARED), ("ns/d", LONGER)],
            ["ns/c", "ns/e"],
            "about 08:05 UTC (in 5m), if ns/a and 2 others end as declared, or as similar work did before, after 2 "
            "jobs that go first",
        ),
        (
            [("ns/a", LATE)],
            [],
            "about 08:05 UTC (in 5m), if ns/a ends after 1 to 1.8 times the declared 2h (as similar work did)",
        ),
        (
            [("ns/a", LATE), ("ns/b", LONGER), ("ns/c", LEARNT)],
            [],
            "about 08:05 UTC (in 5m), if ns/a and 2 others end after 1 to 1.8 times the declared time (as similar "
            "work did), or as similar work did before",
        ),
        (
            [("ns/a", HALF)],
            [],
            "about 08:05 UTC (in 5m), if ns/a ends after 0.5 times the declared 2h (as similar work did)",
        ),
        (
            [("ns/a", UNPROVEN)],
            [],
            "about 08:05 UTC (in 5m), if ns/a ends after 1 to 2 times the declared 2h; it is not known yet how "
            "accurate declared run times are",
        ),
    ],
)
def test_what_an_estimate_rests_on(ends: list[tuple[str, TimeLeft]], first: list[str], expected: str) -> None:
    at = NOW + 5 * MINUTE
    assert told(Foreseen(NOW, at, at, ends, first)).message == expected


@pytest.mark.parametrize(
    ("latest", "sooner", "expected"),
    [
        (
            HOUR,
            ["ns/u"],
            "at 09:00 UTC at the latest (in 1h), if ns/a ends as declared (2h); earlier "
            "if ns/u ends, whose duration is unknown",
        ),
        (
            90.0,
            ["ns/u", "ns/v"],
            "at 08:01:30 UTC at the latest (in 90s), if ns/a ends as declared (2h); "
            "earlier if some of 2 jobs of unknown duration end (such as ns/u)",
        ),
        (
            inf,
            ["ns/u"],
            "from now on, if ns/a ends as declared (2h); so early only if ns/u ends, "
            "whose duration is unknown; how late is unknown",
        ),
    ],
)
def test_work_of_unknown_duration_lets_it_start_earlier(latest: float, sooner: list[str], expected: str) -> None:
    assert told(Foreseen(NOW, NOW, NOW + latest, [("ns/a", DECLARED)], [], sooner=sooner)).message == expected


def test_what_cannot_be_said_is_none() -> None:
    found = told(Foreseen(NOW, NOW + HOUR, inf, [("ns/a", DECLARED), ("ns/b", OVERDUE)], []))
    assert (found.earliest, found.latest) == (NOW + HOUR, None)
    assert found.message.endswith("; how late is unknown, as ns/b has already run longer than expected")
