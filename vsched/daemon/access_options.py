"""Options of authentication, authorization and TLS of a daemon's ports, and which of them go together."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path
from typing import Literal

import msgspec

from vsched.daemon.words import options as words
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
        raise BadInput(words.listens_without_tls(way))
    if access.authentication == "certificate" and access.client_ca_file is None:
        raise BadInput(words.no_client_possible(way))
    if (access.authentication == "token-file") != (access.token_file is not None):
        raise BadInput(words.TOKEN_FILE_ALONE)
    if access.token_audiences and access.authentication != "tokenreview":
        raise BadInput(words.AUDIENCE_WITHOUT_EFFECT)
    if access.webhook_client_ca_file is not None and not tls:
        raise BadInput(words.CLIENT_CA_WITHOUT_TLS)
    if "healthz" in access.tls_on and not tls:
        raise BadInput(words.HEALTHZ_WITHOUT_CERTIFICATE)


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
            raise BadInput(words.needs_authentication(flag))


def _stays_here(address: str) -> bool:
    """Whether only this machine reaches the address: a local proxy may end TLS and pass tokens on."""
    host = address.rpartition(":")[0].strip("[]")
    if not address or host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
