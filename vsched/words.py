"""What the package itself says: of files and texts that cannot be read, of flags for the log."""

from __future__ import annotations

# -- the clock ---------------------------------------------------------------------------------------------------------


def goes_back(seconds: float) -> str:
    return f"time does not go back: {seconds}"


# -- what cannot be read -----------------------------------------------------------------------------------------------


def not_utf8(byte: int) -> str:
    return f"the text is not UTF-8 (byte {byte:#04x})"


NESTED_TOO_DEEPLY = "it is nested too deeply to be read"
TRUE_OR_FALSE = "true or false"
WHOLE_NUMBER = "a whole number"


def must_be(what: str) -> str:
    return f"must be {what}"


# -- files -------------------------------------------------------------------------------------------------------------

AN_ALLOWED_DIRECTORY = "a directory that is allowed"


def is_not_in(path: object, directories: str) -> str:
    return f"{path}: is not in {directories}"


def no_text(path: object, byte: int) -> str:
    return f"{path}: byte {byte} is not UTF-8 (expected YAML or JSON text)"


def no_regular_file(path: object) -> str:
    return f"{path}: cannot be read: it is no regular file"


def cannot_be_read(path: object, why: object) -> str:
    return f"{path}: cannot be read: {why}"


def is_longer(path: object, most: str) -> str:
    return f"{path}: is longer than {most}"


# -- the log -----------------------------------------------------------------------------------------------------------


def no_level(level: str, known: str) -> str:
    return f"log level {level!r} does not exist: use one of {known}"


def no_format(name: str, known: str) -> str:
    return f"log format {name!r} does not exist: use one of {known}"


def lines_lost(number: int, why: str) -> str:
    return f"{number} log lines could not be written: {why}"


# -- YAML --------------------------------------------------------------------------------------------------------------

CANNOT_BE_PARSED = "cannot be parsed"
ALIASES_EXPAND = "its aliases expand to far more than it says"
