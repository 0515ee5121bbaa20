"""Publishes where the leader is: by a label on its pod, or by its address in an EndpointSlice.

Some requests only the leader can answer, so a Service must lead to it alone. In a cluster, the Service selects the
leader's pod by a label (``kubectl port-forward`` finds it, too). A daemon outside of the cluster writes its address
into an EndpointSlice of a Service without a selector.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from ipaddress import ip_address
from typing import Any, Protocol

import orjson

from vsched.api.resources import PODS
from vsched.daemon.options import Options, leader_pod_of, leader_service_of, port_of
from vsched.daemon.tasks import LongLived
from vsched.daemon.words import log as log_words
from vsched.daemon.words import tasks as words
from vsched.errors import Unavailable
from vsched.kube.client import MERGE_PATCH, ApiClient
from vsched.kube.errors import ApiError
from vsched.kube.paths import ApiResource
from vsched.writes.limits import Attempts
from vsched.writes.writer import NO_ANSWER, NOT_PERMITTED, Write, Writer, WriteResult

SLICES = ApiResource("discovery.k8s.io", "v1", "endpointslices")
APPLY_PATCH = "application/apply-patch+yaml"
MANAGER = "vsched"
LEADER_LABEL = "vsched.io/leader"
"""On the leader's pod; its value is the name of the Lease, so that several leaders can share a namespace."""
MOST_FORMER = 50
"""How many pods of former leaders are looked at in one round; usually there is one."""
AGAIN_SECONDS = 30.0
"""Between two writes, because somebody may have changed the object."""
FAILED_SECONDS = 5.0
PORT_NAME = "http"
DONE, GONE = 200, 404

Worry = Callable[..., None]


class Sign(Protocol):
    """One way to publish where the leader is."""

    name: str

    async def put(self) -> WriteResult:
        """Publish that this process is the leader."""
        ...


def leader_signs(options: Options, client: ApiClient, writer: Writer, worry: Worry) -> tuple[LongLived, ...]:
    """The tasks that publish where the leader is."""
    signs: list[Sign] = []
    if options.leader_pod:
        signs.append(LeaderLabel(options, client, writer))
    if options.leader_endpoints:
        signs.append(LeaderSlice(options, writer))
    return tuple(LongLived(sign.name, _again_and_again(sign, worry), words.LEADER_ADDRESS, once=True) for sign in signs)


def _again_and_again(sign: Sign, worry: Worry) -> Callable[[], Coroutine[Any, Any, None]]:
    async def run() -> None:
        """Repeat until cancelled; a failure is logged once and retried."""
        failed = False
        while True:
            answer = await sign.put()
            if not answer.done and not failed and answer.code != NOT_PERMITTED:
                worry(log_words.ADDRESS_NOT_PUBLISHED, by=sign.name, problem=answer.message)
            failed = not answer.done
            await asyncio.sleep(FAILED_SECONDS if failed else AGAIN_SECONDS)

    return run


class LeaderSlice:
    """The address of this process as the only one of an EndpointSlice."""

    name = "leader endpoints"

    def __init__(self, options: Options, writer: Writer) -> None:
        self._writer = writer
        self._write = slice_write(*leader_service_of(options), options.advertise_address, port_of(options))

    async def put(self) -> WriteResult:
        return await self._writer.send(self._write, Attempts())


class LeaderLabel:
    """The label on the pod that this process runs in, and on no other."""

    name = "leader label"

    def __init__(self, options: Options, client: ApiClient, writer: Writer) -> None:
        self._client = client
        self._writer = writer
        self._namespace, self._pod = leader_pod_of(options)
        self._value = options.lease.name

    async def put(self) -> WriteResult:
        answer = await self._send(self._pod, self._value)
        if not answer.done:
            return answer
        try:
            former = await self.former()
        except (ApiError, Unavailable) as error:
            return WriteResult(NO_ANSWER, str(error))
        for pod in former:
            answer = await self._send(pod, None)
            if not answer.done and answer.code != GONE:
                return answer
        return WriteResult(DONE)

    async def former(self) -> list[str]:
        """Other pods with the label: a container that was killed leaves it on its pod."""
        params = {"labelSelector": f"{LEADER_LABEL}={self._value}", "limit": str(MOST_FORMER)}
        found = await self._client.get(PODS.path(self._namespace), params)
        names = (str(pod["metadata"]["name"]) for pod in found.get("items") or ())
        return [name for name in names if name != self._pod]

    async def _send(self, pod: str, value: str | None) -> WriteResult:
        return await self._writer.send(label_write(self._namespace, pod, value), Attempts())


def slice_write(namespace: str, service: str, address: str, port: int) -> Write:
    """Make this address the only one of the Service's EndpointSlice, which is made where there is none."""
    body = {
        "apiVersion": SLICES.api_version,
        "kind": "EndpointSlice",
        "metadata": {
            "name": service,
            "labels": {"kubernetes.io/service-name": service, "endpointslice.kubernetes.io/managed-by": MANAGER},
        },
        "addressType": f"IPv{ip_address(address).version}",
        "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
        "ports": [{"name": PORT_NAME, "port": port, "protocol": "TCP"}],
    }
    path = f"{SLICES.path(namespace, service)}?fieldManager={MANAGER}&force=true"
    return Write("endpointslices", "PATCH", path, orjson.dumps(body), APPLY_PATCH)


def label_write(namespace: str, pod: str, value: str | None) -> Write:
    """Put the label on a pod, or take it off."""
    body = orjson.dumps({"metadata": {"labels": {LEADER_LABEL: value}}})
    return Write("leader-label", "PATCH", PODS.path(namespace, pod), body, MERGE_PATCH)
