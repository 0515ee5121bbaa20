"""Which keys a list has yet to show, with changes of the watch in between."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as some

from vsched.kube.watch.deltas import ListUnderWay

KNOWN = ["a", "aa", "b"]


def begun() -> ListUnderWay:
    under_way = ListUnderWay()
    under_way.restart(KNOWN)
    return under_way


@pytest.mark.parametrize(
    ("happens", "gone"),
    [
        pytest.param(lambda one: None, ["a", "aa", "b"], id="neither the list nor the watch showed any"),
        pytest.param(lambda one: one.listed("a"), ["aa", "b"], id="the list showed one"),
        pytest.param(lambda one: one.watched("b"), ["a", "aa"], id="the watch showed one"),
        pytest.param(lambda one: one.listed("c"), ["a", "aa", "b"], id="the list showed another one"),
        pytest.param(lambda one: (one.listed("a"), one.restart(KNOWN)), ["a", "aa", "b"], id="the list began anew"),
    ],
)
def test_what_is_gone_when_a_list_is_complete(happens: Callable[[ListUnderWay], object], gone: list[str]) -> None:
    under_way = begun()
    happens(under_way)
    assert list(under_way.finish()) == gone
    assert not under_way.lasts


def test_what_comes_back_while_others_are_removed_stays() -> None:
    under_way = begun()
    removing = under_way.finish()
    assert next(removing) == "a"
    under_way.watched("aa")
    under_way.watched("b")
    assert list(removing) == []


def test_a_change_of_the_watch_is_newer_than_the_list() -> None:
    under_way = begun()
    assert under_way.watched("a"), "the list has not shown it yet"
    assert not under_way.watched("a")
    assert not under_way.listed("a")
    assert under_way.listed("b")
    assert not under_way.watched("b"), "the list has shown it"
    under_way.restart(KNOWN)
    assert under_way.listed("a"), "another list is newer again"


def test_without_a_list_nothing_is_kept() -> None:
    under_way = ListUnderWay()
    assert not under_way.watched("a")
    under_way.restart(())
    assert under_way.listed("a")


@given(some.sets(some.text()), some.lists(some.tuples(some.booleans(), some.booleans(), some.text())))
def test_gone_is_what_was_known_and_not_shown(known: set[str], shown: list[tuple[bool, bool, str]]) -> None:
    under_way = ListUnderWay()
    table = dict.fromkeys(known)
    under_way.restart(table)
    for watched, there, key in shown:
        if (under_way.watched if watched else under_way.listed)(key):
            assert not watched or key in known
        if there:
            table[key] = None
        else:
            table.pop(key, None)
    assert set(under_way.finish()) == known - {key for _, _, key in shown}
