"""A daemon that is told by which key pods and PodGroups name their user."""

from __future__ import annotations

import pytest

from tests.support.running import gang, node, pod, scheduling
from tests.support.waiting import until
from vsched.daemon.options import Options, check
from vsched.errors import BadInput
from vsched.model.history.records import Holder
from vsched.sim.cluster import Cluster

KEY = "example.com/owner"


async def test_use_counts_for_the_user_that_the_key_names() -> None:
    group, *members = gang("g", 2)
    group["metadata"]["annotations"] = {KEY: "ann"}
    alone = pod("alone")
    alone["metadata"]["labels"] = {KEY: "bob"}
    other = pod("other")
    other["metadata"]["labels"] = {"vsched.io/user": "eve"}
    async with Cluster([node("n1")]) as cluster, scheduling(cluster.url, user_key=KEY) as daemon:
        cluster.apply([group, *members, alone, other])
        holders = {Holder("default", "default", user) for user in ("ann", "bob", "")}
        await until(lambda: set(daemon.mirror.history.publish().held) == holders)


@pytest.mark.parametrize("key", ["", "a b", "/user", "example.com/", "Example.com/user", "a/b/c", "x" * 64])
def test_a_key_that_is_none_is_refused(key: str) -> None:
    with pytest.raises(BadInput, match=r"^--user-key: .* \(expected the key of a label"):
        check(Options(user_key=key))
