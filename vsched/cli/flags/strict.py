"""Checks of the flags of all commands: numbers are numbers and finite, texts are neither empty nor unprintable."""

from __future__ import annotations

import json
import math
from typing import Any

import click

from vsched.cli.flags import words
from vsched.printable import printable

NONE_IF_EMPTY = frozenset({"--listen-address", "--healthz-address", "--volcano-namespace"})
"""Flags that mean "none" where they are empty."""


def strict(command: click.Command) -> click.Command:
    """The command, with these checks on its flags and those of its subcommands."""
    for parameter in command.params:
        parameter.type = _held(parameter)
    if isinstance(command, click.Group):
        for each in command.commands.values():
            strict(each)
    return command


def _held(parameter: click.Parameter) -> click.ParamType[Any]:
    kind = parameter.type
    if isinstance(kind, click.FloatRange) and not isinstance(kind, Finite):
        return Finite(kind.min, kind.max, kind.min_open, kind.max_open, kind.clamp)
    if isinstance(kind, click.IntRange) and not isinstance(kind, Whole):
        return Whole(kind.min, kind.max, kind.min_open, kind.max_open, kind.clamp)
    if kind is click.STRING:
        return PrintableText(may_be_empty=parameter.default == "" or not NONE_IF_EMPTY.isdisjoint(parameter.opts))
    return kind


class Whole(click.IntRange):
    """An integer within a range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            int(value)
        except ValueError:
            self.fail(words.no_integer(json.dumps(value)), param, ctx)
        found: int = super().convert(value, param, ctx)
        return found


class Finite(click.FloatRange):
    """A number within a range; NaN and infinity are refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            float(value)
        except ValueError:
            self.fail(words.no_number(json.dumps(value)), param, ctx)
        found: float = super().convert(value, param, ctx)
        if not math.isfinite(found):
            self.fail(words.out_of_range(value, self._describe_range()), param, ctx)
        return found


class PrintableText(click.types.StringParamType):
    """A text without control characters that is not blank."""

    def __init__(self, *, may_be_empty: bool) -> None:
        self._may_be_empty = may_be_empty

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text: str = super().convert(value, param, ctx)
        if printable(text) != text or "\n" in text:
            self.fail(words.unprintable(text), param, ctx)
        if not text.strip() and not self._may_be_empty:
            self.fail(words.empty(text), param, ctx)
        return text
