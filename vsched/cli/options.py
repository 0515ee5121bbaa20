"""Options of commands: several added by one decorator, and several whose values a command gets as one."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.core import ParameterSource

C = TypeVar("C", bound=Callable[..., Any])
Decorator = Callable[[Any], Any]
"""What ``click.option`` returns."""


def options(*added: Decorator) -> Callable[[C], C]:
    """A decorator that adds these options, in the order in which the help shows them."""

    def add(command: C) -> C:
        for option in reversed(added):
            command = option(command)
        return command

    return add


def options_as_one(name: str, kind: Any, *added: Decorator) -> Callable[[C], C]:
    """The same for options whose values the command gets as one argument, ``name``.

    ``kind`` is a NamedTuple with a field for the parameter of each option.
    """

    def add(command: C) -> C:
        @functools.wraps(command)
        def call(**values: Any) -> Any:
            return command(**{name: kind(**{field: values.pop(field) for field in kind._fields})}, **values)

        made: C = options(*added)(call)  # type: ignore[assignment]  # it takes other arguments, all by name
        return made

    return add


def typed_flags() -> dict[str, str]:
    """What is on the command line of the command that runs, as it is written, by name of the parameter."""
    context = click.get_current_context()
    return {
        option.name: option.opts[0]
        for option in context.command.params
        if option.name and context.get_parameter_source(option.name) is ParameterSource.COMMANDLINE
    }
