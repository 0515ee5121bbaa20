"""Regular expressions of HyperNodes: RE2's syntax, many at once equal to one by one, and hostile ones bounded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.kernels.topology.patterns import matches, problem_of
from vsched.model.nodes.table import NodeAttributes, NodeStatics


def statics_of(*names: str) -> NodeStatics:
    return NodeStatics([NodeAttributes(name, {}) for name in sorted(names)])


def matched(pattern: str, *names: str) -> list[str]:
    statics = statics_of(*names)
    return [statics.names[row] for row in matches(statics, [pattern]).rows[pattern]]


@pytest.mark.parametrize(
    ("pattern", "names", "expected"),
    [
        pytest.param("b", ["abc", "xyz"], ["abc"], id="found anywhere"),
        pytest.param(r"^rack-\d+$", ["rack-1", "rack-12", "rack-1x"], ["rack-1", "rack-12"], id="anchored"),
        pytest.param(r"\Qa.b\E$", ["a.b", "axb"], ["a.b"], id="quoted text, which Python does not have"),
        pytest.param(r"a\z", ["a", "ab"], ["a"], id="Go's end of text"),
        pytest.param(r"^[[:alpha:]]+$", ["ab", "a1"], ["ab"], id="classes by name"),
        pytest.param(r"(?i)^A", ["ab", "b"], ["ab"], id="flags"),
        pytest.param("", ["a"], ["a"], id="nothing is found everywhere"),
    ],
)
def test_syntax(pattern: str, names: list[str], expected: list[str]) -> None:
    assert problem_of(pattern) == ""
    assert matched(pattern, *names) == expected


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        pytest.param("(a", "missing ): (a", id="a bracket"),
        pytest.param("(?!a)", "invalid perl operator: (?!", id="looking ahead, which RE2 does not have"),
        pytest.param(r"(a)\1", r"invalid escape sequence: \1", id="references back, which RE2 does not have"),
        pytest.param("a{1001}", "invalid repetition size: {1001}", id="a thousand repetitions at most"),
        pytest.param("x" * 100_000, "pattern too large - compile failed", id="a pattern that takes too much memory"),
    ],
)
def test_what_cannot_be_used(pattern: str, problem: str) -> None:
    assert problem_of(pattern) == problem
    assert matched(pattern, "a", "x" * 253) == []


def test_a_hostile_pattern_takes_no_longer_than_another() -> None:
    assert matched(r"^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 253) == []
    assert matched(r"(a|b|c)*a(a|b|c){200}$", "b" + "a" * 252) == ["b" + "a" * 252]


PARTS = st.sampled_from(["a", "b", "1", ".", ".*", "^a", "b$", "[ab]", "(?i)B", "(?:a|1)+", "(", r"\d"])
PATTERNS = st.lists(st.lists(PARTS, max_size=3).map("".join), min_size=1, max_size=6, unique=True)
NAMES = st.lists(st.text("ab1-", min_size=1, max_size=4), min_size=1, max_size=8, unique=True)


@given(PATTERNS, NAMES)
def test_many_at_once_equal_one_by_one(patterns: list[str], names: list[str]) -> None:
    statics = statics_of(*names)
    found = matches(statics, patterns)
    assert {pattern: [statics.names[row] for row in rows] for pattern, rows in found.rows.items()} == {
        pattern: matched(pattern, *names) for pattern in patterns
    }


@given(PATTERNS, NAMES, PATTERNS, NAMES)
def test_what_is_known_of_earlier_nodes_and_patterns_changes_nothing(
    earlier: list[str], before: list[str], patterns: list[str], names: list[str]
) -> None:
    old = statics_of(*before)
    matches(old, earlier)
    now = NodeStatics(statics_of(*names).attributes, old.memo)
    found = matches(now, patterns).rows
    assert {pattern: rows.tolist() for pattern, rows in found.items()} == {
        pattern: rows.tolist() for pattern, rows in matches(statics_of(*names), patterns).rows.items()
    }


def test_more_patterns_than_are_searched_for_at_once() -> None:
    names = [f"n{at:03d}" for at in range(600)]
    statics = statics_of(*names)
    found = matches(statics, [f"^{name}$" for name in names]).rows
    assert [found[f"^{name}$"].tolist() for name in names] == [[at] for at in range(600)]


def test_patterns_too_large_to_be_searched_for_together() -> None:
    long = [f"^{letter}(?:[a-y][b-z]){{900}}|{letter}1$" for letter in "abcdefghijklmnopqrstuvwxyz"]
    statics = statics_of("b1", "c2", "z1")
    found = matches(statics, [*long, *(f"{pattern}|0" for pattern in long)]).rows
    assert [pattern[1] for pattern, rows in found.items() if rows.size] == ["b", "z", "b", "z"]


def test_the_problem_with_a_large_pattern_is_told_in_a_few_words() -> None:
    assert len(problem_of("(" + "ä" * 100_000)) < 300
    assert problem_of("(a") == "missing ): (a"
