"""What is told to end does end, also when what it waited for comes at the same moment.

``asyncio.wait_for`` of Python 3.11 forgets a cancellation that comes together with the answer, and a daemon waits for
ever for a task that never heard of it; ``asyncio.timeout`` does not.
"""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

import vsched
from vsched.cluster.lane import Lane, LaneSettings
from vsched.daemon.triggers import Trigger

PACKAGE = Path(vsched.__file__).parent
Made = tuple[Coroutine[Any, Any, Any], Callable[[], None]]


def test_nobody_uses_what_forgets_cancellations() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr == "wait_for"
    ]
    assert found == [], "asyncio.timeout() instead"


def trigger() -> Made:
    made = Trigger(60.0, 0.0)

    async def turns() -> None:
        while True:
            await made.next()

    return turns(), made.pull


def lane() -> Made:
    async def write(key: str, value: int) -> None:
        await asyncio.sleep(0)

    made: Lane[str, int] = Lane(LaneSettings(workers=2, per_second=1000.0, burst=1000.0), write)
    made.put("later", 1, wait_seconds=60.0)
    return made.run(), lambda: made.put("now", 1) and None


@pytest.mark.parametrize("make", [pytest.param(trigger, id="sessions"), pytest.param(lane, id="lanes-of-writes")])
@pytest.mark.parametrize("turns", range(4))
async def test_a_task_that_is_woken_and_cancelled_at_once_ends(make: Callable[[], Made], turns: int) -> None:
    runs, wake = make()
    task = asyncio.create_task(runs)
    await asyncio.sleep(0.01)
    wake()
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait((task,), timeout=5.0)
    assert task.cancelled()
