"""Edits of the policy file while it is in force. That the daemon uses what is in force is tested end to end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.support.file_edits import TURNS, rename_over, swap_link, write
from tests.support.running import REGISTRY
from tests.support.waiting import until
from vsched.clock import FakeClock
from vsched.daemon.policy.edits import LOOK_MS
from vsched.daemon.policy.reload import PolicyFile, PolicyReading, policy_of
from vsched.errors import BadPolicy

GOOD = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
"""
OTHER = GOOD.replace("enqueue, allocate, backfill", "enqueue, allocate")
BROKEN = GOOD.replace("name: gang", "name: gnag")


@asynccontextmanager
async def followed(path: Path, look_ms: int = LOOK_MS) -> AsyncIterator[tuple[PolicyFile, list[PolicyReading]]]:
    policy, told = PolicyFile(path, REGISTRY, FakeClock(), look_ms=look_ms), list[PolicyReading]()
    task = asyncio.create_task(policy.follow(told.append))
    try:
        for _ in range(TURNS):
            await asyncio.sleep(0)
        yield policy, told
    finally:
        task.cancel()
        await asyncio.wait((task,))


@pytest.mark.real_time
@pytest.mark.parametrize("edit", [write, rename_over, swap_link], ids=lambda edit: edit.__name__)
async def test_an_edit_is_in_force_without_being_looked_for(edit: Callable[[Path, str], None], tmp_path: Path) -> None:
    path = tmp_path / "scheduler.yaml"
    edit(path, GOOD)
    async with followed(path, look_ms=3_600_000) as (policy, told):
        edit(path, OTHER)
        await until(lambda: bool(told))
        assert (policy.settings.generation, policy.policy.actions) == (2, ("enqueue", "allocate"))
        assert [reading.ok for reading in told] == [True]
        assert "actions" in told[0].text


@pytest.mark.real_time
async def test_a_broken_edit_changes_nothing_and_is_told_once(tmp_path: Path) -> None:
    path = tmp_path / "scheduler.yaml"
    write(path, GOOD)
    async with followed(path) as (policy, told):
        before = policy.settings
        write(path, BROKEN)
        await until(lambda: told)
        assert policy.settings is before
        assert not told[0].ok
        assert "gnag" in told[0].problems[0]
        assert policy.to_dict()["lastReload"]["ok"] is False  # type: ignore[index]
        assert policy.read() is None

        write(path, GOOD)
        await until(lambda: len(told) == 2)
        assert told[1].ok
        assert policy.settings is before


@pytest.mark.real_time
async def test_a_file_that_vanishes_leaves_the_policy_in_force(tmp_path: Path) -> None:
    path = tmp_path / "scheduler.yaml"
    write(path, GOOD)
    async with followed(path) as (policy, told):
        path.unlink()
        await until(lambda: told)
        assert not told[0].ok
        assert policy.policy.actions == ("enqueue", "allocate", "backfill")


async def test_asking_reads_the_file_again_even_if_nothing_changed(tmp_path: Path) -> None:
    path = tmp_path / "scheduler.yaml"
    write(path, GOOD)
    async with followed(path) as (policy, told):
        policy.nudge()
        await until(lambda: told)
        assert told[0].text == "no change"
        assert policy.settings.generation == 1


def test_the_first_reading_must_succeed(tmp_path: Path) -> None:
    path = tmp_path / "scheduler.yaml"
    write(path, BROKEN)
    with pytest.raises(BadPolicy, match="gnag"):
        PolicyFile(path, REGISTRY, FakeClock())


async def test_without_a_file_the_built_in_policy_holds() -> None:
    policy = policy_of(None, REGISTRY, FakeClock())
    assert policy.read(asked=True) is None
    assert policy.settings.source == "built-in"


HUGE = {
    "brackets in brackets": "a: " + "[" * 200_000,
    "brackets that close": "a: [" + "[]," * 60_000 + "]",
    "lists in lists": "- " * 50_000 + "a",
    "aliases of aliases": "a0: &a0 [x]\n"
    + "\n".join(f"a{at}: &a{at} [{', '.join([f'*a{at - 1}'] * 9)}]" for at in range(1, 60)),
    "as many values as there may be": "a: [" + "b," * 15_000 + "]",
}


@pytest.mark.parametrize("text", HUGE.values(), ids=HUGE)
async def test_a_policy_of_the_largest_size_is_refused_and_the_one_in_force_stays(text: str, tmp_path: Path) -> None:
    path = tmp_path / "scheduler.yaml"
    write(path, GOOD)
    async with followed(path) as (policy, told):
        write(path, text)
        policy.nudge()
        await until(lambda: told)
        assert not told[0].ok
        assert policy.policy.actions == ("enqueue", "allocate", "backfill")
        assert all(len(problem) < 300 for problem in told[0].problems)
        write(path, OTHER)
        policy.nudge()
        await until(lambda: policy.policy.actions == ("enqueue", "allocate"))
