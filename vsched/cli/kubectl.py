"""``kubectl vsched``: the same commands as a plugin of kubectl.

kubectl runs the program ``kubectl-vsched`` for ``kubectl vsched``, and ``kubectl_complete-vsched`` for completions.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import PurePath

import click
from click.shell_completion import CompletionItem, ShellComplete

PLAIN, PLUGIN, COMPLETER = "vsched", "kubectl-vsched", "kubectl_complete-vsched"
"""Names of the program; kubectl prescribes the last two."""
AS_PLUGIN = "kubectl vsched"
"""How a user calls the plugin, for help texts."""

FLAGS = frozenset({"-n", "--namespace", "--context", "--kubeconfig"})
"""Flags of kubectl that our commands have, too; users may put them before the command."""

NO_FILES, FILES, DIRECTORIES = ":4", ":0", ":16"
"""Directives to kubectl's shell functions: offer no files, files, or directories."""


def called_as(argument: str) -> str:
    """The name by which the program was called; ``vsched`` for any other."""
    name = PurePath(argument).name.removesuffix(".exe")
    return name if name in (PLUGIN, COMPLETER) else PLAIN


def reordered(words: Sequence[str]) -> list[str]:
    """The words with kubectl's flags moved from before the command to behind it."""
    rest, flags = list(words), list[str]()
    while rest and rest[0].partition("=")[0] in FLAGS:
        taken = 1 if "=" in rest[0] else 2
        flags += rest[:taken]
        rest = rest[taken:]
    end = rest.index("--") if "--" in rest else len(rest)
    return [*rest[:end], *flags, *rest[end:]] if rest else flags


def as_plugin(command: click.Command) -> click.Command:
    """The command with examples that call the plugin."""
    plugin = copy.copy(command)
    if plugin.epilog:
        plugin.epilog = plugin.epilog.replace(f"  {PLAIN} ", f"  {AS_PLUGIN} ")
    if isinstance(plugin, click.Group):
        plugin.commands = {name: as_plugin(subcommand) for name, subcommand in plugin.commands.items()}
    return plugin


def completions(cli: click.Command, words: Sequence[str]) -> list[str]:
    """The lines that kubectl expects: candidates for the last word, then a directive."""
    *before, incomplete = words or [""]
    found = ShellComplete(cli, {}, AS_PLUGIN, "").get_completions(list(before), incomplete)
    offered = [_line(item) for item in found if item.type == "plain"]
    kinds = {item.type for item in found}
    return [*offered, FILES if "file" in kinds else DIRECTORIES if "dir" in kinds else NO_FILES]


def _line(item: CompletionItem[str]) -> str:
    return f"{item.value}\t{item.help}" if item.help else str(item.value)
