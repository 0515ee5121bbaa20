"""What is known of queues follows from the events, in whatever order they come."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.feeding import tell_list
from vsched import api
from vsched.controllers.queue_records import QueueRecords, order_of
from vsched.controllers.queues import STATE_WISH, QueueState
from vsched.kube.watch.deltas import Delta
from vsched.model.jobs.native import QueueMember, native_key
from vsched.model.queues.queue import CLOSED, CLOSED_BY_PARENT, OPEN


def read(kind: str, name: str, namespace: str = "", annotations: dict[str, str] | None = None, **rest: Any) -> Any:
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{name}", "annotations": annotations}
    return api.read(kind, orjson.dumps({"metadata": metadata, **rest}))


def queue(name: str, state: str = OPEN, parent: str = "", **annotations: str) -> Any:
    return read("Queue", name, annotations=annotations, spec={"parent": parent}, status={"state": state})


def podgroup(name: str, queue: str | None = "q") -> Any:
    return read("PodGroup", name, "ns", spec={"queue": queue})


def command(name: str, target: str, kind: str = "Queue", version: str = "scheduling.volcano.sh/v1beta1") -> Any:
    about = {"apiVersion": version, "kind": kind, "name": target, "uid": "u"}
    return read("Command", name, "ns", action="CloseQueue", target=about)


class World:
    """Records under test, and the queues they say may have to change."""

    def __init__(self, *queues: Any, podgroups: tuple[Any, ...] = ()) -> None:
        self.touched: list[str] = []
        self.refused: list[str] = []
        self.records = QueueRecords(
            "default",
            frozenset({"default", "ns"}),
            self.touched.append,
            lambda about, told: self.refused.append(f"{about.name}: {told}"),
        )
        self.feeds = self.records.feeds
        tell_list(self.feeds["Queue"], list(queues), "1")
        tell_list(self.feeds["PodGroup"], list(podgroups), "1")
        self.records.mirror_complete()

    def tell(self, kind: str, item: Any, delta: Delta = Delta.MODIFIED) -> list[str]:
        """An event; who was touched by it."""
        self.touched.clear()
        self.feeds[kind].apply(delta, item)
        return self.touched

    def standing(self, name: str) -> QueueState:
        record = self.records.queue(name)
        assert record is not None
        return self.records.standing(record)


def test_nothing_is_touched_before_queues_and_all_podgroups_are_listed() -> None:
    touched: list[str] = []
    records = QueueRecords("default", frozenset({"ns"}), touched.append, lambda about, told: None)
    tell_list(records.feeds["Command"], [command("c", "gone")], "1")
    tell_list(records.feeds["Queue"], [queue("q")], "1")
    assert (touched, records.complete.is_set()) == ([], False)
    tell_list(records.feeds["PodGroup"], [], "1")
    assert (touched, records.complete.is_set()) == ([], False)
    records.mirror_complete()
    assert (touched, records.complete.is_set()) == (["q", "gone"], True)


def test_what_is_known_of_a_queue() -> None:
    found = queue("q", "Closing", "p", **{STATE_WISH: "closed", CLOSED_BY_PARENT: "true"})
    world = World(found, queue("p", CLOSED), podgroups=(podgroup("a"), podgroup("b"), podgroup("c", "p")))
    assert world.standing("q") == QueueState("q", "Closing", CLOSED, True, 2, "p", CLOSED)


def test_native_podgroups_count_in_the_queue_where_the_mirror_has_them() -> None:
    world = World(queue("q", "Closing"), queue("other"), podgroups=(podgroup("a", "other"),))
    key = native_key("ns", "g")
    world.records.member(QueueMember(key, "q"))
    assert [world.standing(name).podgroups for name in ("q", "other")] == [1, 1]
    world.touched.clear()
    world.records.member(QueueMember(key, "other"))
    assert [world.standing(name).podgroups for name in ("q", "other")] == [0, 2]
    assert world.touched == ["q"], "a queue that is being closed is looked at when it has none"
    world.records.member(QueueMember(key, None))
    world.records.member(QueueMember(key, None))
    assert [world.standing(name).podgroups for name in ("q", "other")] == [0, 1]


def test_podgroups_that_name_no_queue_are_in_the_default_one() -> None:
    assert World(queue("default"), podgroups=(podgroup("a", None),)).standing("default").podgroups == 1


@pytest.mark.parametrize(
    ("queues", "parent"),
    [
        pytest.param([queue("root", CLOSED), queue("q", parent="root")], "", id="the root closes nothing"),
        pytest.param([queue("q", parent="gone")], "", id="nor does a parent that is not there"),
        pytest.param([queue("p", CLOSED), queue("q", parent="p")], "p", id="a parent does"),
        pytest.param([queue("p", CLOSED, "q"), queue("q", parent="p")], "", id="but not in a ring"),
        pytest.param([queue("q", parent="q")], "", id="of one"),
        pytest.param(
            [queue("a", CLOSED, "b"), queue("b", CLOSED, "a"), queue("q", parent="a")], "", id="nor below a ring"
        ),
    ],
)
def test_which_parent_counts(queues: list[Any], parent: str) -> None:
    assert World(*queues).standing("q").parent == parent


def test_a_queue_that_cannot_be_read_is_known_to_be_there_and_its_children_stay_as_they_are() -> None:
    broken = read("Queue", "p", spec={"weight": "heavy"})
    world = World(broken, queue("a", parent="p"), queue("b", CLOSED, "p", **{CLOSED_BY_PARENT: "true"}))
    record = world.records.queue("p")
    assert record is not None
    assert not record.readable
    assert [world.standing(name).parent_state for name in "ab"] == [OPEN, CLOSED]


def test_who_is_touched_by_what() -> None:
    world = World(queue("p"), queue("q", parent="p"), queue("shut", "Closing"), podgroups=(podgroup("a"),))
    assert world.tell("Queue", queue("q", parent="p", **{STATE_WISH: "closed"})) == ["q"]
    assert world.tell("Queue", queue("p", CLOSED)) == ["p", "q"]
    assert world.tell("Queue", queue("p", CLOSED)) == []
    assert world.tell("PodGroup", podgroup("a", "shut")) == []
    assert world.tell("PodGroup", podgroup("b", "shut")) == []
    assert world.tell("PodGroup", podgroup("a", "shut"), Delta.DELETED) == []
    assert world.tell("PodGroup", podgroup("b", "shut"), Delta.DELETED) == ["shut"]
    assert world.tell("Command", command("c", "q")) == ["q"]
    assert world.tell("Command", command("c", "q"), Delta.DELETED) == ["q"]


def test_commands_are_kept_by_age_and_those_about_others_are_for_others() -> None:
    world = World(queue("q"))
    for name in ("b", "a"):
        world.tell("Command", command(name, "q"))
    assert [str(order) for order in world.records.orders("q")] == ["Command ns/a", "Command ns/b"]
    assert order_of(command("c", "q", kind="Job")) is None
    assert order_of(command("c", "q", version="example.com/v1")) is None
    assert order_of(read("Command", "c", "ns", target=None)) is None


NAMES = st.sampled_from("abc")
EVENTS = st.lists(st.tuples(NAMES, st.none() | st.sampled_from("xy")), max_size=20)


@given(EVENTS, EVENTS)
def test_counts_are_those_of_the_podgroups_there_are(
    before: list[tuple[str, str | None]], after: list[tuple[str, str | None]]
) -> None:
    world = World(queue("x"), queue("y"))
    there: dict[str, str] = {}
    for events in (before, after):
        for name, where in events:
            there.pop(name, None)
            if where is None:
                world.tell("PodGroup", podgroup(name, ""), Delta.DELETED)
            else:
                there[name] = where
                world.tell("PodGroup", podgroup(name, where))
        assert [world.standing(name).podgroups for name in "xy"] == [
            sum(where == name for where in there.values()) for name in "xy"
        ]
        there = dict.fromkeys(there, "y")
        tell_list(world.feeds["PodGroup"], [podgroup(name, "y") for name in there], "2")


@pytest.mark.parametrize(
    ("target", "namespace", "told"),
    [
        pytest.param("q", "ns", "", id="from a named namespace"),
        pytest.param("q", "tenant", "are accepted in namespace default or ns only", id="from another one"),
        pytest.param("", "ns", "target.name: '' cannot be the name of a queue", id="about nothing"),
        pytest.param("..", "ns", "target.name: '..' cannot be the name of a queue", id="about another path"),
        pytest.param("q?x=1", "tenant", "target.name: 'q?x=1' cannot be", id="with a query"),
    ],
)
def test_which_commands_are_kept_and_what_is_said_on_others(target: str, namespace: str, told: str) -> None:
    world = World(queue("q"))
    about = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "name": target, "uid": "u"}
    touched = world.tell("Command", read("Command", "c", namespace, action="CloseQueue", target=about))
    assert (touched, len(world.records.orders(target))) == (([], 0) if told else ([target], 1))
    assert len(world.refused) == bool(told)
    assert all(line.startswith("c: ") and told in line for line in world.refused)


def test_a_command_that_cannot_be_read_is_told_so() -> None:
    world = World(queue("q"))
    assert world.tell("Command", read("Command", "c", "ns", action=7)) == []
    assert world.refused == ["c: Command ns/c: action: must be a string, is 7"]
