"""What CHANGELOG.md says of a version."""

from __future__ import annotations

import re
from typing import NamedTuple

_VERSION = re.compile(r"^## \[(?P<version>[^\]]+)\] - (?P<date>.+)$", re.MULTILINE)
UNRELEASED = "Unreleased"


class Notes(NamedTuple):
    """The section of a version."""

    date: str
    """As 2026-12-01, or ``Unreleased``."""
    text: str


class ReleaseError(Exception):
    """Why there is no release: one sentence for whoever makes it."""


def notes(changelog: str, version: str) -> Notes:
    """The section of a version; raises ReleaseError where there is none, or nothing in it."""
    found = list(_VERSION.finditer(changelog))
    for at, heading in enumerate(found):
        if heading["version"] == version:
            end = found[at + 1].start() if at + 1 < len(found) else len(changelog)
            if text := changelog[heading.end() : end].strip():
                return Notes(heading["date"], text + "\n")
    raise ReleaseError(f"CHANGELOG.md: nothing is said of version {version} (expected a section ## [{version}] - DATE)")


def check_tag(version: str, tag: str, date: str, *, dirty: bool) -> None:
    """Raise ReleaseError where the commit's tag does not go with what is built; an empty tag is a rehearsal."""
    if not tag:
        return
    if tag != f"v{version}":
        raise ReleaseError(f"the commit has the tag {tag}, and vsched/__init__.py the version {version}")
    if date == UNRELEASED:
        raise ReleaseError(f"CHANGELOG.md: version {version} has a tag, and is still {UNRELEASED} (expected its date)")
    if dirty:
        raise ReleaseError(f"files differ from the tag {tag} (git status shows which)")
