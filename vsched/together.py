"""Several things at once: all their results, or the first failure; and whoever waits can be cancelled at any moment.

``asyncio.gather`` loses a cancellation where one of its own fails in the same turn of the loop: whoever waits is told
of the failure and never hears that it was to end. A TaskGroup of Python 3.11 does the same.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from collections.abc import Awaitable, Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


async def together(*wanted: Awaitable[Result]) -> list[Result]:
    """The results, in the order of what was asked for; the first failure cancels the rest and is raised."""
    if len(wanted) < 2:
        return [await each for each in wanted]
    tasks = [asyncio.ensure_future(each) for each in wanted]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in tasks:
            if task in done:
                task.result()
        return [task.result() for task in tasks]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def first_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first plain error in a group of them."""
    found: BaseException = group
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return found


def run_fast(main: Coroutine[Any, Any, Result]) -> Result:
    """Run a program to its end on uvloop, or on asyncio's own loop on Windows, where there is no uvloop.

    SIGTERM cancels it, unless it handles that itself, so that it ends its own processes; then SystemExit is raised.
    """
    factory = None
    if sys.platform != "win32":
        import uvloop

        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(_ending(main))


async def _ending(main: Coroutine[Any, Any, Result]) -> Result:
    if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        return await main
    told = False
    task = asyncio.current_task()
    assert task is not None

    def end() -> None:
        nonlocal told
        told = True
        task.cancel()

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, end)
    try:
        return await main
    except asyncio.CancelledError:
        if told:
            raise SystemExit(128 + signal.SIGTERM) from None
        raise
    finally:
        loop.remove_signal_handler(signal.SIGTERM)
