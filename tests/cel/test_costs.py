"""What expressions may cost: the numbers of an API server."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.cel.costs import MOST, Declared, estimate
from vsched.cel.syntax import parsed
from vsched.cel.tokens import SyntaxProblem

TEXT = Declared("string", 40, 2)
NUMBERS = Declared("list", 10, element=Declared("int"))
THING = Declared(
    "object",
    fields={
        "n": Declared("int"),
        "text": TEXT,
        "numbers": NUMBERS,
        "texts": Declared("list", 10, element=TEXT),
        "map": Declared("map", 5, element=TEXT, key=Declared("string")),
        "any": Declared("dyn", 40),
        "when": Declared("timestamp", 32),
    },
)

COSTS: dict[str, tuple[str, int]] = {
    "a constant": ("true", 0),
    "a variable": ("self", 1),
    "a field": ("self.n", 2),
    "two numbers, of which an API server takes fields for empty": ("self.n == 5", 2),
    "an order of numbers": ("self.n < 5", 3),
    "a sum": ("self.n + self.n * 2 < 5", 7),
    "a number below zero is a constant": ("self.n < -5", 3),
    "not": ("!(self.n < 5)", 4),
    "both sides of and, and of or": ("self.n < 5 && self.n > 1 || self.n > 9", 9),
    "the dearer of two branches": ("self.n < 5 ? self.n + 1 < 3 : true", 7),
    "texts by their shorter one": ("self.text == 'abcdefghijk'", 4),
    "a text and one of which nothing is said": ("self.text == string(self.n)", 2 + 3 + 4),
    "presence": ("has(self.text) && has(self.map)", 2),
    "the beginning of a text": ("self.text.startsWith('abcdefghijk')", 4),
    "a part of a text": ("self.text.contains('abcdefghijk')", 2 + 4 * 2),
    "a pattern": ("self.text.matches('^[a-z]+$')", 2 + 5 * 2),
    "a pattern of an empty text": ("''.matches('^[a-z]+$')", 1 * 2),
    "a number in a list": ("5 in self.numbers", 12),
    "a key of a map": ("'a' in self.map", 3),
    "a literal list": ("self.n in [1, 2, 3]", 2 + 10 + 3),
    "a loop": ("self.numbers.all(x, x > 0)", 10 * (2 + 1 + 2) + 3),
    "a loop that looks for one": ("self.numbers.exists(x, x > 0)", 10 * (3 + 1 + 2) + 3),
    "a loop that counts": ("self.numbers.exists_one(x, x > 0)", 10 * (2 + 2) + 2 + 2),
    "a loop that picks": ("self.numbers.filter(x, x > 0)", 10 * (2 + 13) + 2 + 10 + 1),
    "a loop that makes": ("self.numbers.map(x, x + 1)", 10 * (10 + 2 + 2) + 2 + 10 + 1),
    "a loop in a loop": ("self.numbers.all(x, self.numbers.all(y, x > y))", 10 * (3 + 10 * (3 + 3) + 3) + 3),
    "a loop over keys": ("self.map.all(k, self.map[k] == 'x')", 5 * (3 + 4 + 1) + 3),
    "a loop over positions and items": ("self.numbers.all(i, x, x > i)", 10 * (3 + 3) + 3),
    "a loop over what a loop made": ("self.numbers.map(x, x).all(x, x > 0)", 10 * 12 + 13 + 10 * 5 + 1),
    "a binding": ("cel.bind(x, self.n, x + x > 1)", 10 + 2 + 4),
    "parts of a text": ("self.text.split(',').size() > 1", 2 + 8 + 2),
    "parts of a literal: as many as letters": ("'a,b,c,d'.split(',').all(x, x != '')", 2 + 7 * 4 + 1),
    "at most so many parts": ("'a,b,c,d'.split(',', 2).all(x, x != '')", 2 + 2 * 4 + 1),
    "parts joined": ("self.texts.join(', ')", 2 + 42),
    "a sorted list": ("self.texts.isSorted()", 2 + 10 * 5),
    "a replaced part": ("self.text.replace('ab', 'abcd')", 2 + 8),
    "a longer text by replacing": ("self.text.replace('ab', 'abcd').trim()", 2 + 8 + 8),
    "lower letters": ("self.text.lowerAscii() == 'abc'", 2 + 4 + 1),
    "two texts in one": ("self.text + self.text != 'abc'", 4 + 8 + 1),
    "lists in one": ("(self.numbers + self.numbers).all(x, x > 0)", 5 + 20 * 5 + 1),
    "a value of any type is as a text": ("self.any < self.any", 4 + 4),
    "a moment": ("self.when == self.when", 4 + 4),
    "a moment's hour": ("self.when.getHours() == 4", 2 + 1 + 1),
    "quantities": ("quantity(self.text) == quantity('1Gi')", 3 + 1 + 1),
    "an optional field": ("self.?n.orValue(3) > 1", 1 + 1 + 1 + 1),
    "sets": ("sets.contains(self.numbers, [1, 2])", 2 + 10 + 21),
    "bytes of a text": ("bytes(self.text).size() > 3", 2 + 4 + 2),
    "a raw text": (r"self.text == r'\n\n\n\n\n\n\n\n\n\n'", 4),
    "escapes are one letter": (r"self.text == '\n\x41\u0041\101\n\n\n\n\n\n'", 3),
}  # fmt: skip


@pytest.mark.parametrize(("text", "cost"), COSTS.values(), ids=COSTS)
def test_an_expression_costs(text: str, cost: int) -> None:
    assert estimate(parsed(text), THING).cost == cost


def test_what_nothing_is_known_of_costs_as_much_as_there_is() -> None:
    assert estimate(parsed("self.n.unknown().all(x, true)"), THING).cost == MOST


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_longer_list_costs_no_less(one: int, other: int) -> None:
    least, most = sorted((one, other))
    rule = parsed("self.all(x, x > 0) && self.map(x, x * 2).exists(x, x in self)")
    costs = [estimate(rule, Declared("list", size, element=Declared("int"))).cost for size in (least, most)]
    assert costs == sorted(costs)


@pytest.mark.parametrize(
    "text", ["self.", "(self", "[1, 2", "{1: 2", "self.n >", "a ? b", "f(1", "1 2", ")", "self..n"]
)
def test_what_is_no_expression_has_no_tree(text: str) -> None:
    with pytest.raises(SyntaxProblem):
        parsed(text)


DEEP = {
    "many brackets": "(" * 10_000 + "1" + ")" * 10_000,
    "a long sum": "1" + " + 1" * 5_000,
    "many methods": "'a'" + ".trim()" * 5_000,
    "much denied": "!" * 10_000 + "true",
    "brackets and sums": "(" * 90 + "1" + (" + 1" * 90 + ")") * 90,
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_what_is_too_deep_has_no_tree(text: str) -> None:
    with pytest.raises(SyntaxProblem):
        parsed(text)


@pytest.mark.parametrize("text", ["(" * 99 + "1" + ")" * 99, "self.n" + " + 1" * 190], ids=["brackets", "a sum"])
def test_the_deepest_trees_are_estimated(text: str) -> None:
    assert estimate(parsed(text), THING).cost < 1000
