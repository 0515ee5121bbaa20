"""Flags from the environment: the variable of a flag is the flag's own name, not that of its parameter."""

from __future__ import annotations

from collections.abc import Iterator

import click

PREFIX = "VSCHED"


def by_environment(command: click.Command) -> click.Command:
    """The command, with a variable for every flag, such as VSCHED_SCHEDULER_CONF for ``--scheduler-conf``."""
    for name, option in variables(command):
        option.envvar = name
    return command


def variables(command: click.Command) -> Iterator[tuple[str, click.Option]]:
    """Every flag of a command, with its variable."""
    for option in command.params:
        if isinstance(option, click.Option):
            flag = max(option.opts, key=len)
            yield f"{PREFIX}_{flag.lstrip('-').replace('-', '_').upper()}", option
