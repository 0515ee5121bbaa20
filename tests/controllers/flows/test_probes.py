"""Probes of JobFlows that ask pods: what may be asked, who is asked, and what follows from the answers."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_network
from typing import Any

import msgspec
import pytest

from tests.controllers.flows.makers import NOW, after, flow, made, templates
from vsched.api.flows import FlowProbe
from vsched.controllers.flows import words
from vsched.controllers.flows.made import MadeJob
from vsched.controllers.flows.probes import (
    ANSWERED,
    NetworkProbe,
    PodProbe,
    answer_of,
    network_probes,
    probe_problems,
    request_bytes,
    why_not_asked,
)
from vsched.controllers.flows.progress import FlowPlan, proceed
from vsched.controllers.vcjobs.view import VcjobPod

Obj = dict[str, Any]


def probe(**lists: Any) -> FlowProbe:
    return msgspec.json.decode(msgspec.json.encode(lists), type=FlowProbe)


def http(**fields: Any) -> Obj:
    return {"httpGetList": [{"taskName": "t", "port": 80, **fields}]}


@pytest.mark.parametrize(
    ("lists", "wanted"),
    [
        pytest.param(http(path="/ready?full=1"), [], id="a path with a query"),
        pytest.param(http(), [], id="no path"),
        pytest.param(http(httpHeader={"name": "", "value": ""}), [], id="a header that says nothing"),
        pytest.param(http(port=0), ["httpGetList[0].port: 0 (expected 1 to 65535)"], id="port 0"),
        pytest.param(
            http(path="/ HTTP/1.1\r\nHost: other"),
            ["httpGetList[0]." + words.bad_path("/ HTTP/1.1\r\nHost: other", 2048)],
            id="a path that would be more than a path",
        ),
        pytest.param(
            http(path="/" + "a" * 2048),
            [
                "httpGetList[0]." + words.bad_path(f"/{'a' * 60}...", 2048),
            ],
            id="a path that is too long",
        ),
        pytest.param(
            http(httpHeader={"name": "X Y", "value": "1"}),
            [f"httpGetList[0].{words.bad_header_name('X Y')}"],
            id="a name that is none",
        ),
        pytest.param(
            http(httpHeader={"name": "Transfer-Encoding", "value": "chunked"}),
            [f"httpGetList[0].{words.bad_header_name('Transfer-Encoding')}"],
            id="a header of the connection",
        ),
        pytest.param(
            http(httpHeader={"name": "X", "value": "1\r\nY: 2"}),
            ["httpGetList[0]." + words.bad_header_value("1\r\nY: 2", 4096)],
            id="two headers in one",
        ),
        pytest.param(
            {"tcpSocketList": [{"port": 80}, {"port": 70000}]},
            ["tcpSocketList[1].port: 70000 (expected 1 to 65535)"],
            id="a port that is too high",
        ),
        pytest.param(
            {"taskStatusList": [{"taskName": "t"}]},
            ["taskStatusList[0].phase: is missing"],
            id="a status without a phase would never hold",
        ),
    ],
)
def test_what_cannot_be_asked_is_told_with_its_field(lists: Obj, wanted: list[str]) -> None:
    assert list(probe_problems(probe(**lists))) == wanted


@pytest.mark.parametrize(
    ("address", "loopback", "asked"),
    [
        pytest.param("10.1.2.3", False, True, id="an address of a pod"),
        pytest.param("fd00::7", False, True, id="IPv6"),
        pytest.param("127.0.0.1", False, False, id="the own machine"),
        pytest.param("127.0.0.1", True, True, id="the own machine where that is allowed"),
        pytest.param("169.254.169.254", True, False, id="the metadata service of a cloud"),
        pytest.param("::ffff:169.254.169.254", True, False, id="the same, as an IPv6 address"),
        pytest.param("::1", False, False, id="the own machine by IPv6"),
        pytest.param("fe80::1%eth0", True, False, id="link-local IPv6"),
        pytest.param("0.0.0.0", True, False, id="no address at all"),
        pytest.param("224.0.0.1", True, False, id="multicast"),
        pytest.param("example.com", True, False, id="a name"),
        pytest.param("100.64.1.7", False, True, id="shared address space, of which some clouds give pods theirs"),
        pytest.param("100.100.100.200", False, False, id="the metadata service of Alibaba"),
        pytest.param("168.63.129.16", False, False, id="that of Azure"),
        pytest.param("192.0.0.192", False, False, id="that of Oracle's first cloud"),
        pytest.param("fd00:ec2::254", False, False, id="that of Amazon by IPv6"),
        pytest.param("fd20:ce::254", False, False, id="that of Google by IPv6"),
        pytest.param("64:ff9b::a9fe:a9fe", False, False, id="an IPv4 address by NAT64"),
        pytest.param("64:ff9b:1::a9fe:a9fe", False, False, id="the same by that of a site"),
        pytest.param("::a9fe:a9fe", False, False, id="an IPv4-compatible address"),
        pytest.param("::ffff:0:169.254.169.254", False, False, id="an IPv4-translated address"),
        pytest.param("::ffff:100.100.100.200", False, False, id="an IPv4-mapped address"),
        pytest.param("2002:a9fe:a9fe::1", False, False, id="6to4"),
        pytest.param("2001:0:a9fe:a9fe::1", False, False, id="Teredo"),
        pytest.param("0.0.0.1", False, False, id="this network"),
        pytest.param("255.255.255.255", False, False, id="broadcast"),
    ],
)
def test_which_addresses_are_asked(address: str, loopback: bool, asked: bool) -> None:
    assert (why_not_asked(address, loopback=loopback) == "") == asked


@pytest.mark.parametrize(
    ("address", "told"),
    [
        pytest.param("100.64.3.4", "", id="in one of them"),
        pytest.param("fd01::7", "", id="in the other"),
        pytest.param("10.1.2.3", words.in_no_network("10.1.2.3", "100.64.0.0/10, fd01::/48"), id="in none"),
        pytest.param("100.100.100.200", words.no_address_of_a_pod("100.100.100.200"), id="refused all the same"),
    ],
)
def test_with_networks_of_pods_no_others_are_asked(address: str, told: str) -> None:
    networks = (ip_network("100.64.0.0/10"), ip_network("fd01::/48"))
    assert why_not_asked(address, networks) == told


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        pytest.param(b"HTTP/1.1 200 OK\r\n", ANSWERED, id="200"),
        pytest.param(b"HTTP/1.0 204\r\n", ANSWERED, id="no words behind the code"),
        pytest.param(b"HTTP/1.1 302 Found\r\n", ANSWERED, id="a redirect is an answer, and is not followed"),
        pytest.param(b"HTTP/1.1 404 Not Found\r\n", "answered 404", id="not found"),
        pytest.param(b"HTTP/1.1 503 x\r\n", "answered 503", id="not ready"),
        pytest.param(b"HTTP/1.1 100 Continue\r\n", "answered 100", id="not yet an answer"),
        pytest.param(b"HTTP/1.1 2000 OK\r\n", words.NOT_HTTP, id="no code"),
        pytest.param(b"SSH-2.0-OpenSSH\r\n", words.NOT_HTTP, id="another protocol"),
        pytest.param(b"", words.CLOSED_WITHOUT_ANSWER, id="nothing"),
    ],
)
def test_what_an_answer_means(line: bytes, wanted: str) -> None:
    assert answer_of(line) == wanted


def test_the_request() -> None:
    (asked,) = network_probes(probe(**http(path="ready", httpHeader={"name": "host", "value": "model"})))
    assert request_bytes(PodProbe(asked, "u", "p", "fd00::7")) == (
        b"GET /ready HTTP/1.1\r\nUser-Agent: vsched-probe\r\nAccept: */*\r\nhost: model\r\nConnection: close\r\n\r\n"
    )
    plain = asked._replace(header=None)
    assert b"\r\nHost: [fd00::7]:80\r\n" in request_bytes(PodProbe(plain, "u", "p", "fd00::7"))


# -- whose turn it is

PORT = NetworkProbe("t", 80)
PROBED = ({"name": "a"}, after("b", "a", tcpSocketList=[{"taskName": "t", "port": 80}]))


def pods(*phases: str, task: str = "t", **fields: Any) -> list[VcjobPod]:
    return [
        VcjobPod(f"f-a-{task}-{n}", f"p{n}", task, n, each, address=f"10.0.0.{n}", **fields)
        for n, each in enumerate(phases)
    ]


def asked(number: int, probe: NetworkProbe = PORT) -> PodProbe:
    return PodProbe(probe, "uid-a", f"f-a-t-{number}", f"10.0.0.{number}")


def plan(
    flows: Sequence[Obj], job: MadeJob, found: Sequence[VcjobPod], answers: dict[PodProbe, str] | None = None
) -> FlowPlan:
    return proceed(flow(*flows), [job], templates("a", "b"), NOW, {"uid-a": found}, answers or {})


def names(found: FlowPlan) -> list[str]:
    return [body["metadata"]["name"] for body in found.create]


TARGET = made("a", minima={"t": 2})


@pytest.mark.parametrize(
    ("job", "found", "wanted", "lacks"),
    [
        pytest.param(TARGET, pods("Running", "Running"), [0, 1], False, id="all pods of the task"),
        pytest.param(TARGET, pods("Running", "Pending"), [], True, id="too few run to be asked"),
        pytest.param(TARGET, pods("Running", "Running", "Pending"), [0, 1], False, id="those that run, if enough do"),
        pytest.param(TARGET, pods("Running", "Running", deleting=True), [], True, id="none that is on its way out"),
        pytest.param(TARGET, pods("Running", "Running", task="x"), [], True, id="none of another task"),
        pytest.param(
            made("a", "Completed", minima={"t": 2}), pods("Succeeded"), [], False, id="none of a complete one"
        ),
        pytest.param(made("a", "Failed", minima={"t": 2}), pods("Running"), [], False, id="none of one that failed"),
    ],
)
def test_who_is_asked(job: MadeJob, found: list[VcjobPod], wanted: list[int], lacks: bool) -> None:
    told = plan(PROBED, job, found)
    assert told.asks == tuple(map(asked, wanted))
    assert told.lacks_pods == lacks


def test_a_probe_without_a_task_asks_the_pods_of_all() -> None:
    flows = ({"name": "a"}, after("b", "a", tcpSocketList=[{"port": 80}]))
    found = [*pods("Running"), *pods("Running", task="x")]
    assert len(plan(flows, made("a", minima={"t": 1, "x": 1}), found).asks) == 2


@pytest.mark.parametrize(
    ("answers", "wanted"),
    [
        pytest.param({}, [], id="nobody was asked yet"),
        pytest.param({0: ANSWERED}, [], id="one has not answered"),
        pytest.param({0: ANSWERED, 1: "answered 503"}, [], id="one is not ready"),
        pytest.param({0: ANSWERED, 1: ANSWERED}, ["f-b"], id="all have answered"),
    ],
)
def test_a_flow_is_made_once_all_pods_have_answered(answers: dict[int, str], wanted: list[str]) -> None:
    found = plan(PROBED, TARGET, pods("Running", "Running"), {asked(n): said for n, said in answers.items()})
    assert names(found) == wanted


def test_an_answer_of_a_pod_that_was_replaced_does_not_count() -> None:
    old = {asked(n)._replace(address="10.9.9.9"): ANSWERED for n in (0, 1)}
    assert names(plan(PROBED, TARGET, pods("Running", "Running"), old)) == []


def test_it_is_told_which_probe_fails_and_why() -> None:
    flows = ({"name": "a"}, after("b", "a", httpGetList=[{"taskName": "t", "port": 80, "path": "/ready"}]))
    ask = asked(0, NetworkProbe("t", 80, "/ready"))
    found = plan(flows, TARGET, pods("Running", "Running"), {ask: "answered 503"})
    assert found.problems == (("ProbeFailed", "flow b waits: httpGet :80/ready of pod f-a-t-0: answered 503"),)


def test_a_task_that_no_target_has_is_told() -> None:
    flows = ({"name": "a"}, after("b", "a", tcpSocketList=[{"taskName": "no", "port": 80}]))
    found = plan(flows, TARGET, pods("Running", "Running"))
    assert found.problems == (("ProbeFailed", f"flow b waits: {words.no_target_has_task('no')}"),)
    assert found.asks == ()


def test_a_target_of_which_no_probe_speaks_has_to_be_complete() -> None:
    flows = ({"name": "a"}, {"name": "c"}, after("b", "a", "c", tcpSocketList=[{"taskName": "t", "port": 80}]))
    ready = {asked(n): ANSWERED for n in (0, 1)}
    for phase, wanted in (("Running", []), ("Completed", ["f-b"])):
        jobs = [TARGET, made("c", phase, minima={"other": 1})]
        found = proceed(flow(*flows), jobs, templates("b"), NOW, {"uid-a": pods("Running", "Running")}, ready)
        assert names(found) == wanted
