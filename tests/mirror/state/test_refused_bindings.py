"""What the API server said to bindings that failed: the last word of each, for a bounded number of pods."""

from __future__ import annotations

from vsched.mirror.state.refused_bindings import LONGEST, RefusedBindings


def test_the_last_word_stays_until_the_pod_is_bound() -> None:
    refused = RefusedBindings()
    refused.note("a", "no")
    before = refused.publish()
    assert refused.publish() is before, "nothing is new"
    refused.note("a", "no again")
    refused.note("b", "not you")
    assert (before, refused.publish()) == ({"a": "no"}, {"a": "no again", "b": "not you"})
    refused.drop("a")
    refused.drop("nobody")
    assert refused.publish() == {"b": "not you"}
    refused.drop("b")
    assert refused.publish() == {}


def test_those_that_were_refused_longest_ago_are_forgotten_and_long_answers_cut() -> None:
    refused = RefusedBindings(remembered=2)
    for uid in ("a", "b", "a", "c"):
        refused.note(uid, "x" * 2 * LONGEST)
    found = refused.publish()
    assert list(found) == ["a", "c"]
    assert {len(message) for message in found.values()} == {LONGEST}
