"""What runs in each thread, read from another one.

``sys._current_frames`` would tell more, but reading the frames of a thread that runs ends Python 3.11 now and then
(python/cpython#111363). faulthandler reads without making frame objects.
"""

from __future__ import annotations

import faulthandler
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

import vsched

PACKAGE = str(Path(vsched.__file__).parent) + os.sep
OWN = str(Path(__file__).parent) + os.sep
_THREAD = re.compile(r"(?:Current thread|Thread) 0x([0-9a-f]+) ")
_CALL = re.compile(r'  File "(.+)", line \d+ in (.+)')


class Stacks:
    """The functions of the package that are under way."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - as long as the looks go on

    def close(self) -> None:
        """Look no more."""
        self._file.close()

    def read(self) -> Mapping[int, list[str]]:
        """By the identity of the thread, outermost first."""
        self._file.seek(0)
        self._file.truncate()
        faulthandler.dump_traceback(self._file)
        self._file.seek(0)
        return functions_of(self._file.read().decode(errors="replace"))


def functions_of(dump: str) -> dict[int, list[str]]:
    """The functions of the package in a dump of faulthandler, by thread, without those that measure."""
    found: dict[int, list[str]] = {}
    calls: list[str] = []
    for line in dump.splitlines():
        if thread := _THREAD.match(line):
            calls = found[int(thread[1], 16)] = []
        elif (call := _CALL.fullmatch(line)) and call[1].startswith(PACKAGE) and not call[1].startswith(OWN):
            calls.append(f"{call[1].removeprefix(PACKAGE)}:{call[2]}")
    return {thread: list(dict.fromkeys(reversed(calls))) for thread, calls in found.items()}
