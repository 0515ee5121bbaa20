"""What an observer says of the snapshots of a mirror: what the API server has, once, and of whom it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tests.support import builders as make
from tests.support.mirrors import Fields, World
from vsched.record.lines import (
    DELETED,
    AnyLine,
    Began,
    Complete,
    JobGone,
    JobThere,
    NodeGone,
    NodeThere,
    PodBound,
    PodEnded,
    PodThere,
    QueueThere,
)
from vsched.record.names import TraceNames
from vsched.record.observer import WorkObserver

NODE, QUEUE = make.node("n1"), make.queue("q")


def pod(name: str = "p", node: str = "", **fields: object) -> Fields:
    return make.merged(make.pod(name, group="pg", node=node), fields)


def group(uid: str = "group-uid") -> Fields:
    return make.merged(make.pod_group("pg"), {"metadata": {"uid": uid}, "spec": {"queue": "q", "minMember": 1}})


class Watched:
    """A mirror, and an observer that looks at it."""

    def __init__(self, *objects: Fields) -> None:
        self.world = World(*objects)
        self.observer = WorkObserver(TraceNames(), ("volcano",))
        self._now = 0.0

    def look(self) -> Sequence[AnyLine]:
        self._now += 1.0
        return self.observer.look(self.world.cache.snapshot(self._now))

    def kinds(self) -> Counter[str]:
        return Counter(type(line).__name__ for line in self.look())


def test_the_first_look_says_all_between_a_begin_and_an_end_and_the_next_says_nothing() -> None:
    watched = Watched(NODE, QUEUE, group(), pod())
    first = watched.look()
    assert isinstance(first[0], Began)
    assert isinstance(first[-1], Complete)
    assert Counter(type(line) for line in first[1:-1]) == {NodeThere: 1, QueueThere: 1, JobThere: 1, PodThere: 1}
    assert watched.look() == []


def test_a_binding_is_said_once_the_api_server_has_it_and_not_when_it_is_decided() -> None:
    watched = Watched(NODE, QUEUE, group(), pod())
    watched.look()
    watched.world.bind(pod())
    assert not watched.kinds()["PodBound"]
    watched.world.add(pod(node="n1"))
    assert [(line.node, line.unseen) for line in watched.look() if isinstance(line, PodBound)] == [("n1", False)]


def test_a_node_is_said_again_when_it_is_another() -> None:
    watched = Watched(NODE)
    watched.look()
    watched.world.add(make.merged(NODE, {"spec": {"unschedulable": True}}))
    assert [line.open for line in watched.look() if isinstance(line, NodeThere)] == [False]
    watched.world.delete(NODE)
    assert [type(line) for line in watched.look()] == [NodeGone]


def test_a_group_with_the_name_of_another_is_another_job() -> None:
    watched = Watched(NODE, QUEUE, group("one"), pod())
    before = next(line.id for line in watched.look() if isinstance(line, JobThere))
    watched.world.delete(group("one"))
    watched.world.add(group("two"))
    lines = watched.look()
    assert [line.id for line in lines if isinstance(line, JobGone)] == [before]
    after = [line for line in lines if isinstance(line, JobThere)]
    assert len(after) == 1
    assert after[0].id != before


def test_a_job_that_is_gone_takes_its_pods_with_it() -> None:
    watched = Watched(NODE, QUEUE, group(), pod())
    watched.look()
    watched.world.delete(pod(), group())
    lines = watched.look()
    assert [line.how for line in lines if isinstance(line, PodEnded)] == [DELETED]
    assert isinstance(lines[-1], JobGone)
    assert not watched.observer.book.pods


def test_pods_that_came_and_went_are_forgotten_while_their_job_lasts() -> None:
    watched = Watched(NODE, QUEUE, group())
    for number in range(20):
        each = pod(f"p{number}", metadata={"uid": f"uid-{number}"}, status={"phase": "Succeeded"})
        watched.world.add(each)
        watched.look()
        watched.world.delete(each)
        watched.look()
    book = watched.observer.book
    assert (len(book.pods), len(book.over), sum(map(len, book.pods_of.values()))) == (0, 0, 0)


def test_all_that_is_there_can_be_said_again() -> None:
    watched = Watched(NODE, QUEUE, group(), pod(node="n1"))
    first = watched.look()
    again = [*watched.observer.again()]
    assert [type(line) for line in again] == [type(line) for line in first]
    assert again[1:-1] == first[1:-1]


def test_what_a_pod_says_of_recorded_labels_is_said_and_that_it_says_more() -> None:
    amounts = {"cpu": "2", "memory": "1Gi"}
    whole = {"spec": {"containers": [{"name": "main", "resources": {"requests": amounts, "limits": amounts}}]}}
    zone = {"topology.kubernetes.io/zone": "a"}
    chosen = {name: {"spec": {"nodeSelector": labels}} for name, labels in (("z", zone), ("d", {"disk": "fast"}))}
    watched = Watched(NODE, QUEUE, group(), pod("whole", **whole), *(pod(name, **chosen[name]) for name in chosen))
    found = [line for line in watched.look() if isinstance(line, PodThere)]
    assert sorted((sorted(line.selector.items()), line.ruled) for line in found) == [
        ([], False),
        ([], True),
        ([*zone.items()], False),
    ]
