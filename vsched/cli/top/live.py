"""The loop of ``vsched top``: reads overviews and keys, and draws one screen; or prints lines for programs."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import aclosing, contextmanager, suppress
from dataclasses import replace

import click
from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

from vsched.cli.show.drawing import look_for
from vsched.cli.show.output import Escaped, console_for, say
from vsched.cli.top.document import as_document
from vsched.cli.top.keys import keys_pressed
from vsched.cli.top.tables import TABS, Screen, rows_of
from vsched.cli.top.view import as_line, as_screen
from vsched.client.overview import View, views
from vsched.client.target import DaemonTarget, address_of
from vsched.clock import SystemClock
from vsched.printable import one_printable_line, printable_json
from vsched.together import first_error
from vsched.web.overview.document import Overview

FRAME_SECONDS = 1.0
"""The screen is redrawn at least so often, because ages grow."""
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
HEAD_LINES = 9
"""Lines of a screen that are not scrolled."""


# -- for people at a terminal


def can_redraw(no_color: bool) -> bool:
    """Whether standard output is a terminal that can redraw its screen."""
    console = console_for(no_color, wide=False)
    return console.is_terminal and not console.is_dumb_terminal


def show_live(target: DaemonTarget, no_color: bool, seconds: float | None) -> None:
    """Show the overview until the user quits or the time is over; raises one clear line where none can be had."""
    console = console_for(no_color, wide=False)
    try:
        asyncio.run(LiveScreen(target, console).run(seconds))
    except BaseExceptionGroup as group:
        raise first_error(group) from group


class LiveScreen:
    """The state of the screen: the overview, the tab, and how far it is scrolled."""

    def __init__(self, target: DaemonTarget, console: Console) -> None:
        self._target = target
        self._source = address_of(target)
        self._console = console
        self._view: View | None = None
        self._tab, self._top = TABS[0], 0
        self._changed = asyncio.Event()
        self._over = asyncio.Event()

    async def run(self, seconds: float | None) -> None:
        """Run until quit, stopped or out of time; the terminal is restored in any case."""
        with stopping(self._over), redrawn(self._changed), keys_pressed() as keys:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._take()), group.create_task(self._draw(keys is not None))]
                if keys is not None:
                    tasks.append(group.create_task(self._listen(keys)))
                with suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await self._over.wait()
                for task in tasks:
                    task.cancel()

    async def _take(self) -> None:
        async with aclosing(views(self._target)) as coming:
            async for self._view in coming:
                self._changed.set()

    async def _listen(self, keys: asyncio.Queue[str]) -> None:
        while True:
            key = await keys.get()
            if key == "quit":
                self._over.set()
            self._press(key)
            self._changed.set()

    def _press(self, key: str) -> None:
        page = max(1, self._console.height - HEAD_LINES)
        steps = {"up": -1, "down": 1, "page up": -page, "page down": page}
        if key in ("tab", "back"):
            at = TABS.index(self._tab) + (1 if key == "tab" else -1)
            self._tab, self._top = TABS[at % len(TABS)], 0
        elif key in steps:
            self._top += steps[key]
        elif key in ("home", "end"):
            self._top = 0 if key == "home" else self._rows()
        # Do not scroll beyond the end: the user would have to scroll back.
        self._top = max(0, min(self._top, self._rows() - page))

    def _rows(self) -> int:
        overview = self._view.overview if self._view is not None else None
        return 0 if overview is None else rows_of(overview, self._screen())

    async def _draw(self, keys: bool) -> None:
        with Live(console=self._console, screen=True, auto_refresh=False) as live:
            while True:
                self._changed.clear()
                live.update(Escaped(self._drawn(keys)), refresh=True)
                with suppress(TimeoutError):
                    async with asyncio.timeout(FRAME_SECONDS):
                        await self._changed.wait()

    def _drawn(self, keys: bool) -> RenderableType:
        view = self._view
        if view is None or view.overview is None:
            return Text(f"asking {self._source}", style="dim")
        return as_screen(view.overview, replace(self._screen(), problem=view.problem, keys=keys))

    def _screen(self) -> Screen:
        screen = screen_for(self._console, self._source, self._console.height)
        return replace(screen, tab=self._tab, top=self._top)


def screen_for(console: Console, source: str, height: int | None) -> Screen:
    """The size and the time for a screen."""
    look = look_for(console.width, wide=False, unicode=console.encoding.startswith("utf"))
    return Screen(console.width, height, look, SystemClock().now(), source)


@contextmanager
def stopping(over: asyncio.Event) -> Iterator[None]:
    """Signals that end a program set the event instead, so that the terminal is restored."""
    loop = asyncio.get_running_loop()
    for number in STOPPING:
        loop.add_signal_handler(number, over.set)
    try:
        yield
    finally:
        for number in STOPPING:
            loop.remove_signal_handler(number)


@contextmanager
def redrawn(changed: asyncio.Event) -> Iterator[None]:
    """Redraw at once when the terminal's size changes."""
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGWINCH, changed.set)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGWINCH)


# -- for files and programs


def print_overview(target: DaemonTarget, overview: Overview, no_color: bool) -> None:
    """Print one overview with all its rows."""
    console = console_for(no_color, wide=False)
    console.print(as_screen(overview, screen_for(console, address_of(target), None)))


def follow(target: DaemonTarget, seconds: float, output: str) -> None:
    """Print a line or a document for each overview within some seconds; raises one clear line where none can be had."""

    async def run() -> None:
        over = asyncio.Event()
        with stopping(over):
            async with asyncio.TaskGroup() as group:
                printing = group.create_task(print_all())
                with suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await over.wait()
                printing.cancel()

    async def print_all() -> None:
        async with aclosing(views(target)) as coming:
            async for view in coming:
                if view.problem:
                    say(f"vsched: {view.problem}", err=True)
                elif view.overview is not None:
                    click.echo(_written(view.overview, output), nl=output != "yaml")

    try:
        asyncio.run(run())
    except BaseExceptionGroup as group:
        raise first_error(group) from group


def _written(overview: Overview, output: str) -> str:
    import orjson
    import yaml

    match output:
        case "json":
            return printable_json(orjson.dumps(as_document(overview)).decode())
        case "yaml":
            return yaml.safe_dump(as_document(overview), sort_keys=False, explicit_start=True)
    return one_printable_line(as_line(overview))
