"""Queues at an embedded cluster with the daemon: asked to open and close, and made where they are missing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.fault_proxy import faulty
from tests.support.queue_commands import COMMANDS, QUEUES, annotations, events, found, order, queue, state, states, wish
from tests.support.running import PODGROUPS, gang, node, nodes_of, podgroup, queue_status, scheduling
from tests.support.waiting import until
from vsched.api.resources import COMMANDS as COMMAND_PATH
from vsched.controllers import words
from vsched.controllers.queues import STATE_WISH
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.kube.errors import Invalid
from vsched.model.queues.queue import CLOSED_BY_PARENT
from vsched.sim.cluster import Cluster

Ask = Callable[[Cluster, str], None]
BY_COMMAND: tuple[Ask, Ask] = (
    lambda cluster, name: order(cluster, "CloseQueue", name),
    lambda cluster, name: order(cluster, "OpenQueue", name),
)
BY_ANNOTATION: tuple[Ask, Ask] = (
    lambda cluster, name: wish(cluster, name, "closed"),
    lambda cluster, name: wish(cluster, name, "open"),
)
EITHER_WAY = pytest.mark.parametrize(("close", "open_"), [BY_COMMAND, BY_ANNOTATION], ids=["Command", "annotation"])


async def test_queues_open_by_themselves_and_those_there_must_be_are_made() -> None:
    async with Cluster(manifests=[queue("q")]) as cluster, scheduling(cluster.url, default_queue="main"):
        await until(lambda: states(cluster, "root", "main", "q") == ["Open"] * 3)
        assert found(cluster, "root")["spec"]["reclaimable"] is False
        main = found(cluster, "main")["spec"]
        assert (main["weight"], main["reclaimable"], main["parent"]) == (1, True, "root")


async def test_a_queue_that_is_there_is_not_made_over() -> None:
    async with Cluster(manifests=[queue("default", weight=5)]) as cluster, scheduling(cluster.url):
        await until(lambda: states(cluster, "root", "default") == ["Open", "Open"])
        assert found(cluster, "default")["spec"]["weight"] == 5


async def test_queues_are_made_once_the_api_server_lets_us() -> None:
    async with Cluster() as cluster, faulty(cluster.url) as proxy:
        proxy.spoil("POST", ".*/queues", 403, times=2)
        async with scheduling(proxy.url):
            await until(lambda: states(cluster, "root", "default") == ["Open", "Open"])


@EITHER_WAY
async def test_an_empty_queue_is_closed_and_opened(close: Ask, open_: Ask) -> None:
    async with Cluster([node("n1")], manifests=[queue("q")]) as cluster, scheduling(cluster.url):
        await until(lambda: state(cluster, "q") == "Open")
        close(cluster, "q")
        await until(lambda: state(cluster, "q") == "Closed")
        members = gang("g", 2)
        members[0]["spec"]["queue"] = "q"
        cluster.apply(members)
        await until(lambda: "queue q is Closed, not Open" in events(cluster, "g").get("Unschedulable", ""))
        assert nodes_of(cluster, "g-") == {}
        open_(cluster, "q")
        await until(lambda: state(cluster, "q") == "Open")
        await until(lambda: len(nodes_of(cluster, "g-")) == 2)
        await until(lambda: not cluster.client.list(COMMANDS))
        await until(lambda: {"QueueClosed", "QueueOpen"} <= events(cluster, "q").keys())


@EITHER_WAY
async def test_a_queue_with_podgroups_is_closing_until_the_last_is_gone(close: Ask, open_: Ask) -> None:
    groups = [podgroup(name, 1, queue="q") for name in "ab"]
    async with Cluster(manifests=[queue("q"), *groups]) as cluster, scheduling(cluster.url):
        await until(lambda: state(cluster, "q") == "Open")
        await until(lambda: queue_status(cluster, "q").get("inqueue") == 2)
        close(cluster, "q")
        await until(lambda: state(cluster, "q") == "Closing")
        await until(lambda: "2 jobs remain" in events(cluster, "q").get("QueueClosing", ""))
        cluster.client.delete(PODGROUPS, "default", "a")
        open_(cluster, "q")
        await until(lambda: state(cluster, "q") == "Open")
        close(cluster, "q")
        await until(lambda: state(cluster, "q") == "Closing")
        cluster.client.delete(PODGROUPS, "default", "b")
        await until(lambda: state(cluster, "q") == "Closed")


async def test_a_command_changes_the_annotation_so_that_there_is_one_truth() -> None:
    async with Cluster(manifests=[queue("q", wish="closed")]) as cluster, scheduling(cluster.url):
        await until(lambda: state(cluster, "q") == "Closed")
        order(cluster, "OpenQueue", "q")
        await until(lambda: state(cluster, "q") == "Open")
        assert annotations(cluster, "q")[STATE_WISH] == "open"
        wish(cluster, "q", "closed")
        await until(lambda: state(cluster, "q") == "Closed")


async def test_of_many_commands_the_last_one_counts() -> None:
    async with Cluster(manifests=[queue("q")]) as cluster, scheduling(cluster.url):
        await until(lambda: state(cluster, "q") == "Open")
        for action in ["CloseQueue", "OpenQueue"] * 3 + ["CloseQueue"]:
            order(cluster, action, "q")
            await cluster.settle()
        await until(lambda: not cluster.client.list(COMMANDS))
        await until(lambda: state(cluster, "q") == "Closed")


async def test_what_is_below_a_queue_is_closed_and_opened_with_it() -> None:
    rows = [queue("a"), queue("b", "a"), queue("c", "b"), queue("own", "b", wish="closed")]
    async with Cluster(manifests=rows) as cluster, scheduling(cluster.url):
        await until(lambda: states(cluster, "a", "b", "c", "own") == ["Open", "Open", "Open", "Closed"])
        order(cluster, "CloseQueue", "a")
        await until(lambda: states(cluster, "a", "b", "c", "own") == ["Closed"] * 4)
        assert [CLOSED_BY_PARENT in annotations(cluster, name) for name in ("a", "b", "c", "own")] == [
            False,
            True,
            True,
            False,
        ]
        order(cluster, "OpenQueue", "c")
        await until(lambda: "its parent b is Closed" in events(cluster, "c").get("CommandRefused", ""))
        order(cluster, "OpenQueue", "a")
        await until(lambda: states(cluster, "a", "b", "c", "own") == ["Open", "Open", "Open", "Closed"])
        await until(lambda: not any(CLOSED_BY_PARENT in annotations(cluster, name) for name in "abc"))


@pytest.mark.parametrize(
    ("action", "name", "about", "told"),
    [
        pytest.param(
            "CloseQueue",
            "root",
            "root",
            words.root_cannot_be_closed("root"),
            id="to close the root",
        ),
        pytest.param(
            "AbortQueue",
            "q",
            "q",
            words.unknown_state("AbortQueue", "OpenQueue or CloseQueue"),
            id="unknown",
        ),
    ],
)
async def test_a_command_that_cannot_be_carried_out_is_told_so_and_gone(
    action: str, name: str, about: str, told: str
) -> None:
    async with Cluster(manifests=[queue("q")]) as cluster, scheduling(cluster.url):
        await until(lambda: states(cluster, "root", "q") == ["Open", "Open"])
        order(cluster, action, name)
        await until(lambda: told in events(cluster, about).get("CommandRefused", ""))
        await until(lambda: not cluster.client.list(COMMANDS))
        assert state(cluster, name) == "Open"


async def test_commands_about_queues_that_are_gone_are_gone_and_those_about_other_kinds_stay() -> None:
    async with Cluster(manifests=[queue("q")]) as cluster, scheduling(cluster.url):
        await until(lambda: state(cluster, "q") == "Open")
        order(cluster, "CloseQueue", "nowhere", uid="u1")
        order(cluster, "CloseQueue", "q", uid="of-the-one-before")
        order(cluster, "AbortJob", "job", uid="u2", kind="Job")
        await until(lambda: len(cluster.client.list(COMMANDS)) == 1)
        assert cluster.client.list(COMMANDS)[0]["target"]["kind"] == "Job"
        told = [event["message"] for event in cluster.client.list("events", "default")]
        await until(lambda: state(cluster, "q") == "Open")
        assert {
            words.no_queue("nowhere", any_more=True),
            words.no_queue("q", any_more=True),
        } >= set(told)


async def test_an_annotation_that_is_no_state_is_told_once_and_ignored() -> None:
    async with Cluster(manifests=[queue("q", wish="shut")]) as cluster, scheduling(cluster.url):
        await until(lambda: state(cluster, "q") == "Open")
        await until(
            lambda: words.unknown_state("shut", "open or closed") in events(cluster, "q").get("BadQueueState", "")
        )
        wish(cluster, "q", "closed")
        await until(lambda: state(cluster, "q") == "Closed")
        told = [event for event in cluster.client.list("events", "default") if event["reason"] == "BadQueueState"]
        assert [event["count"] for event in told] == [1]


async def test_a_word_that_is_no_state_becomes_unknown_and_a_request_ends_that() -> None:
    async with Cluster(manifests=[queue("q")]) as cluster, scheduling(cluster.url):
        await until(lambda: state(cluster, "q") == "Open")
        cluster.client.patch_status(QUEUES, "", "q", lambda obj: {**obj, "status": {**obj["status"], "state": "Ajar"}})
        await until(lambda: state(cluster, "q") == "Unknown")
        await until(lambda: "'Ajar' is unknown" in events(cluster, "q").get("QueueUnknown", ""), 5.0)
        order(cluster, "OpenQueue", "q")
        await until(lambda: state(cluster, "q") == "Open")


@pytest.mark.parametrize("code", [500, 409, 0], ids=["an internal error", "a conflict", "a lost answer"])
async def test_a_request_survives_writes_that_fail(code: int) -> None:
    written = [queue("q", wish="open")]
    async with Cluster(manifests=written) as cluster, faulty(cluster.url) as proxy, scheduling(proxy.url):
        await until(lambda: state(cluster, "q") == "Open")
        for method in ("PATCH", "DELETE"):
            proxy.spoil(method, r".*/(queues/q(/status)?|commands/.*)", code, times=2)
        order(cluster, "CloseQueue", "q")
        await until(lambda: state(cluster, "q") == "Closed" and not cluster.client.list(COMMANDS))
        assert annotations(cluster, "q")[STATE_WISH] == "closed"


async def test_another_controller_may_look_after_the_queues() -> None:
    async with (
        Cluster([node("n1")], manifests=[queue("q")]) as cluster,
        scheduling(cluster.url, queue_controller=False, job_controller=False) as daemon,
    ):
        cluster.apply(gang("g", 2))
        await until(lambda: len(nodes_of(cluster, "g-")) == 2)
        assert "Command" not in daemon.reflectors
        assert not cluster.client.get(QUEUES, "", "root")
        assert state(cluster, "q") == ""


async def test_what_a_scheduler_before_this_one_left_in_a_status_is_taken_out() -> None:
    async with Cluster(manifests=[queue("q")]) as cluster:
        left = {"allocated": {"cpu": "3", "nvidia.com/gpu": "4"}, "state": "Open"}
        cluster.client.patch_status(QUEUES, "", "q", lambda obj: {**obj, "status": left})
        async with scheduling(cluster.url):
            await until(lambda: queue_status(cluster, "q").get("running") == 0)
            await until(lambda: queue_status(cluster, "q").get("allocated") == {})


def command(target: str, namespace: str, action: str = "CloseQueue") -> dict[str, object]:
    """A Command about a queue, without a uid, as the API of any definition of Commands may let it in."""
    about = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "name": target, "uid": ""}
    metadata = {"generateName": "c-", "namespace": namespace}
    return {
        "apiVersion": "bus.volcano.sh/v1alpha1",
        "kind": "Command",
        "metadata": metadata,
        "action": action,
        "target": about,
    }


async def test_commands_are_taken_from_named_namespaces_only_and_told_so_elsewhere() -> None:
    async with (
        Cluster(manifests=[queue("q"), queue("r")]) as cluster,
        scheduling(cluster.url, command_namespaces=("ops", "more-ops")),
    ):
        await until(lambda: states(cluster, "q", "r") == ["Open", "Open"])
        for namespace in ("tenant", "ops", "more-ops"):
            cluster.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}])
        refused = cluster.client.create(COMMANDS, command("q", "tenant"))["metadata"]["name"]
        cluster.client.create(COMMANDS, command("r", "more-ops"))
        await until(lambda: state(cluster, "r") == "Closed")
        told = words.commands_in_namespace_only("more-ops or ops")
        await until(
            lambda: any(
                (event["involvedObject"]["name"], event["reason"], event["message"])
                == (refused, "CommandRefused", told)
                for event in cluster.client.list("events", "tenant")
            )
        )
        assert state(cluster, "q") == "Open"
        await until(lambda: [left["metadata"]["name"] for left in cluster.client.list(COMMANDS)] == [refused])


NO_QUEUES = ["", "?x=1", ".", "..", "a/../q", "a\x01b", "q\n", "\U0001f4a5", "x" * 300]


async def test_commands_about_what_cannot_be_a_queue_are_refused_by_the_definition() -> None:
    async with Cluster() as cluster, ApiClient(Connection(cluster.url)) as client:
        for target in NO_QUEUES:
            with pytest.raises(Invalid, match=r"target\.name"):
                await client.create(COMMAND_PATH.path("default"), command(target, "default"))


async def test_commands_about_what_cannot_be_a_queue_end_nothing() -> None:
    """Volcano's definition lets them in; so does the daemon find them at every start."""
    async with Cluster([node("n1")], manifests=[queue("q")]) as cluster:
        made = [stored(cluster, f"c-{number}", target) for number, target in enumerate(NO_QUEUES)]
        async with scheduling(cluster.url):
            await until(lambda: state(cluster, "q") == "Open")
            made.append(stored(cluster, "late", ".."))
            order(cluster, "CloseQueue", "q")
            await until(lambda: state(cluster, "q") == "Closed")
            for name in made:
                await until(
                    lambda name=name: "cannot be the name of a queue" in events(cluster, name).get("CommandRefused", "")
                )
            cluster.apply(gang("g", 2))
            await until(lambda: len(nodes_of(cluster, "g-")) == 2)


def stored(cluster: Cluster, name: str, target: str) -> str:
    """Put a Command where API servers keep them, whatever its definition says; its name."""
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
    cluster.store.create(cluster.client.kind(COMMANDS), {**command(target, "default"), "metadata": metadata})
    return name
