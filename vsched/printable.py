"""Text of others, made safe for a terminal.

Names, messages and errors come from whoever may write an object. A terminal obeys control characters in them: titles,
colours, moves of the cursor, text that runs from right to left.
"""

from __future__ import annotations

import re

_OBEYED = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 but for tab and newline, DEL, C1
    "\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # invisible, and turning text around
    "\ud800-\udfff\U000e0000-\U000e0fff"  # halves of characters, tags
    "]"
)


def printable(text: str) -> str:
    """The text with everything that a terminal would obey written as an escape; tabs and newlines stay."""
    return text if text.isprintable() else _OBEYED.sub(_escaped, text)


def one_printable_line(text: str) -> str:
    """The same on one line: newlines are written as escapes, too."""
    return text if text.isprintable() else printable(text).replace("\n", "\\n")


def printable_json(text: str) -> str:
    """JSON that says the same in characters that no terminal obeys."""
    return text if text.isprintable() else _OBEYED.sub(_escaped_in_json, text)


def _escaped(found: re.Match[str]) -> str:
    code = ord(found.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _escaped_in_json(found: re.Match[str]) -> str:
    units = found.group().encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
