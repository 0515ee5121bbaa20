"""The registry of this process: the plugins and actions of this build, and the plugins of packages installed beside it.

A package offers a plugin by an entry point of the group ``vsched.plugins``; its name is the plugin's own. See
``vsched/plugins/README.md``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import msgspec

from vsched.errors import BadInput
from vsched.framework.points.extension import Plugin
from vsched.framework.registry import Registry, points_of
from vsched.settings.built_in import REGISTRY
from vsched.settings.reading.values import keys_of
from vsched.settings.words import files as words

GROUP = "vsched.plugins"


@cache
def registry() -> Registry:
    """The registry, read once in a process; raises BadInput with a line for each plugin that cannot be used."""
    return with_plugins_of(REGISTRY, entry_points(group=GROUP))


def with_plugins_of(built_in: Registry, offered: Iterable[EntryPoint]) -> Registry:
    """The registry with the plugins that packages offer."""
    found: dict[str, EntryPoint] = {}
    plugins: list[type[Plugin[Any]]] = []
    problems: list[str] = []
    for point in sorted(offered, key=lambda point: (point.name, point.value)):
        try:
            if point.name in built_in.plugins:
                raise BadInput(words.TAKEN_BY_VSCHED)
            if point.name in found:
                raise BadInput(words.taken_by(_package(found[point.name])))
            found[point.name] = point
            plugins.append(_loaded(point))
        except BadInput as error:
            problems.append(f"plugin {point.name!r} of {_package(point)} ({point.value}): {error}")
    if problems:
        raise BadInput("\n".join(problems))
    return Registry.of((*built_in.plugins.values(), *plugins), built_in.actions.values())


def _loaded(point: EntryPoint) -> type[Plugin[Any]]:
    try:
        plugin = point.load()
    except Exception as error:  # whatever a module may raise when it is imported
        raise BadInput(words.cannot_be_loaded(_told(error))) from error
    if not isinstance(plugin, type) or not issubclass(plugin, Plugin):
        raise BadInput(words.CLASS_EXPECTED)
    for problem in _problems(point.name, plugin):
        raise BadInput(problem)
    return plugin


def _problems(name: str, plugin: type[Plugin[Any]]) -> Iterator[str]:
    own = getattr(plugin, "name", None)
    if own != name:
        yield words.name_expected(name, own)
    missing = sorted(getattr(plugin, "__abstractmethods__", ()))
    if missing:
        yield words.not_defined(", ".join(missing))
    if not points_of(plugin):
        yield words.NO_PART
    args_type: object = plugin.args_type
    if not isinstance(args_type, type) or not issubclass(args_type, msgspec.Struct):
        yield words.struct_expected(args_type)
        return
    try:
        keys_of(args_type)
    except Exception as error:  # annotations are the package's own, and so is what resolving them may raise
        yield words.arguments_cannot_be_read(_told(error))


def _package(point: EntryPoint) -> str:
    return words.package(point.dist.name, point.dist.version) if point.dist is not None else words.UNKNOWN_PACKAGE


def _told(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
