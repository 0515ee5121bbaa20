"""The last sessions, for the time line."""

from __future__ import annotations

from msgspec.structs import replace

from tests.support.overviews import session
from vsched.web.overview.history import MOST_SESSIONS, SessionHistory


def test_sessions_that_do_nothing_count_as_one_and_the_oldest_are_forgotten() -> None:
    history = SessionHistory()
    for number in range(3 * MOST_SESSIONS):
        history.add(replace(session(number), binds=number % 3 == 0, evictions=0))
    numbers = [row.number for row in history.rows()]
    assert len(numbers) == MOST_SESSIONS
    assert numbers[-3:] == [3 * MOST_SESSIONS - 4, 3 * MOST_SESSIONS - 3, 3 * MOST_SESSIONS - 1]
