"""Shares in flags: percentages."""

from __future__ import annotations

import re
from typing import Any

import click

from vsched.cli.flags import words

_PERCENT = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,4})?)%")


class Share(click.ParamType[float]):
    """A part of the whole, as ``1%`` or ``100%``; 0 for nothing."""

    name = "percentage"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The part, from 0 to 1."""
        found = _PERCENT.fullmatch(str(value).strip())
        share = float(found[1]) / 100 if found else 0.0
        if share > 1 or not (found or str(value).strip() == "0"):
            self.fail(words.no_percentage(value), param, ctx)
        return share


SHARE = Share()
