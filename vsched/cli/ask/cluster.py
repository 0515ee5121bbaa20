"""Which cluster is meant: the flags that say so, a client of it, and the namespace that goes without saying."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from vsched.errors import BadInput

if TYPE_CHECKING:
    from vsched.kube.client import ApiClient

C = TypeVar("C", bound=Callable[..., Any])
T = TypeVar("T")


def reaching(command: C) -> C:
    """The flags that say which cluster is meant."""
    for option in (
        click.option("--context", help="context of the kubeconfig, where not its current one"),
        click.option(
            "--kubeconfig",
            type=click.Path(path_type=Path),
            help="kubeconfig file; else $KUBECONFIG, ~/.kube/config, or the account of the pod it runs in",
        ),
    ):
        command = option(command)
    return command


def on_client(kubeconfig: Path | None, context: str | None, use: Callable[[ApiClient], Coroutine[Any, Any, T]]) -> T:
    """What comes of using a client of the cluster that the flags name."""
    from vsched.kube.client import ApiClient
    from vsched.kube.config import load_connection

    async def run() -> T:
        async with ApiClient(load_connection(kubeconfig, context)) as client:
            return await use(client)

    return asyncio.run(run())


def full_name(name: str, namespace: str | None, kubeconfig: Path | None = None, context: str | None = None) -> str:
    """``NS/NAME`` of what a person calls so: a name alone is in ``-n``, else in the namespace that kubectl would take.

    Raises BadInput where both say a namespace and they differ, or where it is no name.
    """
    stated, slash, alone = name.rpartition("/")
    if not alone or "/" in stated or (slash and not stated):
        raise BadInput(f"{name!r}: expected NAMESPACE/NAME, or NAME with -n NAMESPACE")
    if slash:
        if namespace is not None and namespace != stated:
            raise BadInput(f"{name!r} with -n {namespace}: which namespace is meant?")
        return name
    return f"{namespace or _usual_namespace(kubeconfig, context)}/{name}"


def _usual_namespace(kubeconfig: Path | None, context: str | None) -> str:
    from vsched.kube.config import load_connection

    try:
        return load_connection(kubeconfig, context).namespace
    except BadInput:
        if kubeconfig is not None or context is not None:
            raise
        return "default"
