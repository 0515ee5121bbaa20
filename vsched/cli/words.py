"""What several commands say alike."""

from __future__ import annotations

# -- the command itself ------------------------------------------------------------------------------------------------


def no_room(why: str | None) -> str:
    return f"vsched: {why} (where the results go)"


def not_installed(command: str, extra: str) -> str:
    return f"vsched {command} is not installed (expected: pip install 'vsched[{extra}]')"


# -- names that there are not ------------------------------------------------------------------------------------------


def did_you_mean(name: str) -> str:
    return f"; did you mean {name!r}?"
