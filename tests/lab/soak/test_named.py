"""Writes that say which object they mean, and those that any object of the name would do for."""

from __future__ import annotations

import pytest

from vsched.lab.soak.bottle.named import says_which
from vsched.sim.requests.request import ApiRequest

POD, GROUP = "/api/v1/namespaces/a/pods/p", "/apis/scheduling.volcano.sh/v1beta1/namespaces/a/podgroups/g"
UID = b'{"metadata":{"uid":"u"}}'


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [
        pytest.param("GET", POD, b"", True, id="a read changes nothing"),
        pytest.param("POST", "/api/v1/namespaces/a/pods", b"{}", True, id="what is created is new"),
        pytest.param("POST", f"{POD}/binding", UID, True, id="a binding of a uid"),
        pytest.param("POST", f"{POD}/binding", b'{"metadata":{}}', False, id="a binding of a name"),
        pytest.param(
            "POST", f"{POD}/eviction", b'{"deleteOptions":{"preconditions":{"uid":"u"}}}', True, id="an eviction"
        ),
        pytest.param("POST", f"{POD}/eviction", b'{"deleteOptions":{}}', False, id="an eviction of a name"),
        pytest.param("DELETE", POD, b'{"preconditions":{"uid":"u"}}', True, id="a deletion"),
        pytest.param("DELETE", POD, b"", False, id="a deletion of a name"),
        pytest.param("PATCH", GROUP, UID, True, id="a patch"),
        pytest.param("PATCH", GROUP, b'{"metadata":{"resourceVersion":"7"}}', True, id="a patch of a version"),
        pytest.param("PATCH", GROUP, b'{"status":{}}', False, id="a patch of a name"),
        pytest.param("PATCH", GROUP, b'[{"op":"test","path":"/metadata/uid","value":"u"}]', True, id="a JSON patch"),
        pytest.param("PATCH", GROUP, b'[{"op":"add","path":"/status","value":1}]', False, id="a JSON patch of a name"),
        pytest.param("PATCH", "/api/v1/namespaces/a/events/e", b'{"count":2}', True, id="the count of an Event"),
    ],
)
def test_a_write_names_its_object(method: str, path: str, body: bytes, *, expected: bool) -> None:
    assert says_which(ApiRequest(method, path, {}, "", "", body=body)) is expected
