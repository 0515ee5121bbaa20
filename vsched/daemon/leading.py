"""The address of the leader, where others look for it: the Endpoints of a Service without a selector.

What only the leader may answer cannot be asked behind a Service that any of several daemons is behind.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import orjson

from vsched.cluster.limits import Attempts
from vsched.cluster.writer import NOT_PERMITTED, Write, Writer
from vsched.daemon.options import Options, port_of, target_of
from vsched.kube.client import MERGE_PATCH
from vsched.kube.paths import ApiResource

ENDPOINTS = ApiResource("", "v1", "endpoints")
"""Rather than an EndpointSlice: it is part of the chart from the start, so that nobody has to be allowed to create any,
and the cluster makes a slice of it."""
AGAIN_SECONDS = 30.0
"""Between two looks: somebody may have made the object anew."""
FAILED_SECONDS = 5.0
PORT_NAME = "http"


class LeaderEndpoints:
    """Writes the address of this process into the Endpoints, again and again; to be run by the leader only."""

    def __init__(self, options: Options, writer: Writer, worry: Callable[..., None]) -> None:
        self._writer = writer
        self._endpoints = options.leader_endpoints
        self._write = endpoints_write(*target_of(options), options.advertise_address, port_of(options))
        self._worry = worry

    async def run(self) -> None:
        """Until cancelled; a failure is told of once, and tried again."""
        failed = False
        while True:
            answer = await self._writer.send(self._write, Attempts())
            if not answer.done and not failed and answer.code != NOT_PERMITTED:
                self._worry("endpoints cannot be written", name=self._endpoints, problem=answer.message)
            failed = not answer.done
            await asyncio.sleep(FAILED_SECONDS if failed else AGAIN_SECONDS)


def endpoints_write(namespace: str, name: str, address: str, port: int) -> Write:
    """Make this address the only one of the Endpoints."""
    subset = {"addresses": [{"ip": address}], "ports": [{"name": PORT_NAME, "port": port, "protocol": "TCP"}]}
    body = orjson.dumps({"subsets": [subset]})
    return Write("endpoints", "PATCH", ENDPOINTS.path(namespace, name), body, MERGE_PATCH)
