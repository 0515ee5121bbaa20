"""Keys of a terminal, read one by one; the terminal's settings are restored in any case."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

PENDING = 64
"""Keys in the queue at most; more are dropped."""

NAMES = {
    b"\t": "tab", b"\x1b[Z": "back", b"q": "quit", b"Q": "quit", b"\x03": "quit", b"\x04": "quit",
    b"\x1b[A": "up", b"\x1bOA": "up", b"k": "up", b"\x1b[B": "down", b"\x1bOB": "down", b"j": "down",
    b"\x1b[C": "tab", b"\x1bOC": "tab", b"\x1b[D": "back", b"\x1bOD": "back",
    b"\x1b[5~": "page up", b"\x1b[6~": "page down", b" ": "page down",
    b"\x1b[H": "home", b"\x1bOH": "home", b"\x1b[1~": "home", b"g": "home",
    b"\x1b[F": "end", b"\x1bOF": "end", b"\x1b[4~": "end", b"G": "end",
}  # fmt: skip
"""Names of keys, by the bytes that terminals send for them."""

_KEY = re.compile(rb"\x1b\[[0-9;]*[A-Za-z~]|\x1bO[A-Za-z]|[^\x1b]", re.DOTALL)
_TORN = re.compile(rb"\x1b(\[[0-9;]*|O)?\Z")
"""The beginning of a key whose end has not arrived."""
_TORN_MOST = 16


def read_keys(data: bytes) -> tuple[list[str], bytes]:
    """The known keys in the bytes, and the beginning of a key whose end has not arrived."""
    torn = _TORN.search(data)
    rest = torn[0] if torn is not None and len(torn[0]) <= _TORN_MOST else b""
    whole = data[: len(data) - len(rest)]
    return [NAMES[key] for key in _KEY.findall(whole) if key in NAMES], rest


@contextmanager
def keys_pressed() -> Iterator[asyncio.Queue[str] | None]:
    """A queue of keys pressed, where standard input is a terminal that we may set; else None.

    While the block runs, the terminal does not echo and does not wait for a line; then its settings are restored.
    """
    before = _settings()
    if before is None:
        yield None
        return
    import termios
    import tty

    descriptor, loop = sys.stdin.fileno(), asyncio.get_running_loop()
    keys: asyncio.Queue[str] = asyncio.Queue(PENDING)
    rest = b""

    def take() -> None:
        nonlocal rest
        data = os.read(descriptor, 1024)
        if not data:  # end of file: the terminal is gone
            loop.remove_reader(descriptor)
        pressed, rest = read_keys(rest + data)
        for key in pressed or ([] if data else ["quit"]):
            if not keys.full():
                keys.put_nowait(key)

    try:
        tty.setcbreak(descriptor, termios.TCSADRAIN)
        _without_suspending(descriptor)
        loop.add_reader(descriptor, take)
        yield keys
    finally:
        loop.remove_reader(descriptor)
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _settings() -> list[Any] | None:
    """The terminal's settings; None without a terminal, and in the background, where we may not set it."""
    try:
        import termios

        descriptor = sys.stdin.fileno()
        if not os.isatty(descriptor) or os.tcgetpgrp(descriptor) != os.getpgrp():
            return None
        return termios.tcgetattr(descriptor)
    except (ImportError, OSError, ValueError):
        return None
    except termios.error:
        return None


def _without_suspending(descriptor: int) -> None:
    """Disable Ctrl-Z: a suspended program would leave its screen and settings to the shell."""
    import termios

    settings = termios.tcgetattr(descriptor)
    settings[6][termios.VSUSP] = b"\0"
    termios.tcsetattr(descriptor, termios.TCSADRAIN, settings)
