"""Makes the certificate that this process serves, keeps it in a Secret that replicas share, and renews it in time.

The Secret has to exist; any replica fills it. A write names the version that it was decided on, so that of two replicas
one wins and the other takes what that one made. The API server is told of the authority before the certificate is used.
"""

from __future__ import annotations

import asyncio
import os
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from vsched.api.resources import SECRETS
from vsched.clock import Clock
from vsched.daemon.options import Options, tls_secret_of
from vsched.daemon.system.served_pair import ServedPair
from vsched.daemon.words import log as words
from vsched.errors import VschedError
from vsched.kube.client import ApiClient
from vsched.kube.errors import Conflict, NotFound
from vsched.kube.paths import ApiResource

ADMISSION = "admissionregistration.k8s.io"
HOOKS = (
    ApiResource(ADMISSION, "v1", "validatingwebhookconfigurations", namespaced=False),
    ApiResource(ADMISSION, "v1", "mutatingwebhookconfigurations", namespaced=False),
)
DAYS = 90.0
"""How long a certificate is valid; it is renewed after two thirds of that."""
LOOK_SECONDS = 60.0
FIELDS = ("ca.crt", "tls.crt", "tls.key")


class CertificateKeeper:
    """Keeps one certificate."""

    def __init__(self, options: Options, client: ApiClient, clock: Clock) -> None:
        assert options.tls_cert_file is not None
        assert options.tls_key_file is not None
        self._files = {options.tls_cert_file: "certificate", options.tls_key_file: "key"}
        self._names = options.tls_names
        self._hooks = options.webhook_configuration
        self._secret = SECRETS.path(*tls_secret_of(options))
        self._client = client
        self._clock = clock

    async def keep(self) -> None:
        """Make or renew the pair if it is due, and put it where it is served from; raises what the client raises."""
        pair = await self._pair()
        if self._hooks:
            for resource in HOOKS:
                await self._trust(resource.path("", self._hooks), b64encode(pair.authorities).decode())
        for path, field in self._files.items():
            _write(path, getattr(pair, field))

    async def run(self, worry: Callable[..., None]) -> None:
        """Look again and again until cancelled. Where nobody answers, what is served stays."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await self.keep()
            except (VschedError, OSError) as error:
                worry(words.CERTIFICATE_NOT_KEPT, problem=str(error))

    async def _pair(self) -> ServedPair:
        from vsched.daemon.system.authority import is_due, new_pair

        while True:
            found = await self._client.get(self._secret)
            there = _pair_in(found)
            if there is not None and not is_due(there, self._names, self._clock.now()):
                return there
            made = new_pair(self._names, self._clock.now(), DAYS, there)
            data = {field: b64encode(value).decode() for field, value in zip(FIELDS, made, strict=True)}
            version = found["metadata"]["resourceVersion"]
            with suppress(Conflict):  # another replica was faster
                await self._client.patch(self._secret, {"metadata": {"resourceVersion": version}, "data": data})
                return made

    async def _trust(self, path: str, authorities: str) -> None:
        """Have the API server trust these authorities where it calls webhooks of a configuration, if it is there."""
        try:
            found = await self._client.get(path)
        except NotFound:
            return
        hooks: list[Any] = found.get("webhooks") or []
        if all(hook["clientConfig"].get("caBundle") == authorities for hook in hooks):
            return
        hooks = [{**hook, "clientConfig": {**hook["clientConfig"], "caBundle": authorities}} for hook in hooks]
        version = found["metadata"]["resourceVersion"]
        with suppress(Conflict):  # another replica does the same
            await self._client.patch(path, {"metadata": {"resourceVersion": version}, "webhooks": hooks})


@asynccontextmanager
async def kept_certificate(
    options: Options, client: ApiClient, clock: Clock, worry: Callable[..., None]
) -> AsyncIterator[None]:
    """Have the certificate that the options ask for while the block runs; nothing to do where they ask for none."""
    if not options.tls_secret:
        yield
        return
    keeper = CertificateKeeper(options, client, clock)
    await keeper.keep()
    renewing = asyncio.create_task(keeper.run(worry), name="certificate")
    try:
        yield
    finally:
        renewing.cancel()
        with suppress(asyncio.CancelledError):
            await renewing


def _pair_in(secret: dict[str, Any]) -> ServedPair | None:
    data = secret.get("data") or {}
    if not all(data.get(field) for field in FIELDS):
        return None
    return ServedPair(*(b64decode(data[field]) for field in FIELDS))


def _write(path: Path, content: bytes) -> None:
    """Replace a file at once, readable by us alone; one that has this content already stays as it is."""
    if path.exists() and path.read_bytes() == content:
        return
    new = path.with_name(f".{path.name}.new")
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(content)
    new.replace(path)
