"""The arguments of a plugin or action: from the file to its typed struct, and back to flat keys.

Which arguments there are, and what they mean, stands beside the plugin.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from vsched.errors import BadInput, why_unreadable
from vsched.framework.policy import Normalising
from vsched.model.amounts.durations import format_duration
from vsched.settings.reading.problems import Problems
from vsched.settings.reading.scalars import marked, why_inert
from vsched.settings.reading.tree import Keyed, Node, got, is_null
from vsched.settings.reading.values import Key, keys_of, read_fields
from vsched.settings.words import reading as words


def read_arguments(
    node: Node | None, args_type: type[msgspec.Struct], path: str, line: int, problems: Problems
) -> msgspec.Struct | None:
    """The arguments in force; None after what is wrong was reported. No node means that all defaults hold."""
    if node is None or is_null(node):
        node = Keyed((), line)
    if not isinstance(node, Keyed):
        problems.add(node.line, path, words.arguments_expected(got(node)))
        return None
    before = len(problems)
    fields = read_fields(node, args_type, path, problems)
    _note_inert(args_type, fields.lines, path, problems)
    if len(problems) > before:
        return None
    try:
        args = msgspec.convert(fields.values, args_type)
        return args.normalised() if isinstance(args, Normalising) else args
    except (msgspec.ValidationError, ValueError, BadInput) as error:
        text = " ".join((why_unreadable(error) if isinstance(error, msgspec.ValidationError) else str(error)).split())
        key, _, why = text.partition(": ")
        if key in fields.lines:
            problems.add(fields.lines[key], f"{path}.{key}", why)
        else:
            problems.add(line, path, text)
        return None


def _note_inert(args_type: type[msgspec.Struct], lines: Mapping[str, int], path: str, problems: Problems) -> None:
    for key in keys_of(args_type):
        why = why_inert(key.kind)
        for name, line in lines.items() if why else ():
            if key.stars(name) is not None:
                problems.idle(line, f"{path}.{name}", why)


def flat_arguments(args: msgspec.Struct) -> dict[str, Any]:
    """Every argument by its flat key, in the notation of the file: what ``read_arguments`` reads back as the same."""
    values = msgspec.to_builtins(args, order="deterministic")
    return {name: _written(key, value) for key in keys_of(type(args)) for name, value in _members(key, values)}


def _written(key: Key, value: Any) -> Any:
    if marked(key.kind, "duration") and value is not None:
        return format_duration(value)
    return list(value) if isinstance(value, tuple) else value


def secret_arguments(args: msgspec.Struct) -> frozenset[str]:
    """The flat keys whose values are never shown."""
    return frozenset(key.name for key in keys_of(type(args)) if marked(key.kind, "secret"))


def _members(key: Key, values: Any) -> Iterator[tuple[str, Any]]:
    """The flat names a key stands for in these values, each with its value."""
    found: list[tuple[tuple[str, ...], Any]] = [((), values)]
    for step in key.field:
        if step == "*":
            found = [((*stars, star), value) for stars, held in found for star, value in held.items()]
        else:
            found = [(stars, held[step]) for stars, held in found if held is not None]
    return ((key.named(stars), value) for stars, value in found)
