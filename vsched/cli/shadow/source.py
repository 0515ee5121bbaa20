"""Where a report comes from: a running shadow, or the log of one."""

from __future__ import annotations

from pathlib import Path

from vsched.cli.ask.daemon import ask_daemon
from vsched.client.target import DaemonTarget
from vsched.clock import now
from vsched.daemon.shadow.segments import logged
from vsched.shadow.summary import Comparing, summed


def ask_shadow(target: DaemonTarget, seconds: float | None) -> Comparing:
    """What a running shadow has found; raises what ``DaemonClient`` raises."""
    return ask_daemon(target, lambda daemon: daemon.shadow(seconds))


def read_log(folder: Path, seconds: float | None) -> Comparing:
    """What the log in a folder has; raises BadInput where there is none."""
    return summed(logged(folder), 0.0 if seconds is None else now() - seconds).shown()
