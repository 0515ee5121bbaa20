"""Where a daemon listens: which routes at which address, and over TLS with which certificate."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import NamedTuple

from vsched.daemon.options import Options
from vsched.errors import BadInput
from vsched.web.routes import Route
from vsched.web.server import serving
from vsched.web.tls import ReloadingContext


class Served(NamedTuple):
    """Routes at an address."""

    flag: str
    """The flag that names the address, for complaints."""
    address: str
    """Empty for nowhere."""
    routes: Sequence[Route]
    certificate: ReloadingContext | None = None
    """None for plain HTTP."""


def certificate_of(options: Options) -> ReloadingContext | None:
    """The certificate that the options name, None where they name none; raises BadInput where it cannot be used."""
    files = (options.tls_cert_file, options.tls_key_file)
    match files:
        case (Path() as certificate, Path() as key):
            return ReloadingContext(certificate, key)
        case (None, None):
            return None
    missing = "--tls-cert-file" if options.tls_cert_file is None else "--tls-private-key-file"
    raise BadInput(f"{missing}: missing (a certificate and its key are needed together)")


async def listen(stack: AsyncExitStack, served: Sequence[Served]) -> dict[str, int]:
    """Listen everywhere until the stack is closed; returns the port by flag."""
    return {
        each.flag: await stack.enter_async_context(
            serving(each.routes, each.address, each.flag, each.certificate.context if each.certificate else None)
        )
        for each in served
        if each.address
    }
