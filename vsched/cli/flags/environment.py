"""Flags by environment: the variable of a flag is the flag's own name, whatever the code calls its value."""

from __future__ import annotations

from collections.abc import Iterator

import click

PREFIX = "VSCHED"


def by_environment(command: click.Command) -> click.Command:
    """The command, every flag of which can be set by its variable, as ``--scheduler-conf`` by VSCHED_SCHEDULER_CONF."""
    for name, option in variables(command):
        option.envvar = name
    return command


def variables(command: click.Command) -> Iterator[tuple[str, click.Option]]:
    """Every flag of a command, with the variable it can be set by."""
    for option in command.params:
        if isinstance(option, click.Option):
            flag = max(option.opts, key=len)
            yield f"{PREFIX}_{flag.lstrip('-').replace('-', '_').upper()}", option
