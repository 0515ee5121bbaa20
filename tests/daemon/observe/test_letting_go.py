"""What is large is freed a piece a turn of the event loop, once nobody has the whole of it."""

from __future__ import annotations

import asyncio
import weakref

import pytest

from tests.support.plans import NOW, manifests, mirror
from vsched.daemon.observe.letting_go import let_go_slowly
from vsched.model.frozen import freeze, pieces_of
from vsched.model.plan import CycleReport


class Thing:
    """Something that can be seen to go."""


def held() -> tuple[Thing, list[weakref.ref[Thing]]]:
    whole, pieces = Thing(), [Thing() for _ in range(3)]
    let_go_slowly(whole, [*pieces])
    return whole, [weakref.ref(piece) for piece in pieces]


async def test_nothing_goes_before_the_whole_does() -> None:
    whole, pieces = held()
    await asyncio.sleep(0)
    assert all(piece() is not None for piece in pieces)
    assert whole is not None


async def test_pieces_go_one_in_a_turn_the_last_first() -> None:
    whole, pieces = held()
    del whole
    left = []
    for _ in range(5):
        await asyncio.sleep(0)
        left.append([piece() is not None for piece in pieces])
    assert [True, True, False] in left
    assert [True, False, False] in left
    assert left[-1] == [False, False, False]


async def test_the_whole_may_go_in_another_thread() -> None:
    wholes, pieces = [held()], list[weakref.ref[Thing]]()
    pieces += wholes[0][1]
    await asyncio.to_thread(wholes.clear)
    for _ in range(5):
        await asyncio.sleep(0)
    assert [piece() for piece in pieces] == [None, None, None]


def test_what_outlives_the_loop_goes_at_once(recwarn: pytest.WarningsRecorder) -> None:
    async def hold() -> tuple[Thing, list[weakref.ref[Thing]]]:
        return held()

    whole, pieces = asyncio.run(hold())
    del whole
    assert [piece() for piece in pieces] == [None, None, None]
    assert not recwarn.list


def test_the_pieces_of_a_copy_have_all_of_its_jobs() -> None:
    text = "node n1 cpu=400\n" + "\n".join(f"job ns/j{number} min=1 pods=1 cpu=1" for number in range(450))
    frozen = freeze(mirror(manifests(text)).snapshot(NOW))
    pieces = pieces_of(frozen, CycleReport())
    records = [len(piece) for piece in pieces if isinstance(piece, list)]
    assert records == [200, 200, 50]
    assert any(piece is frozen.jobs for piece in pieces)
