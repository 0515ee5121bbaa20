"""Reads passwords and tokens from variables, files and Secrets; they never appear in a message."""

from __future__ import annotations

import asyncio
import base64
import binascii
import os

from vsched.api.resources import SECRETS
from vsched.collectors import words
from vsched.collectors.source import SourceError
from vsched.errors import BadInput, VschedError
from vsched.files import content
from vsched.kube.client import ApiClient
from vsched.settings.metrics import Hidden, KubernetesSecret
from vsched.settings.reach import Reach


class Keeper:
    """One password or token; a Secret of the cluster is read once, and again after ``forget``."""

    def __init__(self, hidden: Hidden, client: ApiClient, reach: Reach) -> None:
        self._hidden = hidden
        self._reach = reach
        self._client = client
        self._known: str | None = None
        self._asking = asyncio.Lock()

    def forget(self) -> None:
        """The service refused it: read it again, as there may be a new one."""
        self._known = None

    async def text(self) -> str:
        """The password or token, empty if there is none; raises SourceError."""
        hidden = self._hidden
        if hidden.env:
            if hidden.env not in os.environ:
                raise SourceError(words.no_environment_variable(hidden.env))
            return os.environ[hidden.env]
        if hidden.file:
            return _text_of(hidden.file, self._reach)
        if hidden.secret.name:
            async with self._asking:
                if self._known is None:
                    self._known = await self._from_cluster(hidden.secret)
                return self._known
        return hidden.text

    async def _from_cluster(self, secret: KubernetesSecret) -> str:
        where = f"Secret {secret.namespace}/{secret.name}"
        try:
            found = await self._client.get(SECRETS.path(secret.namespace, secret.name))
        except VschedError as error:
            raise SourceError(f"{where}: {error}") from error
        encoded = (found.get("data") or {}).get(secret.key)
        if encoded is None:
            raise SourceError(words.no_key(where, secret.key))
        try:
            return base64.b64decode(encoded, validate=True).decode().strip()
        except (binascii.Error, ValueError):
            raise SourceError(words.no_base64(where, secret.key)) from None


def _text_of(file: str, reach: Reach) -> str:
    try:
        return content(file, below=reach.directories).decode("utf-8").strip()
    except BadInput as error:
        raise SourceError(str(error)) from error
    except UnicodeDecodeError:
        raise SourceError(words.no_text(file)) from None
