"""The wings: packages besides the scheduler that bring commands of their own, where they are installed."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from vsched.cli import words
from vsched.errors import BadInput

EXTRAS = {"vsched.sim": "cluster", "vsched.lab": "lab"}
"""Packages of the wings, and the extra of ``pip install`` that brings each."""


def is_installed(module: str) -> bool:
    """Whether the wing of a module is installed."""
    return find_spec(_wing_of(module)) is not None


def load(module: str, command: str) -> Any:
    """A module of a wing; raises BadInput with what to install where the command's wing is not."""
    if not is_installed(module):
        raise BadInput(words.not_installed(command, EXTRAS[_wing_of(module)]))
    return import_module(module)


def _wing_of(module: str) -> str:
    return ".".join(module.split(".")[:2])
