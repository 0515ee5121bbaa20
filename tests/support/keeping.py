"""A memo for tests that are about what cycles keep."""

from __future__ import annotations

from vsched.model.memo import Memo, Mode


def keeping() -> Memo:
    """One that keeps answers, also where ``--memo off`` is given."""
    return Memo(Mode.ON if Memo.mode is Mode.OFF else Memo.mode)
