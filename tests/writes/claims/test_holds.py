"""Who is at work on which object."""

from __future__ import annotations

import asyncio

from vsched.writes.claims.holds import HeldObjects

A, B = ("ResourceClaim", "ns/a"), ("ResourceClaim", "ns/b")


async def test_while_one_writes_no_other_begins() -> None:
    holds = HeldObjects()
    await holds.begin({A, B})
    second = asyncio.create_task(holds.begin({B}))
    await asyncio.sleep(0)
    assert not second.done()
    holds.written({A, B})
    await second
    assert holds.is_shared(B)
    assert not holds.is_shared(A)


async def test_a_release_takes_what_nobody_is_concerned_with() -> None:
    holds = HeldObjects()
    await holds.begin({A})
    assert not holds.try_begin(A)
    holds.written({A})
    assert not holds.try_begin(A), "the gang is not bound yet"
    holds.end({A})
    assert holds.try_begin(A)
    waiting = asyncio.create_task(holds.begin({A}))
    await asyncio.sleep(0)
    assert not waiting.done()
    holds.written({A})
    holds.end({A})
    await waiting


async def test_whoever_gives_up_waiting_holds_nothing() -> None:
    holds = HeldObjects()
    await holds.begin({A})
    waiting = asyncio.create_task(holds.begin({A, B}))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait((waiting,))
    assert holds.try_begin(B)
