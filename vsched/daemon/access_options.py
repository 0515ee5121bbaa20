"""Options of authentication, authorization and TLS of a daemon's ports, and which of them go together."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path
from typing import Literal

import msgspec

from vsched.errors import BadInput

Authentication = Literal["none", "certificate", "token-file", "tokenreview"]
"""How those who ask are known; a client certificate counts with any but the first where there is an authority."""
PortName = Literal["listen", "webhook", "healthz"]


class AccessOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Who has access, and which ports use TLS. Users are checked at ``--listen-address`` only, never for probes."""

    tls_on: tuple[PortName, ...] = ("listen", "webhook")
    """Ports that are served over TLS where there is a certificate. The webhook's is in any case."""
    authentication: Authentication = "none"
    token_file: Path | None = None
    """Tokens and their users, in the format of Kubernetes' servers; read again when it changes."""
    token_audiences: tuple[str, ...] = ()
    """What tokens have to be meant for, with ``tokenreview``; empty for the API server itself."""
    client_ca_file: Path | None = None
    """Who signs the certificates of clients; read again when it changes."""
    webhook_client_ca_file: Path | None = None
    """Who signs the API server's; then it has to show one."""
    allow_users: tuple[str, ...] = ()
    """With ``allow_groups``: who may ask. Where nobody is named: everybody who is known, and with ``tokenreview`` those
    to whom RBAC gives the path."""
    allow_groups: tuple[str, ...] = ()

    @property
    def named(self) -> bool:
        """Whether users or groups are named."""
        return bool(self.allow_users or self.allow_groups)


def check_access(access: AccessOptions, listen_address: str, *, tls: bool) -> None:
    """Raise BadInput where options do not go together; ``tls`` says whether there is a certificate."""
    way = f"--authentication {access.authentication}"
    secured = tls and "listen" in access.tls_on
    if access.authentication == "none":
        _check_unused(access)
    elif not secured and (access.client_ca_file is not None or not _stays_here(listen_address)):
        raise BadInput(f"{way}: --listen-address is without TLS (expected --tls-cert-file, and --tls-on listen)")
    if access.authentication == "certificate" and access.client_ca_file is None:
        raise BadInput(f"{way}: no client could be authenticated (expected --client-ca-file)")
    if (access.authentication == "token-file") != (access.token_file is not None):
        raise BadInput("--token-file: goes with --authentication token-file, and that with it")
    if access.token_audiences and access.authentication != "tokenreview":
        raise BadInput("--token-audience: has no effect here (expected --authentication tokenreview)")
    if access.webhook_client_ca_file is not None and not tls:
        raise BadInput("--webhook-client-ca-file: there is no webhook without TLS (expected --tls-cert-file)")
    if "healthz" in access.tls_on and not tls:
        raise BadInput("--tls-on healthz: there is no certificate (expected --tls-cert-file)")


def _check_unused(access: AccessOptions) -> None:
    """Raise BadInput for options that have no effect without authentication."""
    given = {
        "--token-file": access.token_file is not None,
        "--client-ca-file": access.client_ca_file is not None,
        "--allow-user": bool(access.allow_users),
        "--allow-group": bool(access.allow_groups),
    }
    for flag, there in given.items():
        if there:
            raise BadInput(f"{flag}: needs authentication (expected --authentication other than none)")


def _stays_here(address: str) -> bool:
    """Whether only this machine reaches the address: a local proxy may end TLS and pass tokens on."""
    host = address.rpartition(":")[0].strip("[]")
    if not address or host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
