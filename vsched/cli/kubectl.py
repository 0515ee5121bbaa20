"""``kubectl vsched``: the same commands as a plugin of kubectl, found by the name that the program is called by.

kubectl runs ``kubectl-vsched`` for ``kubectl vsched``, and asks ``kubectl_complete-vsched`` what may come next.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import PurePath

import click
from click.shell_completion import CompletionItem, ShellComplete

PLAIN, PLUGIN, COMPLETER = "vsched", "kubectl-vsched", "kubectl_complete-vsched"
"""Names that the program may be called by; the last two are kubectl's rule."""
AS_PLUGIN = "kubectl vsched"
"""What a person types then, and what help texts show."""

FLAGS = frozenset({"-n", "--namespace", "--context", "--kubeconfig"})
"""Flags of kubectl that our commands have as well, and that people put anywhere."""

NO_FILES, FILES, DIRECTORIES = ":4", ":0", ":16"
"""What kubectl's shell functions are to do besides: offer nothing more, or files, or directories."""


def called_as(argument: str) -> str:
    """Which of our names the program was called by; ``vsched`` for any other."""
    name = PurePath(argument).name.removesuffix(".exe")
    return name if name in (PLUGIN, COMPLETER) else PLAIN


def reordered(words: Sequence[str]) -> list[str]:
    """The words with the flags of kubectl that come before the command moved behind it, where it expects them."""
    rest, flags = list(words), list[str]()
    while rest and rest[0].partition("=")[0] in FLAGS:
        taken = 1 if "=" in rest[0] else 2
        flags += rest[:taken]
        rest = rest[taken:]
    end = rest.index("--") if "--" in rest else len(rest)
    return [*rest[:end], *flags, *rest[end:]] if rest else flags


def spoken(command: click.Command) -> click.Command:
    """The command, whose examples call the program as kubectl's plugin is called."""
    told = copy.copy(command)
    if told.epilog:
        told.epilog = told.epilog.replace(f"  {PLAIN} ", f"  {AS_PLUGIN} ")
    if isinstance(told, click.Group):
        told.commands = {name: spoken(below) for name, below in told.commands.items()}
    return told


def completions(cli: click.Command, words: Sequence[str]) -> list[str]:
    """The lines that kubectl expects: what may stand for the last word, then what its shell functions are to do."""
    *before, incomplete = words or [""]
    found = ShellComplete(cli, {}, AS_PLUGIN, "").get_completions(list(before), incomplete)
    offered = [_line(item) for item in found if item.type == "plain"]
    kinds = {item.type for item in found}
    return [*offered, FILES if "file" in kinds else DIRECTORIES if "dir" in kinds else NO_FILES]


def _line(item: CompletionItem[str]) -> str:
    return f"{item.value}\t{item.help}" if item.help else str(item.value)
