"""JSON that no decoder takes as a whole, brought into a form in which only what is wrong with it is wrong.

One object among thousands may hold what its server let in and a decoder refuses: nesting without end, text that is no
text, numbers that are none. Whoever reads a list or a watch mends it then and goes on: what nobody can read of an
object is missing from it, or of another type than it should be, and that is for whoever reads the object to say.
"""

from __future__ import annotations

import re

import msgspec

DEEPEST = 100
"""Nothing that is read of any object lies half as deep."""

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]|-?(?:NaN|Infinity)\b', re.DOTALL)
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_QUOTE = ord('"')
_decode_text = msgspec.json.Decoder(str).decode


def mended(data: bytes) -> bytes:
    """The same JSON with ``null`` for what lies deeper than ``DEEPEST``, U+FFFD for what no decoder passes over in text
    (halves of surrogate pairs, unknown escapes), and NaN and Infinity as text.
    """
    parts: list[bytes] = []
    depth, begun = 0, 0
    """How deep the token lies, and where what is not copied yet begins."""
    for found in _TOKEN.finditer(data):
        token = found[0]
        good = token
        if token in b"[{":
            depth += 1
            good = b"null" if depth == DEEPEST + 1 else token
        elif token in b"]}":
            depth -= 1
            if depth == DEEPEST:
                begun = found.end()
        elif depth <= DEEPEST:
            good = _text(token) if token[0] == _QUOTE else b'"' + token + b'"'
        if good is not token:
            parts += (data[begun : found.start()], good)
            begun = found.end()
    if depth <= DEEPEST:
        parts.append(data[begun:])
    return b"".join(parts)


def _text(token: bytes) -> bytes:
    """A string that can be passed over; whether its bytes are text is for whoever reads it to say."""
    for good in (token, _SURROGATE.sub(rb"\\ufffd", token)):
        try:
            _decode_text(good)
        except UnicodeDecodeError:
            return token
        except msgspec.DecodeError:
            continue
        return token if good == token else good
    return b'"\\ufffd"'
