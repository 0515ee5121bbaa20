"""Whoever looks gets the next session, frozen; sessions go on for everybody else."""

from __future__ import annotations

import asyncio
import re

import pytest

from tests.daemon.looping import POLICY, looping
from vsched.daemon.observe.snapshots import SnapshotService
from vsched.daemon.words import states as words
from vsched.errors import Unavailable
from vsched.framework.policy import Policy
from vsched.framework.trace import Trace
from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot


def decide(snapshot: Snapshot, policy: Policy, trace: Trace) -> CycleReport:
    return CycleReport()


async def test_asking_starts_a_session_and_gives_what_it_decided_by_which_policy() -> None:
    async with looping(decide) as running:
        frozen = await running.snapshots.look()

        assert frozen.policy is POLICY
        assert frozen.report == CycleReport()
        assert frozen.snapshot.jobs == {}


async def test_those_who_ask_at_once_share_one_session() -> None:
    async with looping(decide) as running:
        sights = await asyncio.gather(*(running.snapshots.look() for _ in range(5)))

        assert len({id(frozen) for frozen in sights}) == 1


async def test_a_session_that_began_before_the_question_does_not_answer_it() -> None:
    async with looping(decide) as running:
        first = await running.snapshots.look()
        second = await running.snapshots.look()

        assert second.number > first.number


async def test_a_session_that_fails_leaves_the_question_to_the_next_one() -> None:
    left = [RuntimeError("once")]

    def fails_once(snapshot: Snapshot, policy: Policy, trace: Trace) -> CycleReport:
        if left:
            raise left.pop()
        return CycleReport()

    async with looping(fails_once) as running:
        frozen = await running.snapshots.look()

        assert not left
        assert frozen.number == 2


async def test_where_nothing_decides_it_is_said_after_a_while() -> None:
    service = SnapshotService(lambda: None, patience_seconds=0.05)

    with pytest.raises(Unavailable, match=r"no session within 0.05 s \(a session is slow"):
        await service.look()
    assert service.begin() == []
    service.fail([])
    with pytest.raises(Unavailable, match=re.escape(words.SESSIONS_FAIL)):
        await service.look()


async def test_where_others_decide_it_is_said_at_once() -> None:
    role = "standby"
    with pytest.raises(Unavailable, match=r"^this daemon is standby; ask the leader"):
        async with asyncio.timeout(60):
            await SnapshotService(lambda: None, lambda: role).look()
    role = "starting"  # that may be over any moment
    service = SnapshotService(lambda: None, lambda: role, patience_seconds=0.01)
    with pytest.raises(Unavailable, match="is starting: its log"):
        await service.look()
