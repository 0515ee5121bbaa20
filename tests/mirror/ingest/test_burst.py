"""What limits let a pod use beyond what it asks for."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import builders as make
from tests.support.plans import manifests, mirror
from vsched import api
from vsched.mirror.ingest.requests import request_of
from vsched.model.amounts.resources import ResourceAxis

GIB = 1 << 30


def container(
    requests: dict[str, str] | None = None, limits: dict[str, str] | None = None, **fields: Any
) -> make.Fields:
    resources = {"requests": requests or {}, "limits": limits or {}}
    return {"name": "main", "resources": resources, **fields}


CORE = container({"cpu": "1", "memory": "1Gi"}, {"cpu": "3", "memory": "2Gi"})
PLAIN = container({"cpu": "1"})


@pytest.mark.parametrize(
    ("spec", "burst"),
    [
        pytest.param({"containers": [CORE]}, (2000, GIB), id="limits less requests"),
        pytest.param({"containers": [CORE, CORE]}, (4000, 2 * GIB), id="of all containers"),
        pytest.param({"containers": [PLAIN]}, (0, 0), id="without limits"),
        pytest.param({"containers": [CORE, PLAIN]}, (0, 0), id="one container without limits"),
        pytest.param({"containers": [container({"cpu": "1"}, {"cpu": "3"})]}, (2000, 0), id="a limit of cpu alone"),
        pytest.param(
            {"containers": [container(None, {"cpu": "3"})]}, (0, 0), id="a limit is a request where none is given"
        ),
        pytest.param({"containers": [container({"cpu": "2"}, {"cpu": "1"})]}, (0, 0), id="a limit below the request"),
        pytest.param(
            {"containers": [CORE], "initContainers": [container({"cpu": "1"}, {"cpu": "9"})]},
            (2000, GIB),
            id="what init containers may use is over soon",
        ),
        pytest.param(
            {"containers": [CORE], "initContainers": [container({"cpu": "1"}, {"cpu": "9"}, restartPolicy="Always")]},
            (10000, 0),
            id="but what sidecars may use is not",
        ),
        pytest.param(
            {"containers": [CORE], "resources": {"limits": {"cpu": "8"}}},
            (7000, GIB),
            id="a limit of the pod as a whole",
        ),
        pytest.param({"containers": []}, (0, 0), id="no containers"),
    ],
)
def test_burst_is_what_limits_allow_beyond_requests(spec: make.Fields, burst: tuple[int, int]) -> None:
    found = make.read(make.merged(make.pod(), {"spec": spec}))

    assert isinstance(found, api.Pod)
    assert request_of(found, ResourceAxis()).burst == burst


def test_pods_that_differ_in_limits_alone_are_of_different_shapes() -> None:
    cache = mirror(
        manifests("job ns/a\npods ns/a 2 cpu=1\npods ns/a 1 cpu=1 limits=cpu:2\npods ns/a 1 cpu=1 limits=cpu:1")
    )
    plain, again, wide, tight = (cache.task(f"ns/a.{number}") for number in range(4))

    assert plain is not None
    assert again is not None
    assert wide is not None
    assert tight is not None
    assert plain.shape is again.shape is tight.shape
    assert wide.shape is not plain.shape
    assert wide.shape.burst == (1000, 0)
