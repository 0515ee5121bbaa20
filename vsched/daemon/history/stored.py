"""The ConfigMap that has the usage history: read, and written over the version that was read last."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import NamedTuple

import msgspec
import orjson

from vsched.api.base import Metadata, Wire
from vsched.api.resources import CONFIG_MAPS
from vsched.daemon.lead.election import home_of
from vsched.daemon.options import Options
from vsched.daemon.words import files as words
from vsched.errors import UNREADABLE, why_unreadable
from vsched.kube.client import JSON, MERGE_PATCH, ApiClient
from vsched.kube.errors import NotFound
from vsched.kube.times import time_stamp
from vsched.model.history.packing import VERSION, BadHistory, PackedHistory, unpack
from vsched.model.history.records import UsageHistory
from vsched.writes.bodies import ObjectReference
from vsched.writes.limits import Attempts
from vsched.writes.writer import Write, Writer, WriteResult

KEY = "history"
"""The key of the packed history in ``binaryData``."""
WRITER = "writer"
"""The key in ``data`` that names the process that wrote it."""
ENDING = "usage-history"


class _Object(Wire):
    metadata: Metadata


class _Content(Wire):
    data: dict[str, str] | None = None
    binary_data: dict[str, bytes] | None = None


_OBJECT, _CONTENT = msgspec.json.Decoder(_Object), msgspec.json.Decoder(_Content)


class Found(NamedTuple):
    """What was read."""

    there: bool = True
    """Whether there is such an object."""
    history: UsageHistory | None = None
    problem: str = ""
    """Why its content cannot be used; empty where it can."""
    writer: str = ""
    """Which process wrote it."""


class HistoryObject:
    """The ConfigMap, as this process knows it."""

    def __init__(self, client: ApiClient, writer: Writer, namespace: str, name: str, identity: str) -> None:
        """``identity`` is the name of this process, unique among all."""
        self.namespace, self.name, self.identity = namespace, name, identity
        self._client = client
        self._writer = writer
        self._uid = self._version = ""
        """Of the object as last read or written; empty where there is none."""

    def __str__(self) -> str:
        return f"configmap {self.namespace}/{self.name}"

    @property
    def reference(self) -> ObjectReference:
        """What Events are about."""
        return ObjectReference("v1", "ConfigMap", self.namespace, self.name, self._uid)

    @property
    def is_there(self) -> bool:
        """Whether there was such an object when it was last read or written."""
        return bool(self._version)

    async def read(self) -> Found:
        """What is there now; raises ApiError or Unavailable."""
        try:
            answer = await self._client.request("GET", CONFIG_MAPS.path(self.namespace, self.name), attempts=1)
        except NotFound:
            self._uid = self._version = ""
            return Found(there=False)
        try:
            metadata = _OBJECT.decode(answer.body).metadata
        except UNREADABLE as error:
            return Found(problem=why_unreadable(error))
        self._uid, self._version = metadata.uid, metadata.resource_version
        return _content_of(answer.body)

    async def write(self, packed: PackedHistory, history: UsageHistory, attempts: Attempts) -> WriteResult:
        """Write the history, only over the version that was read or written last."""
        content = {
            "data": self._about(packed, history),
            "binaryData": {KEY: base64.b64encode(packed.body).decode()},
        }
        answer = await self._writer.send(self._patch(content) if self._version else self._create(content), attempts)
        if answer.done:
            try:
                metadata = _OBJECT.decode(answer.body).metadata
                self._uid, self._version = metadata.uid, metadata.resource_version
            except UNREADABLE:
                self._version = "0"  # some version that is not the present one: the next write is refused, and reads it
        return answer

    def _patch(self, content: Mapping[str, object]) -> Write:
        body = {"metadata": {"uid": self._uid, "resourceVersion": self._version}, **content}
        path = CONFIG_MAPS.path(self.namespace, self.name)
        return Write("usage-history", "PATCH", path, orjson.dumps(body), MERGE_PATCH)

    def _create(self, content: Mapping[str, object]) -> Write:
        labels = {"app.kubernetes.io/managed-by": "vsched"}
        metadata = {"name": self.name, "namespace": self.namespace, "labels": labels}
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **content}
        return Write("usage-history", "POST", CONFIG_MAPS.path(self.namespace), orjson.dumps(body), JSON)

    def _about(self, packed: PackedHistory, history: UsageHistory) -> dict[str, str]:
        """What people may want to know without unpacking it."""
        return {
            "version": str(VERSION),
            "at": time_stamp(history.at),
            "since": time_stamp(history.since),
            "holders": str(packed.holders),
            "left-out": lessening_of(packed),
            WRITER: self.identity,
        }


def _content_of(body: bytes) -> Found:
    try:
        content = _CONTENT.decode(body)
    except UNREADABLE as error:
        return Found(problem=why_unreadable(error))
    writer = (content.data or {}).get(WRITER, "")
    packed = (content.binary_data or {}).get(KEY)
    if packed is None:
        return Found(problem=words.no_content(KEY), writer=writer)
    try:
        return Found(history=unpack(packed), writer=writer)
    except BadHistory as error:
        return Found(problem=str(error), writer=writer)


def lessening_of(packed: PackedHistory) -> str:
    """What a history lost so that it fits into an object; empty where that is nothing."""
    parts = []
    if packed.rounded:
        parts.append(words.ROUNDED)
    if packed.merged:
        parts.append(words.merged(packed.merged))
    if packed.dropped:
        parts.append(words.left_out(packed.dropped))
    return ", ".join(parts)


def history_object(options: Options, client: ApiClient, writer: Writer, identity: str) -> HistoryObject:
    """The ConfigMap of a daemon with these options."""
    return HistoryObject(client, writer, *place_of(options, home_of(client.connection)), identity)


def place_of(options: Options, namespace: str) -> tuple[str, str]:
    """Namespace and name of the ConfigMap: beside the Lease, whether that is used or not, and named like it.

    ``namespace`` is where the Lease is, if the options do not say.
    """
    return options.lease.namespace or namespace, f"{options.lease.name}-{ENDING}"
