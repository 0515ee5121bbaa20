"""What ``vsched replay`` says."""

from __future__ import annotations

# -- flags -------------------------------------------------------------------------------------------------------------

NOTHING_TO_REPLAY = "nothing to replay (expected FILE, as vsched dump writes it, or --trace)"


def one_at_a_time(file: object) -> str:
    return f"{file}: one FILE at a time (two CSV files of a trace come after --trace)"


# -- what is run -------------------------------------------------------------------------------------------------------


def not_asked_then(number: int) -> str:
    return f"{number} questions to an extender had not been asked then: they count as not answered"


NO_EXTENDER_ASKED = "in further cycles no extender is asked"


def recorded_by(version: str, commit: str, here: str, here_commit: str) -> str:
    return f"recorded by vsched {version} ({commit}), run again by {here} ({here_commit})"


def unrecorded(number: int) -> str:
    return f"{number} answers of an extender are not in the file: it cannot be run again exactly"


# -- differences -------------------------------------------------------------------------------------------------------


def from_number(name: str, number: int) -> str:
    return f"{name}, from number {number} on"


# -- the page ----------------------------------------------------------------------------------------------------------

NAMES_MADE_UP = ", names made up"


def kept_for(why: str, says: str) -> str:
    return f"kept for {why}: {says}"


def same_error(error: str) -> str:
    return f"the same error: {error}"


def recorded_was(error: str) -> str:
    return f"recorded was {error}"


RECORDED_DECISIONS = "recorded were decisions"


def an_error(error: str, expected: str) -> str:
    return f"an error: {error} ({expected})"


def no_error(now: str, recorded: str) -> str:
    return f"no error: {now} (recorded was {recorded})"


def same(now: str) -> str:
    return f"the same, byte for byte: {now}"


def by_config(config: object, now: str, before: str) -> str:
    return f"by {config}: {now}; it was {before}"


def not_same(now: str, recorded: str) -> str:
    return f"not the same: {now}; recorded were {recorded}"


def more_rows(number: int) -> str:
    return f"and {number:,} more (-o json has them all)"


OF_THE_CYCLE = "of the cycle"
TIMES_OVERLAP = "Times of plugins are part of those of actions; measuring them takes time itself."
