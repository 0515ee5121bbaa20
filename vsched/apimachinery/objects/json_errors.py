"""The messages of Go's JSON decoder for texts that are no JSON.

Only for bodies that the parser has rejected.
"""

from __future__ import annotations

import json

ENDED = "unexpected end of JSON input"
_LITERALS = {"t": "true", "f": "false", "n": "null"}
_PLACES = {
    "Expecting property name enclosed in double quotes": "looking for beginning of object key string",
    "Expecting ':' delimiter": "after object key",
    "Extra data": "after top-level value",
    "Invalid control character at": "in string literal",
    "Invalid \\escape": "in string escape code",
    "Invalid \\uXXXX escape": "in \\u hexadecimal character escape",
}


def syntax_error(body: bytes) -> str:
    """The message for the first error in the text."""
    text = body.decode(errors="replace")
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return _message(text, error)
    except RecursionError:
        return "exceeded max depth"
    except ValueError:
        return "cannot unmarshal number into Go value of type float64"
    return "invalid character in JSON input"


def summary(body: bytes) -> str:
    """The beginning of a body, for messages: as text if it looks like an object, else in hexadecimal digits."""
    if not body:
        return "<empty>"
    more = " ..." if len(body) > _SHOWN_BYTES else ""
    shown = body[:_SHOWN_BYTES]
    return (shown.decode(errors="replace") if body.startswith(b"{") else shown.hex()) + more


_SHOWN_BYTES = 30


def _message(text: str, error: json.JSONDecodeError) -> str:
    position = error.pos
    if error.msg.startswith("Illegal trailing comma"):
        position = text.index(text[position:].lstrip(", \t\r\n")[:1], position + 1)
    if error.msg.startswith("Invalid \\escape"):
        position += 1
    if position >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
        return ENDED
    character = text[position]
    if error.msg == "Expecting value":
        return _bad_value(text, position)
    place = _PLACES.get(error.msg)
    if place is None:
        inside = _innermost(text[:position])
        place = "after array element" if inside == "[" else "after object key:value pair"
    return f"invalid character {_quoted(character)} {place}"


def _bad_value(text: str, position: int) -> str:
    """For a value that does not begin as one, or a misspelled literal."""
    literal = _LITERALS.get(text[position], "")
    for offset, expected in enumerate(literal):
        if position + offset >= len(text):
            return ENDED
        if text[position + offset] != expected:
            found = _quoted(text[position + offset])
            return f"invalid character {found} in literal {literal} (expecting {_quoted(expected)})"
    return f"invalid character {_quoted(text[position])} looking for beginning of value"


def _innermost(text: str) -> str:
    """The innermost open bracket at the end of the text."""
    opened: list[str] = []
    in_string = escaped = False
    for character in text:
        if in_string:
            in_string = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            in_string = True
        elif character in "[{":
            opened.append(character)
        elif character in "]}" and opened:
            opened.pop()
    return opened[-1] if opened else ""


def _quoted(character: str) -> str:
    """A character as Go quotes it."""
    special = {"'": "'\\''", '"': "'\"'", "\\": "'\\\\'", "\n": "'\\n'", "\r": "'\\r'", "\t": "'\\t'"}
    return special.get(character) or (f"'{character}'" if character.isprintable() else f"'\\x{ord(character):02x}'")
