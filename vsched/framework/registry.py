"""The registry: the plugins and actions of this build by name. It is an immutable value that is built once.

The registry does not check whether a policy may use a name.

Plugins and actions declare their arguments as a msgspec type. The encoded name of a field is its key in the policy
file, with dots as Volcano writes it. A name with a star stands for many keys, and its field is a dict keyed by what
the star stands for::

    class BinpackArgs(msgspec.Struct, frozen=True):
        cpu: int = msgspec.field(default=1, name="binpack.cpu")
        resources: dict[str, int] = msgspec.field(default_factory=dict, name="binpack.resources.*")
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import msgspec

from vsched.framework.points.extension import NoArgs, Plugin, Point
from vsched.framework.words import engine as words

T = TypeVar("T")


class Action(NamedTuple):
    """One step of a cycle: a function of the session, and the type of its arguments."""

    name: str
    run: Callable[[Any], None]
    args_type: type[msgspec.Struct] = NoArgs
    timeless: bool = False
    """Whether it does the same for the same cluster at any time, by itself; plugins may look at the clock."""
    by_class: bool = False
    """Whether it works on spans of jobs (see ``Session.waiting``), or on none of them; else it meets each job alone."""
    victims: type[Point] | None = None
    """Where plugins name its victims; without any it evicts nobody. None for actions that ask for none."""


class Registry(NamedTuple):
    """Plugins and actions by name."""

    plugins: Mapping[str, type[Plugin[Any]]]
    actions: Mapping[str, Action]

    @classmethod
    def of(cls, plugins: Iterable[type[Plugin[Any]]], actions: Iterable[Action]) -> Registry:
        """The registry of these plugins and actions; raises ValueError where two have the same name."""
        return cls(
            MappingProxyType(_by_name((plugin.name, plugin) for plugin in plugins)),
            MappingProxyType(_by_name((action.name, action) for action in actions)),
        )


def points_of(plugin: type[Plugin[Any]]) -> tuple[type[Point], ...]:
    """The extension points a plugin class takes part in, in the order it inherits them."""
    return tuple(base for base in plugin.__mro__ if issubclass(base, Point) and "point" in base.__dict__)


def _by_name(named: Iterable[tuple[str, T]]) -> dict[str, T]:
    found: dict[str, T] = {}
    for name, value in named:
        if name in found:
            raise ValueError(words.registered_twice(name))
        found[name] = value
    return found
