"""A server's TLS context whose certificate is read again when its files change.

Certificates are short-lived: whatever renews them writes the files anew, and new connections are answered with the new
pair from then on. Those that are open go on with what they began with. A pair that cannot be used changes nothing.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from vsched.errors import BadInput
from vsched.kube.errors import one_line

LOOK_SECONDS = 5.0
"""Between two looks at the files. Volumes swap links and some file systems tell of nothing, so they are read."""


class Renewal(NamedTuple):
    """What came of looking at files that had changed."""

    ok: bool
    text: str


class ReloadingContext:
    """A TLS context for a server, and the files its certificate and key come from.

    Raises BadInput where the first pair cannot be used.
    """

    def __init__(
        self, certificate_file: Path, key_file: Path, what: str = "--tls-cert-file and --tls-private-key-file"
    ) -> None:
        self._files = (certificate_file, key_file)
        self._what = what
        self._refused = ""
        self._digest = self._sum()
        self._current = self._load()
        self.context = _context()
        """For the server. It is never changed itself: a pair half replaced would answer nobody."""
        self.context.sni_callback = self._choose

    def look(self) -> Renewal | None:
        """Take a changed pair into use if it is good; None where there is nothing to tell."""
        try:
            digest = self._sum()
            found = self._load() if digest != self._digest else None
        except BadInput as error:
            # The two files change one after the other, so what does not fit now may fit at the next look.
            if str(error) == self._refused:
                return None
            self._refused = str(error)
            return Renewal(False, f"{error}; the former certificate stays in use")
        if found is None:
            back, self._refused = bool(self._refused), ""
            return Renewal(True, "back to the certificate in use") if back else None
        self._digest, self._current, self._refused = digest, found, ""
        return Renewal(True, f"new certificate in use, from {self._files[0]}")

    async def run(self, told: Callable[[Renewal], None], seconds: float = LOOK_SECONDS) -> None:
        """Look now and then, until cancelled."""
        while True:
            await asyncio.sleep(seconds)
            renewal = self.look()
            if renewal is not None:
                told(renewal)

    def _choose(self, connection: ssl.SSLObject, name: str | None, context: ssl.SSLContext) -> None:
        """Called at the beginning of every handshake, also where the client names no host."""
        connection.context = self._current

    def _sum(self) -> bytes:
        """What is in the files, as a number to tell a change by; taken before they are used, so that none is missed."""
        contents = []
        for file in self._files:
            try:
                contents.append(sha256(file.read_bytes()).digest())
            except OSError as error:
                raise BadInput(f"{self._what}: {file}: cannot be read: {error.strerror or error}") from None
        return b"".join(contents)

    def _load(self) -> ssl.SSLContext:
        certificate, key = self._files
        context = _context()
        try:
            context.load_cert_chain(certificate, key, password=_no_password)
        except (ssl.SSLError, OSError) as error:
            text = one_line(str(error))
            expected = "expected a certificate and its key without a password, in PEM form"
            raise BadInput(f"{self._what}: {certificate} and {key}: cannot be used: {text} ({expected})") from None
        return context


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _no_password() -> str:
    """Without this, OpenSSL asks at the terminal."""
    return ""
