"""Notes of a version, and when a tag is refused."""

from __future__ import annotations

import pytest

from helm.release.changes import Notes, ReleaseError, check_tag, notes
from tests.support.pages import TOP
from vsched import __version__

CHANGES = """# Changes

## [0.2.0] - Unreleased

- new

## [0.1.0] - 2026-12-01

### First

- all

## [0.0.1] - 2026-11-01
"""


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        pytest.param("0.2.0", Notes("Unreleased", "- new\n"), id="the newest, up to the next"),
        pytest.param("0.1.0", Notes("2026-12-01", "### First\n\n- all\n"), id="one between others, with its headings"),
    ],
)
def test_the_notes_are_the_section_of_the_version(version: str, expected: Notes) -> None:
    assert notes(CHANGES, version) == expected


@pytest.mark.parametrize("version", ["0.3.0", "0.0.1"], ids=["no section", "nothing in it"])
def test_a_version_of_which_nothing_is_said_is_refused(version: str) -> None:
    with pytest.raises(ReleaseError, match=f"nothing is said of version {version}"):
        notes(CHANGES, version)


def test_this_version_has_notes() -> None:
    assert notes((TOP / "CHANGELOG.md").read_text(encoding="utf-8"), __version__).text


@pytest.mark.parametrize(
    ("tag", "date", "dirty", "refused"),
    [
        pytest.param("", "Unreleased", True, "", id="a rehearsal may be anything"),
        pytest.param("v1.0", "2026-12-01", False, "", id="a tag that goes with the version"),
        pytest.param("v1.1", "2026-12-01", False, "tag v1.1", id="a tag of another version"),
        pytest.param("v1.0", "Unreleased", False, "still Unreleased", id="no date"),
        pytest.param("v1.0", "2026-12-01", True, "files differ", id="changes besides"),
    ],
)
def test_a_tag_goes_with_what_is_built(tag: str, date: str, dirty: bool, refused: str) -> None:
    if not refused:
        check_tag("1.0", tag, date, dirty=dirty)
        return
    with pytest.raises(ReleaseError, match=refused):
        check_tag("1.0", tag, date, dirty=dirty)
