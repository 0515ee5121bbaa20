"""What exactly runs here: version, commit, Python and libraries. Looked up when asked for, once, and never guessed."""

from __future__ import annotations

import platform
import subprocess
from functools import cache
from importlib import metadata, resources
from pathlib import Path

import msgspec

from vsched import __version__

UNKNOWN = "unknown"
COMMIT_FILE = "commit.txt"
"""In the package, where it was built from a checkout: its one line is the commit."""
LIBRARIES = ("aiohttp", "kubernetes-asyncio", "msgspec", "numpy", "orjson", "uvloop")
"""Those whose versions decide how the daemon behaves, by the names they are installed under."""
DIGITS = 12
"""Of a commit, as they are shown."""
GIT_SECONDS = 2.0


class Build(msgspec.Struct, frozen=True):
    """What is said of a build, to people and in metrics."""

    version: str
    commit: str
    """``-dirty`` after it where there were changes in the tree besides; ``unknown`` where nobody can tell."""
    python: str
    platform: str
    """Operating system and architecture."""
    libraries: dict[str, str]


@cache
def build() -> Build:
    """Of the program that runs."""
    return Build(
        version=__version__,
        commit=commit(),
        python=platform.python_version(),
        platform=f"{platform.system().lower()}/{platform.machine()}",
        libraries={name: _version_of(name) for name in LIBRARIES},
    )


@cache
def commit() -> str:
    """The commit that was written down when the package was built; else that of the checkout it runs from."""
    package = resources.files("vsched")
    written = package.joinpath(COMMIT_FILE)
    if written.is_file():
        return written.read_text(encoding="utf-8").strip() or UNKNOWN
    return checked_out(Path(str(package)).parent) or UNKNOWN


def checked_out(checkout: Path) -> str:
    """The commit of a checkout; empty where the directory is none, or there is no git to ask."""
    # Git would go on looking in the directories above, which may be a checkout of something else.
    if not (checkout / ".git").exists():
        return ""
    asked = ("git", "-C", str(checkout), "rev-parse", f"--short={DIGITS}", "HEAD")
    try:
        told = subprocess.run(asked, capture_output=True, text=True, timeout=GIT_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return told.stdout.strip()


@cache
def user_agent() -> str:
    """How vsched introduces itself to servers."""
    return f"vsched/{__version__} ({platform.system().lower()}/{platform.machine()}) {commit()}"


def _version_of(library: str) -> str:
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return UNKNOWN
