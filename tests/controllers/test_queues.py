"""The states of queues: every request in every state, and what follows from PodGroups and parents."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.controllers import words
from vsched.controllers.queues import QueueDecision, QueueState, boot_queues, decide
from vsched.model.queues.queue import CLOSED, CLOSING, OPEN, UNKNOWN


def queue(
    state: str = OPEN,
    podgroups: int = 0,
    *,
    wish: str = "",
    by_parent: bool = False,
    parent: str = "",
    parent_state: str = OPEN,
) -> QueueState:
    return QueueState("q", state, wish, by_parent, podgroups, parent, parent_state)


@pytest.mark.parametrize(
    ("state", "podgroups", "asked", "expected"),
    [
        pytest.param("", 3, "", OPEN, id="a new queue opens"),
        pytest.param(OPEN, 3, "", OPEN, id="an open one stays open"),
        pytest.param(CLOSING, 3, "", CLOSING, id="a closing one waits for its PodGroups"),
        pytest.param(CLOSING, 0, "", CLOSED, id="and is closed when the last is gone"),
        pytest.param(CLOSED, 0, "", CLOSED, id="a closed one stays closed"),
        pytest.param(CLOSED, 1, "", CLOSED, id="also where somebody put a PodGroup in it"),
        pytest.param(UNKNOWN, 0, "", UNKNOWN, id="an unknown state leads nowhere by itself"),
        pytest.param("Ajar", 0, "", UNKNOWN, id="a word that is no state is unknown"),
        pytest.param("", 0, CLOSED, CLOSED, id="a new one is closed on request"),
        pytest.param(OPEN, 0, CLOSED, CLOSED, id="an empty one is closed at once"),
        pytest.param(OPEN, 1, CLOSED, CLOSING, id="one with PodGroups is closing first"),
        pytest.param(CLOSING, 1, CLOSED, CLOSING, id="closing is not hurried by being asked again"),
        pytest.param(CLOSED, 1, CLOSED, CLOSED, id="closed is closed"),
        pytest.param(UNKNOWN, 1, CLOSED, CLOSING, id="an unknown one can be closed"),
        pytest.param("", 1, OPEN, OPEN, id="a new one is opened on request"),
        pytest.param(OPEN, 1, OPEN, OPEN, id="open is open"),
        pytest.param(CLOSING, 1, OPEN, OPEN, id="a closing one can be kept open"),
        pytest.param(CLOSED, 0, OPEN, OPEN, id="a closed one is opened"),
        pytest.param("Ajar", 0, OPEN, OPEN, id="an unknown one can be opened"),
    ],
)
def test_states_and_requests(state: str, podgroups: int, asked: str, expected: str) -> None:
    assert decide(queue(state, podgroups), asked) == QueueDecision(expected, False, "")
    if asked:
        assert decide(queue(state, podgroups, wish=asked)) == QueueDecision(expected, False, asked)


@pytest.mark.parametrize(
    ("wish", "asked", "expected"),
    [
        pytest.param(CLOSED, "", QueueDecision(CLOSED, False, CLOSED), id="the annotation stands"),
        pytest.param(CLOSED, OPEN, QueueDecision(OPEN, False, OPEN), id="a Command to open changes the annotation"),
        pytest.param(
            OPEN, CLOSED, QueueDecision(CLOSED, False, CLOSED), id="a Command to close changes the annotation"
        ),
        pytest.param("", CLOSED, QueueDecision(CLOSED, False, ""), id="a Command makes no annotation"),
    ],
)
def test_the_annotation_and_a_command(wish: str, asked: str, expected: QueueDecision) -> None:
    assert decide(queue(wish=wish), asked) == expected


@pytest.mark.parametrize("parent_state", [CLOSING, CLOSED])
@pytest.mark.parametrize(
    ("standing", "asked", "expected"),
    [
        pytest.param(queue(), "", QueueDecision(CLOSED, True, ""), id="an open child is closed, for its parent's sake"),
        pytest.param(
            queue(podgroups=2), "", QueueDecision(CLOSING, True, ""), id="and is closing while it has PodGroups"
        ),
        pytest.param(queue(""), "", QueueDecision(CLOSED, True, ""), id="so is a new one"),
        pytest.param(
            queue(CLOSED), "", QueueDecision(CLOSED, False, ""), id="a closed child is closed for its own sake"
        ),
        pytest.param(queue(CLOSING), "", QueueDecision(CLOSED, False, ""), id="a closing child goes on to be closed"),
        pytest.param(queue(CLOSED, by_parent=True), "", QueueDecision(CLOSED, True, ""), id="nothing else changes"),
        pytest.param(queue(UNKNOWN), "", QueueDecision(UNKNOWN, False, ""), id="an unknown child stays unknown"),
        pytest.param(
            queue(CLOSED, by_parent=True),
            CLOSED,
            QueueDecision(CLOSED, False, ""),
            id="a child may be closed for itself too",
        ),
        pytest.param(
            queue(CLOSED, by_parent=True, wish=CLOSED),
            "",
            QueueDecision(CLOSED, False, CLOSED),
            id="by annotation as well",
        ),
        pytest.param(
            queue(CLOSED, wish=OPEN), "", QueueDecision(CLOSED, True, OPEN), id="one that is to be open waits"
        ),
        pytest.param(queue(UNKNOWN, wish=OPEN), "", QueueDecision(CLOSED, True, OPEN), id="whatever state it was in"),
    ],
)
def test_below_a_parent_that_is_not_open(
    standing: QueueState, asked: str, expected: QueueDecision, parent_state: str
) -> None:
    assert decide(standing._replace(parent="p", parent_state=parent_state), asked) == expected


def test_a_child_is_not_opened_before_its_parent() -> None:
    verdict = decide(queue(CLOSED, parent="p", parent_state=CLOSING, wish=CLOSED), OPEN)
    assert verdict == QueueDecision(CLOSED, False, CLOSED, words.parent_first("p", "Closing"))


@pytest.mark.parametrize(
    ("standing", "expected"),
    [
        pytest.param(queue(CLOSED, by_parent=True), OPEN, id="a child that was closed with it opens with it"),
        pytest.param(queue(CLOSING, 2, by_parent=True), OPEN, id="whether it was closed already or not"),
        pytest.param(queue(CLOSED), CLOSED, id="a child that was closed for its own sake stays closed"),
    ],
)
def test_below_a_parent_that_is_open_again(standing: QueueState, expected: str) -> None:
    assert decide(standing._replace(parent="p", parent_state=OPEN)) == QueueDecision(expected, False, "")


def test_the_root_is_never_closed() -> None:
    root = QueueState("root")
    assert decide(root, CLOSED) == QueueDecision(OPEN, False, "", words.root_cannot_be_closed("root"))
    assert decide(root._replace(wish=CLOSED)) == QueueDecision(OPEN, False, CLOSED)


STATES = ("", OPEN, CLOSING, CLOSED, UNKNOWN, "Ajar")
STANDINGS = st.builds(
    QueueState,
    st.sampled_from(["q", "root"]),
    st.sampled_from(STATES),
    st.sampled_from(["", OPEN, CLOSED]),
    st.booleans(),
    st.integers(0, 2),
    st.just("p"),
    st.sampled_from(STATES),
)


@given(STANDINGS, st.sampled_from(["", OPEN, CLOSED]))
def test_once_a_verdict_is_carried_out_there_is_nothing_left_to_do(standing: QueueState, asked: str) -> None:
    verdict = decide(standing, asked)
    after = standing._replace(state=verdict.state, by_parent=verdict.by_parent, wish=verdict.wish)
    assert decide(after) == verdict._replace(refusal="")


@given(STANDINGS, st.sampled_from(["", OPEN, CLOSED]))
def test_nothing_is_open_below_what_is_not_and_no_request_is_lost_without_a_word(
    standing: QueueState, asked: str
) -> None:
    verdict = decide(standing, asked)
    assert verdict.state in (OPEN, CLOSING, CLOSED, UNKNOWN)
    if standing.parent_state in (CLOSING, CLOSED):
        assert verdict.state != OPEN
    if asked and not verdict.refusal:
        assert (verdict.state == OPEN) == (asked == OPEN)
        assert not verdict.by_parent


def test_the_queues_there_must_be() -> None:
    found = boot_queues("main")
    assert {name: body["spec"] for name, body in found.items()} == {
        "root": {"weight": 1, "reclaimable": False},
        "main": {"weight": 1, "reclaimable": True, "parent": "root"},
    }
    assert list(boot_queues("root")) == ["root"]
