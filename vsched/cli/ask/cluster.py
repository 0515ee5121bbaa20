"""Which cluster is meant: the flags that say so, a client of it, its objects, and the default namespace."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from vsched.cli.ask import words
from vsched.cli.options import options_as_one
from vsched.errors import BadInput

if TYPE_CHECKING:  # imported where it is used, so that --help does not load the client
    from vsched.kube.client import ApiClient
    from vsched.kube.paths import ApiResource

T = TypeVar("T")
Obj = dict[str, Any]


class ClusterFlags(NamedTuple):
    """The values of ``--kubeconfig`` and ``--context``."""

    kubeconfig: Path | None = None
    context: str | None = None


USUAL_CLUSTER = ClusterFlags()
"""The one that kubectl takes without flags."""

cluster_flags = options_as_one(
    "cluster",
    ClusterFlags,
    click.option(
        "--kubeconfig",
        type=click.Path(path_type=Path),
        help="kubeconfig file  [default: $KUBECONFIG, ~/.kube/config, or the service account of the pod]",
    ),
    click.option("--context", help="context of the kubeconfig  [default: the current one]"),
)
"""Adds the flags that say which cluster is meant; the command gets them as ``cluster``."""


def with_client(cluster: ClusterFlags, use: Callable[[ApiClient], Coroutine[Any, Any, T]]) -> T:
    """Run ``use`` with a client of this cluster, and return its result."""
    from vsched.kube.auth.config import load_connection
    from vsched.kube.client import ApiClient

    async def run() -> T:
        async with ApiClient(load_connection(*cluster)) as client:
            return await use(client)

    return asyncio.run(run())


async def objects_of(
    client: ApiClient, resource: ApiResource, absent: Callable[[str, object], str] = words.are_not_served
) -> list[Obj]:
    """All objects of a custom resource; raises BadInput with ``absent`` where the server does not know it."""
    from vsched.kube.errors import NotFound

    try:
        found: list[Obj] = (await client.list(resource.path()))["items"]
    except NotFound:
        raise BadInput(absent(client.connection.server, resource)) from None
    return found


async def allocatable_of_nodes(client: ApiClient) -> list[dict[str, str]]:
    """The allocatable amounts of every node; empty where we may not read nodes."""
    from vsched.api.resources import NODES
    from vsched.kube.errors import Forbidden

    try:
        listed = await client.list(NODES.path())
    except Forbidden:
        return []
    return [(node.get("status") or {}).get("allocatable") or {} for node in listed["items"]]


def full_name(name: str, namespace: str | None, cluster: ClusterFlags = USUAL_CLUSTER) -> str:
    """``NS/NAME`` for a name that a user typed: a bare name is in ``namespace``, else in kubectl's default one.

    Raises BadInput where the name has another namespace than ``namespace``, or is malformed.
    """
    stated, slash, alone = name.rpartition("/")
    if not alone or "/" in stated or (slash and not stated):
        raise BadInput(f"{name!r}: expected NAMESPACE/NAME, or NAME with -n NAMESPACE")
    if slash:
        if namespace is not None and namespace != stated:
            raise BadInput(words.which_namespace(name, namespace))
        return name
    return f"{namespace or _default_namespace(cluster)}/{name}"


def _default_namespace(cluster: ClusterFlags) -> str:
    from vsched.kube.auth.config import load_connection

    try:
        return load_connection(*cluster).namespace
    except BadInput:
        if cluster != USUAL_CLUSTER:
            raise
        return "default"
