"""Marks of texts in records: what becomes of each where a dump has pseudonyms.

A text without a mark is a name, or a key made of names: what nobody has marked does not get out.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Annotated


class TextMark(Enum):
    """What a text is, or how it is written."""

    WORD = auto()
    VALUE = auto()
    NODE = auto()
    UID = auto()
    ADDRESS = auto()
    OPAQUE = auto()
    RESOURCE = auto()
    SENTENCE = auto()
    REQUEST = auto()
    EXPRESSION = auto()
    DEVICES = auto()
    BINDING = auto()
    DROPPED = auto()


Word = Annotated[str, TextMark.WORD]
"""A fixed word, such as a phase; it stays."""
Value = Annotated[str, TextMark.VALUE]
"""A text that may be a node name, such as a label value."""
NodeName = Annotated[str, TextMark.NODE]
Uid = Annotated[str, TextMark.UID]
Address = Annotated[str, TextMark.ADDRESS]
"""An IP address of a node."""
Opaque = Annotated[str, TextMark.OPAQUE]
"""A text from outside vsched that is only compared for equality."""
Resource = Annotated[str, TextMark.RESOURCE]
"""The name of a resource; it stays, except for a storage class in it."""
Sentence = Annotated[str, TextMark.SENTENCE]
"""A sentence that may contain names; it is left out."""
RequestName = Annotated[str, TextMark.REQUEST]
"""The name of a request of devices; that of an extended resource, which has a domain, stays."""
Expression = Annotated[str, TextMark.EXPRESSION]
"""A selector of devices."""
ListedDevices = Annotated[str, TextMark.DEVICES]
"""Devices as annotations list them: the first field of each is its uuid."""
BindingAnnotations = Annotated[tuple[tuple[str, str], ...], TextMark.BINDING]
"""Annotations that pods get with their binding."""
Reasons = Annotated[dict[str, int], TextMark.DROPPED]
"""Sentences with counts; they are left out."""
