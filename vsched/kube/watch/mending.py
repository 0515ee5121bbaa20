"""Repairs JSON that a decoder refuses as a whole, so that one bad object does not spoil a list or a watch.

An object may contain what its server accepted and a decoder refuses: very deep nesting, invalid text, NaN. A list or
watch that cannot be decoded is mended and decoded again. The bad values are then missing from their object, or have
another type than expected, and the decoder of that object reports it.
"""

from __future__ import annotations

import re

import msgspec

DEEPEST = 100
"""More than twice the depth of any field that vsched reads."""

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]|-?(?:NaN|Infinity)\b', re.DOTALL)
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_QUOTE = ord('"')
_decode_text = msgspec.json.Decoder(str).decode


def mended(data: bytes) -> bytes:
    """The same JSON, made acceptable for decoders.

    Values deeper than ``DEEPEST`` become ``null``, halves of surrogate pairs and strings with unknown escapes become
    U+FFFD, NaN and Infinity become strings.
    """
    parts: list[bytes] = []
    depth, begun = 0, 0
    """The depth of the token, and where the part that is not copied yet begins."""
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
    """A string that decoders can skip. Whether its bytes are valid text is left to the decoder of the object."""
    for good in (token, _SURROGATE.sub(rb"\\ufffd", token)):
        try:
            _decode_text(good)
        except UnicodeDecodeError:
            return token
        except msgspec.DecodeError:
            continue
        return token if good == token else good
    return b'"\\ufffd"'
