"""What is written to the API server: the words for whom a pod makes room."""

from __future__ import annotations

import orjson
import pytest

from vsched.model.plan import Evict
from vsched.writes import words
from vsched.writes.bodies import disruption_write, domain_write, hypernode_write
from vsched.writes.writer import Write


@pytest.mark.parametrize(
    ("beneficiary", "whom", "told"),
    [
        pytest.param("ns/new", "", "reclaim for ns/new", id="by which action, for which job"),
        pytest.param(
            "ns/podgroup-u", "ReplicaSet ns/web", "reclaim for ReplicaSet ns/web", id="as people know the job"
        ),
        pytest.param("", "", "reclaim", id="by which action alone, where nobody takes its room"),
    ],
)
def test_an_evicted_pod_is_told(beneficiary: str, whom: str, told: str) -> None:
    write = disruption_write(Evict("uid", "ns", "a", "n1", "ns/old", "reclaim", beneficiary, whom=whom), 0.0)

    assert orjson.loads(write.body or b"")["status"]["conditions"][0]["message"] == told


def test_a_pod_that_is_moved_is_told_where_there_is_room_for_it() -> None:
    write = disruption_write(Evict("uid", "ns", "a", "n1", "ns/old", "consolidate", "ns/new", to="n2"), 0.0)

    message = orjson.loads(write.body or b"")["status"]["conditions"][0]["message"]
    assert message == words.has_room_on(words.makes_room_for("ns/new"), "n2")


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(domain_write("ns/g", "u", "a", "r1"), id="the domain of a PodGroup"),
        pytest.param(hypernode_write("r1", "u", 2, ()), id="the status of a HyperNode"),
    ],
)
def test_another_object_of_the_name_is_not_meant(write: Write) -> None:
    assert orjson.loads(write.body)["metadata"]["uid"] == "u"
