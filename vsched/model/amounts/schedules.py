"""Schedules of CronJobs: five fields, names such as ``@hourly``, and ``@every`` with a duration."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache

from croniter import CroniterBadDateError, croniter

from vsched.model import words
from vsched.model.amounts.durations import parse_duration

EVERY = "@every "
LEAST_SECONDS = 1.0
"""The shortest period of ``@every``."""
_ANY_TIME = datetime(2000, 1, 1, tzinfo=UTC)


@lru_cache(maxsize=1024)
def problem_of(schedule: str) -> str:
    """What is wrong with a schedule; empty if nothing is."""
    if schedule.startswith(EVERY):
        seconds = _seconds(schedule)
        if 0 < seconds < LEAST_SECONDS:
            return words.shorter_than_a_second(schedule)
        return "" if seconds > 0 else words.not_a_duration(schedule)
    fields = schedule.split()
    if not schedule.startswith("@") and len(fields) != 5:
        return words.not_5_fields(len(fields), fields)
    if not croniter.is_valid(schedule):
        return words.not_a_schedule(schedule)
    try:
        croniter(schedule, _ANY_TIME).get_next()
    except CroniterBadDateError:
        return words.never_comes(schedule)
    return ""


def newest_before(schedule: str, since: datetime, now: datetime) -> datetime:
    """The newest time of a schedule that is not after ``now``; fields are those of its time zone.

    ``@every`` counts from ``since``.
    """
    if schedule.startswith(EVERY):
        period = timedelta(seconds=_seconds(schedule))
        return since + ((now - since) // period) * period
    found: datetime = croniter(schedule, now.replace(microsecond=0) + timedelta(seconds=1)).get_prev(datetime)
    return found.astimezone(UTC)


def next_after(schedule: str, since: datetime, now: datetime) -> datetime:
    """The first time of a schedule that is after ``now``."""
    if schedule.startswith(EVERY):
        return newest_before(schedule, since, now) + timedelta(seconds=_seconds(schedule))
    found: datetime = croniter(schedule, now).get_next(datetime)
    return found.astimezone(UTC)


def _seconds(schedule: str) -> float:
    return parse_duration(schedule.removeprefix(EVERY)) or 0.0
