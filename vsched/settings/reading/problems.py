"""What is wrong with a policy file: all of it, each with file, line and path.

Collects; whether a thing is wrong is decided by those who read the file.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from vsched.errors import BadPolicy
from vsched.settings.words import reading as words

MOST_REPORTED = 100
"""Problems listed for one file; a file with more is not a policy."""
LONGEST_LINE = 500


class Problems:
    """Collects problems and warnings of one file; they are reported in the order of its lines."""

    def __init__(self, where: str) -> None:
        self.where = where
        self._found: list[tuple[int, str]] = []
        self._warnings: list[tuple[int, str]] = []
        self._idle: list[tuple[int, str]] = []

    def __len__(self) -> int:
        return len(self._found)

    def add(self, line: int, path: str, text: str) -> None:
        """Add a problem; ``path`` is empty if it concerns the whole file."""
        self._found.append((line, self._line(line, path, text)))

    def warn(self, line: int, path: str, text: str) -> None:
        """Add a warning: something valid that may surprise."""
        self._warnings.append((line, self._line(line, path, text)))

    def idle(self, line: int, path: str, why: str) -> None:
        """Add a note about something that is accepted and has no effect."""
        self._idle.append((line, self._line(line, path, words.no_effect(why))))

    def error(self) -> BadPolicy:
        """All problems as one error to raise."""
        lines = [text for _, text in sorted(self._found, key=lambda found: found[0])]
        rest = len(lines) - MOST_REPORTED
        if rest > 0:
            lines[MOST_REPORTED:] = [words.more_problems(self.where, rest)]
        return BadPolicy(lines)

    def raise_if_any(self) -> None:
        """Refuse the file if anything is wrong with it."""
        if self._found:
            raise self.error()

    def warnings(self) -> tuple[str, ...]:
        """The warnings, by line."""
        return _by_line(self._warnings)

    def no_effect(self) -> tuple[str, ...]:
        """What is accepted and has no effect, by line."""
        return _by_line(self._idle)

    def _line(self, line: int, path: str, text: str) -> str:
        line_text = f"{self.where}:{line}: {path}: {text}" if path else f"{self.where}:{line}: {text}"
        return _on_one_line(line_text)


def _by_line(found: Iterable[tuple[int, str]]) -> tuple[str, ...]:
    return tuple(text for _, text in sorted(found, key=lambda one: one[0]))


def _on_one_line(text: str) -> str:
    """A key or value as one line of printable text, safe for terminals and logs."""
    if not text.isprintable():
        text = "".join(letter if letter.isprintable() else f"\\x{ord(letter):02x}" for letter in text)
    return text if len(text) <= LONGEST_LINE else text[: LONGEST_LINE - 3] + "..."


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``; did you mean 'x'?`` for the known word that is close, else nothing."""
    spelled = {candidate.lower(): candidate for candidate in known}
    close = get_close_matches(word.lower(), spelled, n=1, cutoff=0.7)
    return words.did_you_mean(spelled[close[0]]) if close else ""
