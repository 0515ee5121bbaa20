"""The daemons of a soak: kept running, killed on purpose, measured from outside, and their logs checked."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

from vsched.daemon.words import log as log_words
from vsched.errors import VschedError
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.lab.children import Child, child, free_port
from vsched.lab.soak import words
from vsched.lab.soak.outcomes import Violations
from vsched.together import together

AGAIN_SECONDS = 0.2
"""Until a daemon that has ended is restarted, as a supervisor would."""
POLL_SECONDS = 0.05
LONGEST_LINE = 300
MOST_WARNINGS = 200
LOST = log_words.LEASE_LOST
"""The last warning of a daemon that ends because it may have lost the Lease."""


class SoakDaemon:
    """A daemon that is restarted whenever it ends."""

    def __init__(
        self, name: str, arguments: tuple[str, ...], folder: Path, violations: Violations, warnings: Counter[str]
    ) -> None:
        self.name = name
        self.health, self.listening = (Connection(f"http://127.0.0.1:{free_port()}") for _ in range(2))
        self._arguments = (
            *arguments,
            *("--listen-address", self.listening.server.removeprefix("http://")),
            *("--healthz-address", self.health.server.removeprefix("http://")),
        )
        self._folder = folder
        self._violations = violations
        self._warnings = warnings
        self._asked_to_end: set[int] = set()
        self._closed = False
        self.running: Child | None = None
        self.starts = 0
        self.gave_up = 0
        """How often it ended because it may have lost the Lease."""

    async def run(self) -> None:
        """Keep it running until it is closed, and check its log whenever it ends."""
        while not self._closed:
            self.starts += 1
            log = self._folder / f"{self.name}-{self.starts}.log"
            try:
                async with child(f"scheduler {self.name}", self._arguments, log) as started:
                    self.running = started
                    await started.process.wait()
                    self.running = None
            finally:
                self.running = None
                self._read(log)
            self._ended(started, log)
            await asyncio.sleep(AGAIN_SECONDS)

    async def close(self) -> None:
        """End it in order, and do not restart it."""
        self._closed = True
        await self.end(signal.SIGTERM)

    async def end(self, number: signal.Signals) -> None:
        """Send it a signal, and wait for its end."""
        running = self.running
        if running is None:
            return
        self._asked_to_end.add(running.process.pid)
        with suppress(ProcessLookupError):
            running.process.send_signal(number)
        await running.process.wait()

    def _ended(self, ended: Child, log: Path) -> None:
        if ended.process.pid in self._asked_to_end:
            self._asked_to_end.discard(ended.process.pid)
        elif any(found.get("event") == LOST for found in _records(log)):
            self.gave_up += 1
        else:
            self._violations.add("daemon died", str(ended.death()))
            return  # its log stays
        log.unlink(missing_ok=True)

    def _read(self, log: Path) -> None:
        """Note errors and violated rules in its log as violations, and count its warnings."""
        for found in _records(log):
            event = str(found.get("event", ""))
            if rule := rule_violated(found):
                said = f"{self.name}, session {found.get('session')}: {found.get('says')}"
                self._violations.add(words.rule_violated(rule), said[:LONGEST_LINE])
            elif complaint := complaint_of(found):
                self._violations.add(words.ERROR_IN_LOG, f"{self.name}: {complaint}"[:LONGEST_LINE])
            elif found.get("level") == "warning" and (event in self._warnings or len(self._warnings) < MOST_WARNINGS):
                self._warnings[event] += 1

    # -- measured from outside

    async def role(self) -> str:
        """``leader``, ``standby`` or the like; empty where it does not answer."""
        return str((await self._says()).get("role", ""))

    async def shards(self) -> Sequence[int]:
        """The shards that it decides for; none where the work is not divided, or it does not answer."""
        found: Sequence[int] = (await self._says()).get("shards", {}).get("held", ())
        return found

    async def _says(self) -> Mapping[str, Any]:
        try:
            async with ApiClient(self.health) as client:
                answer = await client.request("GET", "/readyz", attempts=1, timeout_seconds=2.0)
            found: Mapping[str, Any] = orjson.loads(answer.body)
        except (VschedError, orjson.JSONDecodeError):
            return {}
        return found

    async def figures(self) -> Mapping[str, float]:
        """Its memory, open files, tasks, series and checked sessions; empty where it does not answer."""
        running = self.running
        if running is None:
            return {}
        try:
            async with ApiClient(self.listening) as client:
                text = (await client.request("GET", "/metrics", attempts=1, timeout_seconds=5.0)).body.decode()
            found = _held(running.process.pid)
        except (VschedError, OSError):
            return {}
        lines = [line for line in text.splitlines() if line and not line.startswith("#")]
        tasks, checked = (
            sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(name))
            for name in ("vsched_loop_tasks ", "vsched_verify_sessions_total{")
        )
        return {**found, "tasks": tasks, "series": float(len(lines)), "checked": checked}


def _held(process: int) -> dict[str, float]:
    """The memory and the number of open files of a process."""
    pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
    files = len(list(Path(f"/proc/{process}/fd").iterdir()))
    return {"rss_mb": pages * os.sysconf("SC_PAGE_SIZE") / 2**20, "fds": float(files)}


def complaint_of(record: Mapping[str, Any]) -> str:
    """The complaint that a line of a log is; empty for other lines."""
    event, level = str(record.get("event", "")), record.get("level")
    if "exception" in record or level in ("error", "critical"):
        return " ".join([event, *str(record.get("exception", "")).strip().splitlines()[-1:]]).strip()
    # A line without a level comes from Python itself, or is the command's last message.
    return event if level is None and not event.startswith("vsched: ") else ""


def rule_violated(record: Mapping[str, Any]) -> str:
    """The rule that a session violates, by a line of a log; empty for other lines."""
    return str(record.get("rule", "")) if record.get("event") == log_words.VIOLATED else ""


def _records(log: Path) -> Iterator[Mapping[str, Any]]:
    """The complete lines of a log; a line that is no JSON counts as an event without a level."""
    if not log.exists():
        return
    with log.open("rb") as file:
        for line in file:
            if not line.endswith(b"\n"):
                return
            try:
                found = orjson.loads(line)
            except orjson.JSONDecodeError:
                found = {"event": line.decode("utf-8", "replace").strip()}
            if isinstance(found, dict) and found.get("event"):
                yield found


async def leader_of(daemons: list[SoakDaemon]) -> SoakDaemon | None:
    """The first daemon that leads, by what the daemons say."""
    return next(iter(await leaders_of(daemons)), None)


async def leaders_of(daemons: list[SoakDaemon]) -> list[SoakDaemon]:
    """The daemons that lead."""
    roles = await together(*(daemon.role() for daemon in daemons))
    return [daemon for daemon, role in zip(daemons, roles, strict=True) if role == "leader"]


async def until(true: Callable[[], bool], seconds: float) -> bool:
    """Wait until ``true`` holds; False where the time is up first."""
    deadline = time.perf_counter() + seconds
    while not true():
        if time.perf_counter() > deadline:
            return False
        await asyncio.sleep(POLL_SECONDS)
    return True
