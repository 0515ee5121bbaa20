"""A server's TLS context whose certificate is read again when its files change.

New connections then use the new pair; open ones keep theirs. An invalid pair changes nothing.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from vsched.errors import BadInput
from vsched.kube.errors import one_line
from vsched.web.serve.renewal import LOOK_SECONDS, Renewal, Renewed
from vsched.web.words import access as words


class Callers(NamedTuple):
    """Client certificates that the server asks for."""

    authority_file: Path
    """The certificates of their authorities, in PEM form."""
    flag: str
    demanded: bool = False
    """Whether the handshake fails without one."""


class ReloadingContext:
    """A TLS context for a server, and the files its certificate and key come from.

    Raises BadInput where the first content cannot be used.
    """

    def __init__(
        self,
        certificate_file: Path,
        key_file: Path,
        what: str = words.CERTIFICATE_FLAGS,
        callers: Callers | None = None,
    ) -> None:
        self._files = (certificate_file, key_file)
        self._what = what
        self._callers = callers
        more, flags = ((), what) if callers is None else ((callers.authority_file,), f"{what}, {callers.flag}")
        self._renewed = Renewed(flags, "certificate", (*self._files, *more), self._load)
        self.context = _context(callers)
        """For the server. It is never changed, as a half replaced pair would break connections."""
        self.context.sni_callback = self._choose

    def look(self) -> Renewal | None:
        """Use a changed pair if it is valid; None where there is nothing to report."""
        return self._renewed.look()

    async def run(self, on_renewal: Callable[[Renewal], None], seconds: float = LOOK_SECONDS) -> None:
        """Look now and then, until cancelled."""
        await self._renewed.run(on_renewal, seconds)

    def _choose(self, connection: ssl.SSLObject, name: str | None, context: ssl.SSLContext) -> None:
        """Called at the beginning of every handshake, also without a server name."""
        connection.context = self._renewed.current

    def _load(self) -> ssl.SSLContext:
        certificate, key = self._files
        context = _context(self._callers)
        try:
            context.load_cert_chain(certificate, key, password=_no_password)
        except (ssl.SSLError, OSError) as error:
            text = one_line(str(error))
            raise BadInput(words.certificate_unusable(self._what, certificate, key, text)) from None
        if self._callers is not None:
            _trust(context, self._callers)
        return context


def _context(callers: Callers | None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION
    if callers is not None:
        context.verify_mode = ssl.CERT_REQUIRED if callers.demanded else ssl.CERT_OPTIONAL
        # A resumed session would keep its old certificate, even if it is no longer trusted.
        context.options |= ssl.OP_NO_TICKET
        context.num_tickets = 0
    return context


def _trust(context: ssl.SSLContext, callers: Callers) -> None:
    try:
        context.load_verify_locations(callers.authority_file)
    except (ssl.SSLError, OSError) as error:
        text = one_line(str(error))
        raise BadInput(words.authorities_unusable(callers.flag, callers.authority_file, text)) from None


def _no_password() -> str:
    """Without this, OpenSSL asks at the terminal."""
    return ""
