"""Where a report comes from: a running shadow, or the log of one."""

from __future__ import annotations

from pathlib import Path

from vsched.cli.ask.daemon import ask_daemon, decoded
from vsched.cli.ask.target import DaemonTarget
from vsched.cli.shadow import words
from vsched.clock import now
from vsched.daemon.shadow.segments import logged
from vsched.errors import BadInput
from vsched.kube.client import ApiClient
from vsched.kube.errors import NotFound
from vsched.shadow.summary import Comparing, summed


def ask_shadow(target: DaemonTarget, seconds: float | None) -> Comparing:
    """What a running shadow has found; raises what ``ask_daemon`` raises, and BadInput where it is none."""

    async def read(daemon: ApiClient) -> Comparing:
        where = daemon.connection.server
        try:
            answer = await daemon.get("/shadow", {} if seconds is None else {"since": str(seconds)})
        except NotFound:
            raise BadInput(words.no_shadow(where)) from None
        found: Comparing = decoded(where, answer, Comparing)
        return found

    return ask_daemon(target, read)


def read_log(folder: Path, seconds: float | None) -> Comparing:
    """What the log in a folder has; raises BadInput where there is none."""
    return summed(logged(folder), 0.0 if seconds is None else now() - seconds).shown()
