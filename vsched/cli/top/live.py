"""The loop of ``vsched top``: pictures in, keys in, one screen out; and the same as lines for programs."""

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

from vsched.cli.ask.daemon import Target, address_of
from vsched.cli.ask.overview import View, views
from vsched.cli.show.drawing import look_for
from vsched.cli.show.escaping import Escaped
from vsched.cli.show.output import console_for, say
from vsched.cli.top.document import as_document
from vsched.cli.top.keys import keys_pressed
from vsched.cli.top.tables import TABS, Screen, rows_of
from vsched.cli.top.view import as_line, as_picture
from vsched.clock import SystemClock
from vsched.printable import one_printable_line, printable_json
from vsched.together import first_error
from vsched.web.overview.document import Overview

FRAME_SECONDS = 1.0
"""Ages grow though nothing comes."""
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
HEAD_LINES = 9
"""Of a screen that no table can have, when a page is scrolled."""


# -- for people at a terminal


def watchable(no_color: bool) -> bool:
    """Whether there is a terminal on which a picture can change."""
    console = console_for(no_color, wide=False)
    return console.is_terminal and not console.is_dumb_terminal


def look_on(target: Target, no_color: bool, seconds: float | None) -> None:
    """Show the picture until somebody quits, or the time is over; raises one clear line where nothing can be shown."""
    console = console_for(no_color, wide=False)
    try:
        asyncio.run(Show(target, console).run(seconds))
    except BaseExceptionGroup as group:
        raise first_error(group) from group


class Show:
    """One screen and what is looked at on it."""

    def __init__(self, target: Target, console: Console) -> None:
        self._target = target
        self._source = address_of(target)
        self._console = console
        self._view: View | None = None
        self._tab, self._top = TABS[0], 0
        self._changed = asyncio.Event()
        self._over = asyncio.Event()

    async def run(self, seconds: float | None) -> None:
        """Until quit, stopped, or out of time; the terminal is as before in any case."""
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
        # As far as there is something to see: what was scrolled beyond it would have to be scrolled back.
        self._top = max(0, min(self._top, self._rows() - page))

    def _rows(self) -> int:
        overview = self._view.overview if self._view is not None else None
        return 0 if overview is None else rows_of(overview, self._screen())

    async def _draw(self, keys: bool) -> None:
        with Live(console=self._console, screen=True, auto_refresh=False) as live:
            while True:
                self._changed.clear()
                live.update(Escaped(self._picture(keys)), refresh=True)
                with suppress(TimeoutError):
                    async with asyncio.timeout(FRAME_SECONDS):
                        await self._changed.wait()

    def _picture(self, keys: bool) -> RenderableType:
        view = self._view
        if view is None or view.overview is None:
            return Text(f"asking {self._source}", style="dim")
        return as_picture(view.overview, replace(self._screen(), problem=view.problem, keys=keys))

    def _screen(self) -> Screen:
        screen = screen_for(self._console, self._source, self._console.height)
        return replace(screen, tab=self._tab, top=self._top)


def screen_for(console: Console, source: str, height: int | None) -> Screen:
    """What there is room for on a terminal."""
    look = look_for(console.width, wide=False, unicode=console.encoding.startswith("utf"))
    return Screen(console.width, height, look, SystemClock().now(), source)


@contextmanager
def stopping(over: asyncio.Event) -> Iterator[None]:
    """Signals that end a program end the show instead, so that the terminal is left as it was."""
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
    """A terminal of another size is drawn on at once."""
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGWINCH, changed.set)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGWINCH)


# -- for files and programs


def print_picture(target: Target, overview: Overview, no_color: bool) -> None:
    """One picture with all that there is."""
    console = console_for(no_color, wide=False)
    console.print(as_picture(overview, screen_for(console, address_of(target), None)))


def follow(target: Target, seconds: float, output: str) -> None:
    """A line, or a document, for each picture of some seconds; raises one clear line where there is none."""

    async def run() -> None:
        over = asyncio.Event()
        with stopping(over):
            async with asyncio.TaskGroup() as group:
                telling = group.create_task(tell())
                with suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await over.wait()
                telling.cancel()

    async def tell() -> None:
        async with aclosing(views(target)) as coming:
            async for view in coming:
                if view.problem:
                    say(f"vsched: {view.problem}", err=True)
                elif view.overview is not None:
                    click.echo(_told(view.overview, output), nl=output != "yaml")

    try:
        asyncio.run(run())
    except BaseExceptionGroup as group:
        raise first_error(group) from group


def _told(overview: Overview, output: str) -> str:
    import orjson
    import yaml

    match output:
        case "json":
            return printable_json(orjson.dumps(as_document(overview)).decode())
        case "yaml":
            return yaml.safe_dump(as_document(overview), sort_keys=False, explicit_start=True)
    return one_printable_line(as_line(overview))
