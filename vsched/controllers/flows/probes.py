"""Probes of JobFlows that ask pods over the network: which pods are asked what, and what cannot be asked. Pure."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from vsched.api.flows import FlowProbe, HttpProbe, TcpProbe
from vsched.controllers.flows import words
from vsched.controllers.flows.made import MadeJob
from vsched.controllers.vcjobs.view import VcjobPod

PATH_MAX, HEADER_MAX = 2048, 4096
"""Characters of a path, and of the name and the value of a header."""
ANSWERED = ""
"""The answer of a pod of which the probe holds; any other one says in words why it does not."""
_PATH = re.compile(r"[!-~]*")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[ -~\t]*")
_FRAMING = ("connection", "content-length", "transfer-encoding", "upgrade")
"""Headers that belong to the connection, and not to the request."""

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
NOT_OF_PODS: tuple[Network, ...] = tuple(
    map(
        ipaddress.ip_network,
        (
            # This host, link-local addresses (the metadata services of most clouds), protocol assignments (that of
            # Oracle's first cloud), multicast and broadcast.
            *("0.0.0.0/8", "169.254.0.0/16", "192.0.0.0/24", "224.0.0.0/4", "255.255.255.255/32"),
            *("::/128", "fe80::/10", "fec0::/10", "ff00::/8"),
            # Metadata and other services of clouds at addresses of other kinds: Alibaba, Azure; Amazon, Google, Oracle,
            # Scaleway.
            *("100.100.100.200/32", "168.63.129.16/32"),
            *("fd00:ec2::/32", "fd20:ce::/32", "fd00:c1::/32", "fd00:42::/32"),
            # Other spellings of IPv4 addresses: compatible, translated, NAT64 (of all and of a site), Teredo, 6to4.
            *("::/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "2001::/32", "2002::/16"),
        ),
    )
)
"""No pod has an address of these, whatever its status says."""


class NetworkProbe(NamedTuple):
    """The pods of a task have to answer at a port."""

    task: str
    """Empty for all tasks."""
    port: int
    path: str | None = None
    """What they are asked for by HTTP; None where it is enough that they accept a connection."""
    header: tuple[str, str] | None = None

    def __str__(self) -> str:
        return f"tcpSocket :{self.port}" if self.path is None else f"httpGet :{self.port}{shortened(self.path)}"


class PodProbe(NamedTuple):
    """One probe of one pod."""

    probe: NetworkProbe
    job: str
    """The uid of its vcjob."""
    pod: str
    address: str
    """The IP of the pod, as its status says."""

    def __str__(self) -> str:
        return words.probe_of_pod(self.probe, self.pod)


Answers = Mapping[PodProbe, str]
"""What came of those that were asked in the last round."""


def network_probes(probe: FlowProbe | None) -> tuple[NetworkProbe, ...]:
    """The probes over the network of a flow."""
    if probe is None:
        return ()
    by_http = (_http(each) for each in probe.http_get_list or ())
    by_tcp = (NetworkProbe(each.task_name, each.port) for each in probe.tcp_socket_list or ())
    return (*by_http, *by_tcp)


def _http(probe: HttpProbe) -> NetworkProbe:
    path = probe.path if probe.path.startswith("/") else f"/{probe.path}"
    header = probe.http_header
    # Volcano's clients write a header without a name where there is none.
    said = (header.name, header.value) if header is not None and (header.name or header.value) else None
    return NetworkProbe(probe.task_name, probe.port, path, said)


def probe_problems(probe: FlowProbe | None) -> Iterator[str]:
    """What is wrong with the probes of a flow, one line each, below ``probe``."""
    if probe is None:
        return
    for index, status in enumerate(probe.task_status_list or ()):
        for field, value in (("taskName", status.task_name), ("phase", status.phase)):
            if not value:
                yield words.field_is_missing(index, field)
    for index, each in enumerate(probe.http_get_list or ()):
        yield from (f"httpGetList[{index}].{line}" for line in _http_problems(each))
    for index, socket in enumerate(probe.tcp_socket_list or ()):
        yield from (f"tcpSocketList[{index}].{line}" for line in _port_problems(socket))


def _port_problems(probe: HttpProbe | TcpProbe) -> Iterator[str]:
    if not 0 < probe.port < 65536:
        yield f"port: {probe.port} (expected 1 to 65535)"


def _http_problems(probe: HttpProbe) -> Iterator[str]:
    yield from _port_problems(probe)
    if len(probe.path) > PATH_MAX or not _PATH.fullmatch(probe.path):
        yield words.bad_path(shortened(probe.path), PATH_MAX)
    header = probe.http_header
    if header is None or not (header.name or header.value):
        return
    if not _HEADER_NAME.fullmatch(header.name) or header.name.lower() in _FRAMING:
        yield words.bad_header_name(shortened(header.name))
    if len(header.name) + len(header.value) > HEADER_MAX or not _HEADER_VALUE.fullmatch(header.value):
        yield words.bad_header_value(shortened(header.value), HEADER_MAX)


def shortened(text: str) -> str:
    """The beginning of a text that may be long, for messages."""
    return text if len(text) <= 64 else f"{text[:61]}..."


def asks_of(probe: NetworkProbe, job: MadeJob, pods: Sequence[VcjobPod]) -> tuple[PodProbe, ...] | None:
    """The pods of a vcjob that a probe asks: all that run. None while fewer run than have to be up."""
    asked = [
        PodProbe(probe, job.uid, pod.name, pod.address)
        for pod in pods
        if pod.phase == "Running" and pod.address and not pod.deleting and probe.task in ("", pod.task)
    ]
    needed = job.minima.get(probe.task, 1) if probe.task else sum(job.minima.values())
    return tuple(sorted(asked, key=lambda ask: ask.pod)) if len(asked) >= max(1, needed) else None


def why_not_asked(address: str, networks: Sequence[Network] = (), *, loopback: bool = False) -> str:
    """Why an address is not asked, in words; empty where it is one that a pod may have.

    ``networks`` are those that pods have their addresses of; without any, all may be but those that no pod has.
    """
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return words.no_ip_address(shortened(address))
    if isinstance(found, ipaddress.IPv6Address):
        found = found.ipv4_mapped or found
    if (found.is_loopback and not loopback) or any(found in network for network in NOT_OF_PODS):
        return words.no_address_of_a_pod(address)
    if networks and not any(found in network for network in networks):
        return words.in_no_network(address, ", ".join(map(str, networks)))
    return ""


def request_bytes(ask: PodProbe) -> bytes:
    """The HTTP request of a probe."""
    host = f"[{ask.address}]" if ":" in ask.address else ask.address
    headers = {"Host": f"{host}:{ask.probe.port}", "User-Agent": "vsched-probe", "Accept": "*/*"}
    if ask.probe.header is not None:
        name, value = ask.probe.header
        headers = {known: said for known, said in headers.items() if known.lower() != name.lower()} | {name: value}
    lines = (f"GET {ask.probe.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()))
    return "".join(f"{line}\r\n" for line in (*lines, "Connection: close", "")).encode("ascii")


def answer_of(line: bytes) -> str:
    """What the first line of an answer means: the probe holds where the code is 200 to 399."""
    found = re.match(rb"HTTP/1\.[01] ([1-5]\d\d)(?: |\r|\n)", line)
    if found is None:
        return words.NOT_HTTP if line else words.CLOSED_WITHOUT_ANSWER
    code = int(found[1])
    return ANSWERED if 200 <= code < 400 else f"answered {code}"
