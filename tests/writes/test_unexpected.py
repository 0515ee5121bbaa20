"""Unexpected errors over one object: reported once, with a traceback where they are nobody's on purpose."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from vsched.errors import BadInput
from vsched.writes import words
from vsched.writes.unexpected import Unexpected


@pytest.mark.parametrize(
    ("error", "why", "traceback"),
    [
        pytest.param(KeyError("x"), "KeyError: 'x'", True, id="one that nobody raises on purpose"),
        pytest.param(BadInput("no such thing"), "no such thing", False, id="one of vsched's own"),
    ],
)
async def test_an_error_is_reported_and_the_work_goes_on(error: Exception, why: str, traceback: bool) -> None:
    told: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: told.append(context))
    with Unexpected(words.item_is_dropped("binding", "ns", "p")) as unexpected:
        raise error
    assert unexpected.why == why
    assert told == [{"message": f"the binding of ns/p is dropped: {why}"} | ({"exception": error} if traceback else {})]


async def test_where_all_goes_well_nothing_is_reported() -> None:
    told: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: told.append(context))
    with Unexpected("it is dropped") as unexpected:
        pass
    assert (unexpected.why, told) == ("", [])


async def test_being_cancelled_is_no_error() -> None:
    unexpected = Unexpected("it is dropped")
    with pytest.raises(asyncio.CancelledError), unexpected:
        raise asyncio.CancelledError
    assert unexpected.why == ""
