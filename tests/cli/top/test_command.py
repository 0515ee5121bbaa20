"""``vsched top`` as a person uses it: at a terminal with keys, in a file, and for programs."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial

import yaml
from click.testing import CliRunner, Result

from tests.support.running import gang, node, scheduling
from tests.support.waiting import until
from vsched.cli import cli
from vsched.client import words as client_words
from vsched.errors import VschedError
from vsched.sim.cluster import Cluster

SECONDS = 60.0
"""Two cores are shared by whoever tests."""


@asynccontextmanager
async def watched() -> AsyncIterator[str]:
    """A daemon with a job that runs and one that waits; gives its address."""
    manifests = [*gang("runs", 2), *gang("waits", 3)]
    async with (
        Cluster([node("n1")], manifests=manifests) as cluster,
        scheduling(cluster.url, listen_address="127.0.0.1:0") as daemon,
    ):
        await until(lambda: daemon.ports and daemon.health.ready().ok, SECONDS)
        await until(lambda: len(daemon.telemetry.findings.jobs) == 2, SECONDS)
        yield f"127.0.0.1:{daemon.ports['--listen-address']}"


async def ran(*arguments: str) -> Result:
    return await asyncio.to_thread(CliRunner().invoke, cli, ["top", *arguments])


async def test_one_picture_for_files_and_for_programs() -> None:
    async with watched() as daemon:
        shown = await ran("--daemon", daemon)
        assert shown.exit_code == 0, shown.exception
        assert "leader  live" in shown.stdout
        assert "default/waits" in shown.stdout
        document = json.loads((await ran("--once", "-o", "json", "--daemon", daemon)).stdout)
        assert {row["job"]: row["minMember"] for row in document["jobs"]} == {"default/runs": 2, "default/waits": 3}
        assert yaml.safe_load((await ran("--once", "-o", "yaml", "--daemon", daemon)).stdout)["role"] == "leader"


async def apart(*arguments: str) -> tuple[int | None, str, str]:
    """Exit code and both outputs of a process of its own, without a terminal."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "vsched", "top", *arguments, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe
    )
    async with asyncio.timeout(SECONDS):
        document, complained = await process.communicate()
    return process.returncode, document.decode(), complained.decode()


async def test_a_line_for_each_picture_of_some_time() -> None:
    async with watched() as daemon:
        words, data = await asyncio.gather(
            *(apart("--seconds", "3", "-o", output, "--daemon", daemon) for output in ("text", "json"))
        )
    assert (words[0], words[1].partition(", ")[0]) == (0, "leader: 1 node")
    assert (data[0], json.loads(data[1].splitlines()[0])["role"]) == (0, "leader")


def test_nobody_to_ask_and_too_much_asked() -> None:
    unheard = CliRunner().invoke(cli, ["top", "--seconds", "5", "--daemon", "127.0.0.1:1"])
    assert (unheard.exit_code, unheard.stdout) == (1, "")
    assert str(unheard.exception).startswith(f"http://127.0.0.1:1: {client_words.NOBODY_LISTENS} (")
    assert isinstance(unheard.exception, VschedError)
    assert CliRunner().invoke(cli, ["top", "--once", "--seconds", "5"]).exit_code == 2


# -- at a terminal


class Terminal:
    """A program at a terminal of its own."""

    def __init__(self, process: subprocess.Popen[bytes], descriptor: int, before: list[object]) -> None:
        """``before``: the terminal's settings before the program began."""
        self.process = process
        self.before = before
        self._descriptor = descriptor
        self._seen = b""

    def press(self, keys: bytes) -> None:
        """Press keys; what was shown before no longer counts."""
        self._seen = b""
        os.write(self._descriptor, keys)

    def resize(self, columns: int, lines: int) -> None:
        self._seen = b""
        fcntl.ioctl(self._descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def shows(self, *texts: str) -> str:
        """Wait until all of these are on the screen."""
        return self._until(lambda document: all(text in document for text in texts), texts)

    def ended(self) -> tuple[int, bytes]:
        """The exit code, and all that was written since the last key."""
        deadline = time.monotonic() + SECONDS
        while self.process.poll() is None and time.monotonic() < deadline:
            self._read()
        self._read()
        assert self.process.returncode is not None
        return self.process.returncode, self._seen

    @property
    def settings(self) -> list[object]:
        return termios.tcgetattr(self._descriptor)

    def _until(self, holds: Callable[[str], bool], what: object) -> str:
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            self._read()
            document = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self._seen.decode("utf-8", "replace"))
            if holds(document):
                return document
        raise AssertionError(f"never shown: {what!r} in {self._seen[-3000:]!r}")

    def _read(self) -> None:
        if select.select([self._descriptor], [], [], 0.05)[0]:
            try:
                self._seen += os.read(self._descriptor, 1 << 16)
            except OSError:  # the other side has gone
                time.sleep(0.05)


