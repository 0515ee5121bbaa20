"""``vsched completion``: a script by which a shell completes commands, flags and names."""

from __future__ import annotations

import click

EPILOG = """\b
Examples:
  source <(vsched completion bash)                                      (this shell)
  vsched completion bash > /etc/bash_completion.d/vsched                (every new shell)
  vsched completion zsh > "${fpath[1]}/_vsched"
  vsched completion fish > ~/.config/fish/completions/vsched.fish
"""

VARIABLE = "_VSCHED_COMPLETE"
"""The variable through which the script asks the program."""


@click.command("completion", epilog=EPILOG)
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
def command(shell: str) -> None:
    """Print a completion script for a shell: the tab key then completes commands, flags and names.

    Names of queues, jobs, namespaces and nodes come from the daemon ($VSCHED_DAEMON, else on this machine), if it
    answers within a second. kubectl's own script completes ``kubectl vsched``.
    """
    from click.shell_completion import get_completion_class

    from vsched.cli import cli
    from vsched.cli.kubectl import PLAIN

    made = get_completion_class(shell)
    assert made is not None  # the argument is one of click's shells
    click.echo(made(cli, {}, PLAIN, VARIABLE).source())
