"""Log lines and clocks."""

from __future__ import annotations

import io
import json
import logging
import time
from collections.abc import Iterator
from errno import ENOSPC
from pathlib import Path
from typing import cast

import pytest
import structlog

from vsched import words
from vsched.clock import FakeClock, SystemClock
from vsched.errors import BadInput
from vsched.log import configure, lines_lost, logger


@pytest.fixture(autouse=True)
def _restore() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)


def test_json_lines_carry_event_level_name_time_and_fields() -> None:
    out = io.StringIO()
    configure("info", "json", out)
    logger("vsched.kube").info("relisted", kind="pods", objects=3)
    logger("vsched.kube").debug("unheard")
    logging.getLogger("somebody").warning("said %s", "so")
    first, second = map(json.loads, out.getvalue().splitlines())
    assert first.pop("timestamp").endswith("Z")
    assert first == {"event": "relisted", "level": "info", "logger": "vsched.kube", "kind": "pods", "objects": 3}
    assert (second["event"], second["level"], second["logger"]) == ("said so", "warning", "somebody")


class OftenFull(io.StringIO):
    """A disk that is full at times."""

    is_full = False

    def write(self, text: str, /) -> int:
        if self.is_full:
            raise OSError(ENOSPC, "No space left on device")
        return super().write(text)


@pytest.mark.parametrize("form", ["json", "console"])
def test_lines_for_which_there_is_no_room_are_told_once_there_is(form: str) -> None:
    out = OftenFull()
    configure("info", form, out)
    for out.is_full in (False, True, True, False, False, True):
        logger("x").info("said")
    lines = out.getvalue().splitlines()
    told = words.lines_lost(2, "No space left on device")
    assert [told in line for line in lines] == [False, True, False, False]
    assert lines_lost() == 3


def test_a_file_system_without_room_is_no_error_for_whoever_logs() -> None:
    with Path("/dev/full").open("wb", buffering=0) as file:
        configure("info", "json", io.TextIOWrapper(cast("io.BufferedWriter", file), write_through=True))
        logger("x").info("said")
        assert lines_lost() == 1


def test_an_exception_is_part_of_its_line() -> None:
    out = io.StringIO()
    configure("info", "json", out)
    try:
        raise ValueError("broken")
    except ValueError:
        logger("x").exception("failed")
    [line] = out.getvalue().splitlines()
    assert "ValueError: broken" in json.loads(line)["exception"]


@pytest.mark.parametrize("form", ["json", "console"])
def test_a_traceback_tells_where_and_not_what_variables_hold(form: str) -> None:
    out = io.StringIO()
    configure("info", form, out)
    token = "-".join(("secret", "token"))
    try:
        raise ValueError(f"broken, with {len(token)} letters")
    except ValueError:
        logger("x").exception("failed")
    assert "broken, with 12 letters" in out.getvalue()
    assert __file__ in out.getvalue()
    assert token not in out.getvalue()


def test_the_console_is_plain_where_it_is_no_terminal() -> None:
    out = io.StringIO()
    configure("debug", "console", out)
    logger("x").debug("started", nodes=5)
    assert "started" in out.getvalue()
    assert "nodes=5" in out.getvalue()
    assert "\x1b" not in out.getvalue()


def test_access_lines_of_a_library_are_heard_only_when_all_is_asked_for() -> None:
    out = io.StringIO()
    configure("info", "json", out)
    logging.getLogger("aiohttp.access").info("GET /")
    assert out.getvalue() == ""
    configure("debug", "json", out)
    logging.getLogger("aiohttp.access").info("GET /")
    assert "GET /" in out.getvalue()


def test_levels_and_formats_that_do_not_exist_are_refused() -> None:
    with pytest.raises(BadInput, match=words.no_level("loud", "debug, info")):
        configure("loud")
    with pytest.raises(BadInput, match=words.no_format("xml", "json, console")):
        configure("info", "xml")


def test_a_fake_clock_moves_only_when_told() -> None:
    clock = FakeClock(now=100.0)
    clock.advance(2.5)
    assert (clock.now(), clock.monotonic()) == (102.5, 2.5)
    clock.set(50.0)
    assert (clock.now(), clock.monotonic()) == (50.0, 2.5)
    with pytest.raises(ValueError, match="does not go back"):
        clock.advance(-1.0)


def test_the_system_clock_agrees_with_the_machine() -> None:
    assert abs(SystemClock().now() - time.time()) < 5.0
    assert SystemClock().monotonic() <= SystemClock().monotonic()