@contextmanager
def terminal(*arguments: str, columns: int = 120, lines: int = 30, **environment: str) -> Iterator[Terminal]:
    """``vsched`` at a new terminal, which is its own."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    before: list[object] = termios.tcgetattr(ours)
    inherited = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    process = subprocess.Popen(
        [sys.executable, "-c", TAKE_TERMINAL, *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        env={**inherited, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **environment},
    )
    try:
        yield Terminal(process, ours, before)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
        os.close(theirs)


TAKE_TERMINAL = """
import fcntl, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
sys.argv[0] = "vsched"
from vsched.cli import main
main()
"""


async def looked(*looks: Callable[[str], None]) -> None:
    """Several at one daemon, each at a terminal of its own."""
    async with watched() as daemon:
        await asyncio.gather(*(asyncio.to_thread(look, daemon) for look in looks))


async def test_keys_a_resize_and_the_terminal_given_back() -> None:
    def look(daemon: str) -> None:
        with terminal("top", "--daemon", daemon) as at:
            at.shows("leader", "[all]", "default/waits", "█")
            assert at.settings != at.before
            at.press(b"\t")
            at.shows("[queues]", "default  Open")
            at.press(b"\x1b[Z\x1b[Z")
            at.shows("[sessions]", "hand-over")
            at.press(b"\x1b[D")
            at.shows("[nodes]", "n1")
            at.resize(60, 20)
            at.shows("[nodes]", "n1")
            at.press(b"\x1a")  # Ctrl-Z: does nothing
            at.press(b"q")
            code, written = at.ended()
            assert code == 0
            assert written.endswith(b"\x1b[?25h\x1b[?1049l"), "the cursor and the former screen are back"
            assert at.settings == at.before

    await looked(look)


async def test_the_terminal_is_given_back_when_it_is_stopped() -> None:
    def look(daemon: str, number: signal.Signals) -> None:
        with terminal("top", "--daemon", daemon) as at:
            at.shows("leader")
            at.process.send_signal(number)
            code, written = at.ended()
            assert code == 0, number
            assert b"\x1b[?1049l" in written, number
            assert at.settings == at.before, number

    await looked(*(partial(look, number=number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)))


async def test_terminals_of_few_letters_without_colours_and_dumb_ones() -> None:
    def plain(daemon: str) -> None:
        with terminal("top", "--daemon", daemon, PYTHONUTF8="0", PYTHONIOENCODING="ascii", NO_COLOR="1") as at:
            at.shows("[all]", "default/waits")
            assert at._seen.isascii()
            assert not re.search(rb"\x1b\[[0-9;]*3[0-7]m", at._seen)
            at.press(b"q")
            assert at.ended()[0] == 0

    def dumb(daemon: str) -> None:
        with terminal("top", "--daemon", daemon, TERM="dumb") as at:
            code, written = at.ended()
            assert code == 0
            assert b"leader" in written
            assert b"\x1b" not in written

    await looked(plain, dumb)


async def test_where_nobody_answers_the_terminal_is_given_back_before_it_is_said() -> None:
    def look() -> None:
        with terminal("top", "--daemon", "127.0.0.1:1") as at:
            code, written = at.ended()
            assert code == 1
            screen, _, line = written.rpartition(b"\x1b[?1049l")
            assert screen
            assert b"vsched: http://127.0.0.1:1: nobody listens there" in b" ".join(line.split())
            assert at.settings == at.before

    await asyncio.to_thread(look)
