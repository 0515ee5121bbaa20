"""What is said of the values of flags."""

from __future__ import annotations

# -- what is ignored ---------------------------------------------------------------------------------------------------


def is_supported(name: str) -> str:
    return f"--ignore-unsupported {name}: is supported; leave the word out"


def unknown(name: str, expected: str) -> str:
    return f"{name!r} is unknown (expected {expected})"


# -- lengths of time ---------------------------------------------------------------------------------------------------


def no_period(value: object, kind: str) -> str:
    return f"{value!r} is not a {kind} (expected seconds, or such as 500ms, 1m30s)"


def no_time_span(value: object, longest: str) -> str:
    return f"{value!r} is not a time up to {longest} (expected such as 24h, {longest}, 90m)"


# -- shares ------------------------------------------------------------------------------------------------------------


def no_percentage(value: object) -> str:
    return f"{value!r} is not a percentage (expected such as 1%, at most 100%, or 0)"


# -- numbers and texts -------------------------------------------------------------------------------------------------


def no_integer(value: str) -> str:
    return f"must be an integer, is {value}"


def no_number(value: str) -> str:
    return f"must be a number, is {value}"


def out_of_range(value: object, bounds: str) -> str:
    return f"{value!r} is not a number of the range {bounds}."


def unprintable(text: str) -> str:
    return f"{text!r} has unprintable characters."


def empty(text: str) -> str:
    return f"{text!r} is empty."


# -- commands ----------------------------------------------------------------------------------------------------------


def did_you_mean(name: str) -> str:
    return f"did you mean {name!r}?"


def help_lists(command: str) -> str:
    return f"{command} --help lists them"


def no_command(name: str, meant: str) -> str:
    return f"there is no command {name!r} ({meant})"


def no_size(value: object, least: str) -> str:
    return f"{value!r}: expected an amount of bytes of at least {least}, such as 512Mi"
