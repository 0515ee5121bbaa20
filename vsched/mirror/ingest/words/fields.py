"""What is wrong with fields that many kinds of objects have, and with those of pods."""

from __future__ import annotations

# -- sizes -------------------------------------------------------------------------------------------------------------


def too_long(at: str, letters: int, most: int) -> str:
    return f"{at}: {letters:,} letters ({most} are read at most)"


# -- annotations and plain fields --------------------------------------------------------------------------------------


def only_these_opt_in(annotation: str) -> str:
    return f"metadata.annotations[{annotation}]: only pods and PodGroups opt in: ignored"


TIME = "a time such as 2027-01-15T08:00:00Z"
INT32 = "a 32-bit integer"


def annotation_not_int32(annotation: str, text: str) -> str:
    return f"metadata.annotations[{annotation}]: {text!r} (expected a 32-bit integer)"


def unknown_word(at: str, word: str, expected: str) -> str:
    return f"{at}: {word!r} is unknown (expected {expected})"


def negative_number(at: str, number: int) -> str:
    return f"{at}: {number} (expected zero or more)"


def bad_value(name: str, value: int) -> str:
    return f"{name}: value: {value} (expected a 32-bit integer)"


# -- paths into objects ------------------------------------------------------------------------------------------------

PATH_SYNTAX = "names with dots between, [*] for every item, [0] for the first one, ['...'] for a name with dots"


def no_path(text: str, syntax: str) -> str:
    return f"{text!r} is no path (expected {syntax})"


# -- pods --------------------------------------------------------------------------------------------------------------


def unknown_phase(phase: str) -> str:
    return f"status.phase: {phase!r} is unknown (expected Pending, Running, Succeeded, Failed or Unknown)"


def not_guaranteed(at: str) -> str:
    return f"{at}: it has no effect on a pod that is not Guaranteed or has no whole cpus: ignored"


def too_many_bytes(at: str, size: int, most: int) -> str:
    return f"{at}: {size:,} bytes ({most:,} are read at most)"


def unknown_protocol(at: str, protocol: str, expected: str) -> str:
    return f"{at}.protocol: {protocol!r} is unknown (expected {expected})"


# -- what is not supported ---------------------------------------------------------------------------------------------


def not_supported_yet(paths: str, more: str) -> str:
    return f"{paths}{more}: not supported yet"


# -- weights -----------------------------------------------------------------------------------------------------------


def too_heavy(at: str, part: str, most: int) -> str:
    return f"{at}: {part!r} (expected {most} at most): counts as {most}"
