"""Flags for the fields of a struct: default and kind are the field's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import click
import msgspec


def flags_of(struct: type[msgspec.Struct]) -> Callable[..., Callable[[Any], Any]]:
    """``click.option`` for fields of this struct, all of which have defaults.

    Without ``field`` the flag ``--max-in-flight`` is for the field ``max_in_flight``. One that is true or false gets
    ``--flag/--no-flag``, a tuple can be given repeatedly, and words are offered as such.
    """
    defaults, hints = struct(), get_type_hints(struct)

    def flag(name: str, field: str = "", *, help: str, **more: Any) -> Callable[[Any], Any]:
        field = field or name.removeprefix("--").replace("-", "_")
        kind = _kind(getattr(defaults, field), hints[field])
        both = f"{name}/--no-{name.removeprefix('--')}" if hints[field] is bool else name
        return click.option(both, field, help=help, **kind | more)

    return flag


def _kind(default: Any, hint: Any) -> dict[str, Any]:
    kind: dict[str, Any] = {} if default is None else {"default": default}
    if get_origin(hint) is tuple:
        kind["multiple"] = True
        hint = get_args(hint)[0]
    if get_origin(hint) is Literal:
        kind["type"] = click.Choice(get_args(hint))
    elif Path in get_args(hint):
        kind["type"] = click.Path(path_type=Path)
    return kind
