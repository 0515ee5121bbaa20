"""What was found: one line for each thing, with a verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any

import msgspec

Obj = dict[str, Any]
MOST_NAMED = 3
"""Objects that a line names; the others are counted."""


class Verdict(StrEnum):
    """What becomes of a thing with vsched."""

    WORKS = "works"
    DIFFERS = "differs"
    """It works in another way, or it was of no use; the line says which."""
    MISSING = "missing"
    """It does not work, or stops the change until somebody changes it."""
    UNREAD = "not read"
    """Unknown: we may not read it, or did not find it."""


class Finding(msgspec.Struct, frozen=True):
    """One thing in the cluster."""

    part: str
    """The heading that it belongs to."""
    what: str
    verdict: Verdict
    says: str = ""
    count: int | None = None
    """How many there are; None for what is there once."""


def of_many(part: str, kind: str, verdict: Verdict, said: Iterable[tuple[str, str]]) -> Iterator[Finding]:
    """A finding for each sentence; ``said`` has the names of objects and what is to be said of each."""
    names: dict[str, list[str]] = {}
    for name, sentence in said:
        names.setdefault(sentence, []).append(name)
    for sentence, of in names.items():
        more = f" and {len(of) - MOST_NAMED} more" if len(of) > MOST_NAMED else ""
        yield Finding(part, kind, verdict, f"{sentence} ({', '.join(of[:MOST_NAMED])}{more})", len(of))


def counts_of(findings: Iterable[Finding]) -> dict[str, int]:
    """The number of findings by verdict, all verdicts in their order."""
    found = Counter(finding.verdict for finding in findings)
    return {verdict.value: found[verdict] for verdict in Verdict}


def key_of(obj: Mapping[str, Any]) -> str:
    """``NAMESPACE/NAME`` of an object, or its name."""
    metadata = obj["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if metadata.get("namespace") else str(metadata["name"])
