"""Memos for tests that are about what cycles keep."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from vsched.model.memo import Memo, Mode


def keeping() -> Memo:
    """One that keeps answers, also where ``--memo off`` is given."""
    return Memo(_mode())


@contextmanager
def memos_keep() -> Iterator[None]:
    """The same for each memo that is made meanwhile, as those that are kept with nodes."""
    before, Memo.mode = Memo.mode, _mode()
    try:
        yield
    finally:
        Memo.mode = before


def _mode() -> Mode:
    return Mode.ON if Memo.mode is Mode.OFF else Memo.mode
