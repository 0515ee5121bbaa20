"""NodeShards: which nodes are ours, what is said of them, and when nothing can be said."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import orjson
import pytest

from tests.support import builders as make
from tests.support.feeding import tell_list
from vsched import api
from vsched.clock import SystemClock
from vsched.controllers import words
from vsched.controllers.sharding.nodeshards import (
    NodeShards,
    ShardingMode,
    ShardRecord,
    ShardStatus,
    nodes_of,
    shard_of,
    status_of,
    status_write,
)
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.kube.watch.deltas import Delta
from vsched.model.nodes.masks import NodeMask
from vsched.writes.limits import TokenBucket
from vsched.writes.writer import Writer

NONE: frozenset[str] = frozenset()


def record(desired: str, in_use: str = "") -> ShardRecord:
    return ShardRecord(frozenset(desired.split()), frozenset(in_use.split()), NONE, NONE)


@pytest.mark.parametrize(
    ("shards", "nodes"),
    [
        pytest.param({}, "", id="there is no shard of our name"),
        pytest.param({"ours": record("a b")}, "a b", id="all that are desired"),
        pytest.param({"ours": record("a b", "c")}, "a b", id="not those that we were to use before"),
        pytest.param({"ours": record("a b"), "other": record("c", "b c")}, "a", id="not those that others still use"),
        pytest.param({"ours": record("a b"), "other": record("a b")}, "a b", id="others only wish for them"),
    ],
)
def test_the_nodes_that_are_ours(shards: dict[str, ShardRecord], nodes: str) -> None:
    assert nodes_of("ours", shards) == frozenset(nodes.split())


def test_the_status_says_what_comes_and_what_goes() -> None:
    status = status_of(record("a b c"), frozenset("bcd"))
    assert status == ShardStatus(frozenset("bcd"), frozenset("a"), frozenset("d"))
    sent = status_write("ours", status, 1_800_000_000.0)
    assert sent.path == "/apis/shard.volcano.sh/v1alpha1/nodeshards/ours/status"
    assert orjson.loads(sent.body or b"")["status"] == {
        "nodesInUse": ["b", "c", "d"],
        "nodesToAdd": ["a"],
        "nodesToRemove": ["d"],
        "lastUpdateTime": "2027-01-15T08:00:00Z",
    }


def node_shard(name: str, desired: Sequence[str] | None, in_use: Sequence[str] = ()) -> api.Object:
    made: dict[str, Any] = {
        "apiVersion": "shard.volcano.sh/v1alpha1",
        "kind": "NodeShard",
        "metadata": {"name": name, "uid": name, "resourceVersion": "1"},
        "spec": {"nodesDesired": desired},
        "status": {"nodesInUse": list(in_use)},
    }
    return make.read(made)


def test_other_objects_and_empty_lists_are_read() -> None:
    assert shard_of(node_shard("a", None)) == record("")
    assert shard_of(make.read(make.queue("q"))) is None


class Followed:
    """NodeShards, what they tell the mirror, and what they complain of."""

    def __init__(self, mode: ShardingMode, client: ApiClient) -> None:
        self.masks: list[tuple[NodeMask, ...]] = []
        self.worries: list[str] = []
        writer = Writer(client, TokenBucket(1, 1))
        self.shards = NodeShards(mode, "ours", writer, self.masks.append, self.worry, SystemClock())
        self.feed = self.shards.sinks["NodeShard"]

    def worry(self, event: str, *, problem: str) -> None:
        self.worries.append(problem)


@pytest.fixture
async def client() -> AsyncIterator[ApiClient]:
    async with ApiClient(Connection("http://127.0.0.1:1")) as client:
        yield client


@pytest.mark.parametrize("mode", ["soft", "hard"])
async def test_masks_follow_the_objects(mode: ShardingMode, client: ApiClient) -> None:
    followed = Followed(mode, client)
    tell_list(followed.feed, [node_shard("ours", ["b", "a"]), node_shard("other", ["c"], ["c"])], "1")
    assert followed.masks[-1] == (NodeMask(("a", "b"), mode == "hard", "ours"),)
    followed.feed.apply(Delta.MODIFIED, node_shard("ours", ["a", "c"]))
    assert followed.masks[-1][0].nodes == ("a",)
    followed.feed.apply(Delta.MODIFIED, node_shard("other", ["d"], ["d"]))
    assert followed.masks[-1][0].nodes == ("a", "c")
    assert followed.worries == []
    assert followed.shards.to_dict() == {"mode": mode, "name": "ours", "nodes": 2}


@pytest.mark.parametrize(
    ("mode", "problem"),
    [
        ("soft", words.no_nodeshard_none_preferred("ours")),
        ("hard", words.no_nodeshard_no_node("ours")),
    ],
)
async def test_without_our_object_it_is_said_once_until_it_is_there(
    mode: ShardingMode, problem: str, client: ApiClient
) -> None:
    followed = Followed(mode, client)
    tell_list(followed.feed, [node_shard("other", ["a"])], "1")
    followed.feed.apply(Delta.MODIFIED, node_shard("other", ["b"]))
    assert followed.worries == [problem]
    assert followed.masks[-1][0].nodes == ()
    assert followed.shards.to_dict()["problem"] == problem
    followed.feed.apply(Delta.ADDED, node_shard("ours", ["a"]))
    assert "problem" not in followed.shards.to_dict()
    followed.feed.apply(Delta.DELETED, node_shard("ours", ["a"]))
    assert followed.worries == [problem] * 2


async def test_where_the_kind_is_not_served_there_is_one_line_and_no_mask(client: ApiClient) -> None:
    followed = Followed("hard", client)
    followed.shards.settled()
    followed.shards.settled()
    assert followed.worries == [words.NODESHARDS_CANNOT_BE_LISTED]
    assert followed.masks == []
