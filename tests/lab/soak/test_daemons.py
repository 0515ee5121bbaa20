"""Daemons of a soak: their logs, and an end that nobody asked for."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.support.waiting import until
from vsched.clock import FakeClock
from vsched.daemon.observe.telemetry import Telemetry
from vsched.lab import words
from vsched.lab.soak.daemons import SoakDaemon, complaint_of, rule_violated
from vsched.lab.soak.outcomes import Violations
from vsched.proof.verify import RuleFinding


@pytest.mark.parametrize(
    ("record", "complaint"),
    [
        pytest.param({"event": "session", "level": "info"}, "", id="a line of every day"),
        pytest.param({"event": "binding failed", "level": "warning"}, "", id="a warning"),
        pytest.param({"event": "session failed", "level": "error"}, "session failed", id="an error"),
        pytest.param({"event": "e", "level": "info", "exception": "Traceback\n  f\nValueError: x\n"}, "e ValueError: x",
                     id="an exception"),
        pytest.param({"event": "Task was destroyed but it is pending!"}, "Task was destroyed but it is pending!",
                     id="what Python says itself"),
        pytest.param({"event": "vsched: lease lost"}, "", id="the last word of the command"),
    ],
)  # fmt: skip
def test_which_lines_of_a_log_are_complaints(record: Mapping[str, Any], complaint: str) -> None:
    assert complaint_of(record) == complaint


async def test_a_daemon_that_ends_by_itself_is_told_with_its_last_words(tmp_path: Path) -> None:
    violations = Violations()
    daemon = SoakDaemon("d", ("nonsense",), tmp_path, violations, Counter())
    running = asyncio.create_task(daemon.run())
    assert await until(lambda: bool(violations.counts))
    await daemon.close()
    await running
    assert violations.first["daemon died"][0].startswith(words.ended("scheduler d", 2, ": "))
    assert "there is no command 'nonsense'" in violations.first["daemon died"][0]


def test_a_line_about_a_violated_rule_names_the_rule() -> None:
    telemetry, finding = Telemetry(FakeClock()), RuleFinding("gangs: gangs start whole", 2, ("x/a starts with 1",))
    with capture_logs() as logs:
        telemetry.verified(7, [finding, RuleFinding("work: nothing that fits waits", 1, ())])
        telemetry.worry("check failed", rule="none")

    assert [rule_violated(line) for line in logs] == ["gangs: gangs start whole", ""]
