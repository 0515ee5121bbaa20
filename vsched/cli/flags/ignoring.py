"""The flag ``--ignore-unsupported``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

from vsched.cli.flags import words
from vsched.model.pods.ignorable import IGNORABLE, SUPPORTED

F = TypeVar("F", bound=Callable[..., Any])
EXPECTED = ", ".join(IGNORABLE)


class IgnorableWords(click.ParamType[tuple[str, ...]]):
    """Comma-separated words of ``IGNORABLE``; words of ``SUPPORTED`` are left out, with a note on stderr."""

    name = "words"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """The words; fails for an unknown one."""
        if not isinstance(value, str):
            return tuple(value)
        named = tuple(word.strip() for word in value.split(","))
        for word in named:
            if word in SUPPORTED:
                click.echo(words.is_supported(word), err=True)
            elif word not in IGNORABLE:
                self.fail(words.unknown(word, EXPECTED), param, ctx)
        return tuple(word for word in named if word in IGNORABLE)


def ignore_flag(command: F) -> F:
    """Add the flag to a command."""
    return click.option(
        "--ignore-unsupported",
        "ignored",
        type=IgnorableWords(),
        multiple=True,
        metavar="WORD[,WORD…]",
        callback=lambda ctx, param, value: flattened(value),
        help=f"ignore these when pods ask for them, instead of keeping the pods waiting: {EXPECTED}; repeatable, "
        "such as --ignore-unsupported volumes,priority-classes",
    )(command)


def flattened(given: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """All words, sorted, each once."""
    return tuple(sorted({word for each in given for word in each}))
