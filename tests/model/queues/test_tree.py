"""The tree of queues: it ends, whatever queues say is above them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.model.queues.queue import ROOT, Queue
from vsched.model.queues.tree import above, below, lineage, tree

RINGS: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "nobody above": ({"a": "", "b": ""}, {"a": "", "b": ""}),
    "somebody who is not there": ({"a": "nowhere"}, {"a": ""}),
    "somebody who is not there, where there is a root": ({ROOT: "", "a": "nowhere"}, {ROOT: "", "a": ROOT}),
    "itself": ({"a": "a"}, {"a": ""}),
    "one another": ({ROOT: "", "a": "b", "b": "a"}, {ROOT: "", "a": ROOT, "b": "a"}),
    "a root below others": ({ROOT: "a", "a": "b", "b": ""}, {ROOT: "", "a": "b", "b": ROOT}),
}


@pytest.mark.parametrize(("parents", "expected"), RINGS.values(), ids=RINGS)
def test_trees_end_whatever_queues_say_is_above_them(parents: Mapping[str, str], expected: Mapping[str, str]) -> None:
    assert tree({name: Queue(name, parent=parent) for name, parent in parents.items()}) == expected


@given(st.dictionaries(st.sampled_from("abcdef"), st.sampled_from(["", ROOT, *"abcdef"])), st.booleans())
def test_no_tree_has_a_ring(parents: dict[str, str], rooted: bool) -> None:
    named = parents | ({ROOT: ""} if rooted else {})
    found = tree({name: Queue(name, parent=parent) for name, parent in named.items()})
    for name in found:
        assert len(list(_bounded(lineage(name, found), len(found)))) < len(found)
    assert all(above in found for above in found.values() if above)


def _bounded(found: Iterable[str], most: int) -> Iterable[str]:
    for number, each in enumerate(found):
        assert number < most
        yield each


ABOVE: dict[str, tuple[dict[str, str], list[str], list[str]]] = {
    "nobody": ({"a": ""}, [], []),
    "nobody but the root, for those who count it": ({ROOT: "", "a": ""}, [], [ROOT]),
    "parents, the nearest first": ({ROOT: "", "a": "b", "b": "c", "c": ROOT}, ["b", "c", ROOT], ["b", "c", ROOT]),
    "those before one that is missing": ({ROOT: "", "a": "b", "b": "nowhere"}, ["b"], ["b"]),
    "each of a ring once": ({"a": "b", "b": "c", "c": "b"}, ["b", "c"], ["b", "c"]),
    "not itself": ({"a": "a"}, [], []),
}


@pytest.mark.parametrize(("parents", "stated", "rooted"), ABOVE.values(), ids=ABOVE)
def test_the_queues_above_one(parents: Mapping[str, str], stated: list[str], rooted: list[str]) -> None:
    queues = {name: Queue(name, parent=parent) for name, parent in parents.items()}
    assert [queue.name for queue in above(queues["a"], queues.get)] == stated
    assert [queue.name for queue in above(queues["a"], queues.get, rooted=True)] == rooted


@given(st.dictionaries(st.sampled_from("abcdef"), st.sampled_from(["", ROOT, *"abcdef"])), st.booleans())
def test_a_queue_is_below_those_above_it(parents: dict[str, str], rooted: bool) -> None:
    named = parents | ({ROOT: ""} if rooted else {})
    queues = {name: Queue(name, parent=parent) for name, parent in named.items()}
    for name, queue in queues.items():
        found = below(name, queues)
        assert found[0] == name
        assert len(set(found)) == len(found)
        for other in above(queue, queues.get, rooted=True):
            assert name in below(other.name, queues)
