"""When everything is looked at, while things change and while nothing does."""

from __future__ import annotations

import asyncio

import pytest

from vsched.daemon.loop.upkeep import DUE_LOOKS, LOOK_SECONDS, Upkeep

DUE_SECONDS = DUE_LOOKS * LOOK_SECONDS


async def calm_moments(until: float, still_from: float = 0.0) -> list[float]:
    """The moments in which it is looked after until then, where things change until ``still_from``."""
    found: list[float] = []
    now = asyncio.get_running_loop().time
    began = now()

    def changes() -> int:
        return int(min(now() - began, still_from))

    running = asyncio.create_task(Upkeep(changes, lambda: found.append(now() - began)).run())
    await asyncio.sleep(until)
    running.cancel()
    await asyncio.wait((running,))
    return found


async def test_where_nothing_changes_it_is_looked_after_as_soon_as_it_is_due() -> None:
    first, second = await calm_moments(2.5 * DUE_SECONDS)
    assert (first, second - first) == pytest.approx((DUE_SECONDS, DUE_SECONDS))


async def test_while_things_change_it_is_looked_after_when_nothing_changes_any_more() -> None:
    still = 1.5 * DUE_SECONDS
    (found,) = await calm_moments(2 * DUE_SECONDS, still)
    assert still < found <= still + 2 * LOOK_SECONDS


async def test_where_things_never_stop_changing_it_is_looked_after_all_the_same() -> None:
    found = await calm_moments(4.5 * DUE_SECONDS, 1e9)
    assert found == pytest.approx([2 * DUE_SECONDS, 4 * DUE_SECONDS])
