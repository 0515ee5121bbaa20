"""What is told to end does end, also when what it waited for comes at the same moment.

``asyncio.wait_for`` of Python 3.11 forgets a cancellation that comes together with the answer, and so does
``asyncio.gather`` where it comes together with a failure: a daemon waits for ever for a task that never heard of it.
``asyncio.timeout`` and ``vsched.together`` do not.
"""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import vsched
from vsched.daemon.triggers import Trigger
from vsched.together import together
from vsched.writes.workqueue import Workqueue, WorkqueueSettings

PACKAGE = Path(vsched.__file__).parent
Made = tuple[Coroutine[Any, Any, Any], Callable[[], None]]


def forgets(node: ast.AST) -> bool:
    """Whether it is ``wait_for``, or a ``gather`` that passes failures on."""
    if isinstance(node, ast.Attribute):
        return node.attr == "wait_for"
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "gather":
        return False
    return not any(given.arg == "return_exceptions" for given in node.keywords)


def test_nobody_uses_what_forgets_cancellations() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if any(name in (text := path.read_text(encoding="utf-8")) for name in ("wait_for", "gather"))
        for node in ast.walk(ast.parse(text))
        if forgets(node)
    ]
    assert found == [], "asyncio.timeout() or vsched.together instead"


async def result(number: int, turns: int = 0) -> int:
    for _ in range(turns):
        await asyncio.sleep(0)
    return number


async def test_several_at_once_give_their_results_in_order() -> None:
    assert await together(result(1, 3), result(2)) == [1, 2]
    assert await together() == []


async def test_the_first_failure_cancels_the_rest() -> None:
    rest = asyncio.ensure_future(asyncio.Event().wait())

    async def fail() -> bool:
        raise ValueError("first")

    with pytest.raises(ValueError, match="first"):
        await together(rest, fail())
    assert rest.cancelled()


@pytest.mark.parametrize("turns", range(6))
async def test_who_waits_for_several_hears_of_its_cancellation_though_one_fails(turns: int) -> None:
    async def fail() -> None:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        raise ValueError("at the same time")

    async def rounds() -> None:
        while True:
            with suppress(ValueError):
                await together(fail(), asyncio.Event().wait())

    task = asyncio.create_task(rounds())
    for _ in range(20 + turns):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait((task,), timeout=60.0)
    assert task.cancelled()


def trigger() -> Made:
    made = Trigger(60.0, 0.0)

    async def turns() -> None:
        while True:
            await made.next()

    return turns(), made.pull


def workqueue() -> Made:
    async def write(key: str, value: int) -> None:
        await asyncio.sleep(0)

    made: Workqueue[str, int] = Workqueue(WorkqueueSettings(workers=2, per_second=1000.0, burst=1000.0), write)
    made.put("later", 1, wait_seconds=60.0)
    return made.run(), lambda: made.put("now", 1) and None


@pytest.mark.parametrize("make", [pytest.param(trigger, id="sessions"), pytest.param(workqueue, id="lanes-of-writes")])
@pytest.mark.parametrize("turns", range(4))
async def test_a_task_that_is_woken_and_cancelled_at_once_ends(make: Callable[[], Made], turns: int) -> None:
    runs, wake = make()
    task = asyncio.create_task(runs)
    await asyncio.sleep(0.01)
    wake()
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait((task,), timeout=60.0)
    assert task.cancelled()
