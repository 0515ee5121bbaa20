"""The language of validation rules: what expressions come to, which are none, and what they may cost."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.cel.expressions import MOST_CHARS, MOST_STEPS, NotCompiled, NotEvaluated, TooExpensive, compiled

VALUES: dict[str, tuple[str, Any, Any]] = {
    "a comparison": ("self > 2", 3, True),
    "a field that is there": ("has(self.a) && self.a == 1", {"a": 1}, True),
    "a field that is not": ("has(self.a)", {}, False),
    "all of a list": ("self.all(x, x > 0)", [1, 2], True),
    "some key of a map": ("self.exists(k, self[k] == 2)", {"a": 1, "b": 2}, True),
    "exactly one": ("self.exists_one(x, x == 1)", [1, 1], False),
    "a list made of another": ("self.filter(x, x > 1).map(x, x * 2)", [1, 2, 3], [4, 6]),
    "an error that does not matter": ("1 / self > 0 || true", 0, True),
    "the type of a value": ("type(self) == int", 5, True),
    "a pattern": (r"self.matches('^a\\d+$')", "a12", True),
    "moments": ("timestamp(self) < timestamp('2026-01-01T00:00:00Z')", "2025-12-31T23:59:59Z", True),
    "the larger quantity": ("quantity(self).isGreaterThan(quantity('900m'))", "1", True),
    "the smaller quantity": ("quantity(self).isLessThan(quantity('1Gi'))", "1G", True),
    "equal quantities, written differently": ("quantity(self) == quantity('1024Mi')", "1Gi", True),
    "quantities compared": ("quantity(self).compareTo(quantity('1500m'))", "1.5", 0),
    "a quantity of a number": ("quantity('0').add(self).compareTo(quantity('2000m'))", 2, 0),
    "quantities taken from each other": ("quantity(self).sub(quantity('1')).sign()", "500m", -1),
    "a quantity as a number": ("quantity(self).asInteger() + 1", "2k", 2001),
    "no whole number": ("quantity(self).isInteger()", "1500m", False),
    "a quantity as a float": ("quantity(self).asApproximateFloat()", "1500m", 1.5),
    "no quantity": ("isQuantity(self)", "lots", False),
    "sums": ("self.sum()", [1, 2, 3], 6),
    "the sum of nothing": ("self.sum()", [], 0),
    "the least and the most": ("self.max() - self.min()", [3, 1, 2], 2),
    "sorted or not": ("self.isSorted()", [1, 3, 2], False),
    "where in a list": ("self.indexOf('b') * 10 + self.lastIndexOf('b')", ["b", "a", "b"], 2),
    "where in a text": ("self.indexOf('o') * 10 + self.lastIndexOf('o')", "foo", 12),
    "parts of a text": ("self.split('/')", "a/b/c", ["a", "b", "c"]),
    "the first parts of a text": ("self.split('/', 2)", "a/b/c", ["a", "b/c"]),
    "every letter": ("self.split('')", "abc", ["a", "b", "c"]),
    "parts joined": ("self.join('-')", ["a", "b"], "a-b"),
    "case": ("self.lowerAscii() + self.upperAscii()", "aB", "abAB"),
    "replaced": ("self.replace('a', 'xx', 1)", "aa", "xxa"),
    "cut": ("self.substring(1, 3) + self.charAt(0)", "abcd", "bca"),
    "trimmed": ("self.trim()", " a ", "a"),
    "found": ("self.find('[0-9]+')", "ab12c3", "12"),
    "all found": ("self.findAll('[0-9]+', 1)", "ab12c3", ["12"]),
    "a truth as text": ("string(self) + string(5)", True, "true5"),
    "a text in a literal that looks like a field": ("'self.nope' + \"self.nope\" == self", "self.nopeself.nope", True),
}


@pytest.mark.parametrize(("text", "value", "expected"), VALUES.values(), ids=VALUES)
def test_an_expression_comes_to(text: str, value: Any, expected: Any) -> None:
    assert compiled(text, ("self",)).evaluate({"self": value}) == expected


REFUSED: dict[str, tuple[str, str]] = {
    "half an expression": ("self.", "ERROR: <input>:1:6: Syntax error"),
    "a variable that nobody declared": ("1 + nope", "ERROR: <input>:1:5: undeclared reference to 'nope'"),
    "a function that nobody knows": ("self.a ||\n grow(self)", "ERROR: <input>:2:2: undeclared reference to 'grow'"),
    "a variable of a loop outside it": ("self.all(x, x > 1) && y", "undeclared reference to 'y'"),
    "optional values that are mapped": ("self.?a.optMap(x, x)", "unsupported syntax"),
    "a number that is too large": ("9223372036854775808", "invalid int literal"),
    "deep nesting": ("(" * 300 + "1" + ")" * 300, "Recursion limit"),
    "a book": ("1+" * MOST_CHARS + "1", f"at most {MOST_CHARS} "),
}


@pytest.mark.parametrize(("text", "why"), REFUSED.values(), ids=REFUSED)
def test_no_expression_is(text: str, why: str) -> None:
    with pytest.raises(NotCompiled) as refused:
        compiled(text, ("self",))
    assert why in str(refused.value)


FAILING: dict[str, tuple[str, Any, str]] = {
    "a missing key": ("self.a == 1", {}, "no such key: a"),
    "an index too far": ("self[3] == 1", [1], "index out of bounds: 3"),
    "nothing to divide by": ("1 / self == 1", 0, "division by zero"),
    "a rest of nothing": ("1 % self == 1", 0, "modulus by zero"),
    "a sum too large": ("self + 1 > 0", (1 << 63) - 1, "integer overflow"),
    "types that do not go together": ("self + 1 == 2", "a", "no such overload"),
    "a quantity of a number": ("quantity(self).sign() == 0", 5, "no such overload"),
    "a quantity compared with a number": ("quantity('1').compareTo(self) == 0", 1, "no such overload"),
    "no quantity": ("quantity(self).sign() == 0", "lots", "quantities must match the regular expression"),
    "no whole number": ("quantity(self).asInteger() == 0", "500m", "cannot convert value to integer"),
    "the least of nothing": ("self.min() == 0", [], "min called on empty list"),
    "no pattern": ("self.find('(') == ''", "a", "error parsing regexp"),
    "a cut outside": ("self.substring(5) == ''", "a", "index out of range: 5"),
    "a text that would fill the memory": ("self.replace('', self).size() > 0", "x" * 2000, "more than 1048576"),
}


@pytest.mark.parametrize(("text", "value", "why"), FAILING.values(), ids=FAILING)
def test_an_expression_fails_for(text: str, value: Any, why: str) -> None:
    with pytest.raises(NotEvaluated) as failed:
        compiled(text, ("self",)).evaluate({"self": value})
    assert why in str(failed.value)


def test_loops_within_loops_are_refused_before_they_begin() -> None:
    nested = compiled("self.all(a, self.all(b, self.all(c, a + b + c >= 0)))", ("self",))
    assert nested.evaluate({"self": [1] * 20}) is True
    with pytest.raises(TooExpensive):
        nested.evaluate({"self": [1] * 1000})
    flat = compiled("self.all(a, a > 0) && self.all(b, b > 0)", ("self",))
    assert flat.evaluate({"self": [1] * 1000}) is True
    ten = "[1,1,1,1,1,1,1,1,1,1]"
    written_out = compiled("".join(f"{ten}.all(x{i}, " for i in range(8)) + "self" + ")" * 8, ("self",))
    assert written_out.steps({"self": True}) > MOST_STEPS
    by_letter = compiled("self.split('').all(a, self.split('').all(b, self.split('').all(c, a + b != c)))", ("self",))
    assert by_letter.steps({"self": "x" * 300}) > MOST_STEPS


QUANTITIES = st.builds(
    lambda digits, suffix: f"{digits}{suffix}",
    st.integers(min_value=0, max_value=1 << 40),
    st.sampled_from(["", "m", "k", "M", "Ki", "Mi", "Gi", "u"]),
)
UNITS = {"": 1, "m": Decimal("1e-3"), "k": 1000, "M": 10**6, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}
UNITS["u"] = Decimal("1e-6")


def exact(text: str) -> Decimal:
    digits = text.rstrip("mkMKiGu")
    return Decimal(digits) * UNITS[text[len(digits) :]]


@given(QUANTITIES, QUANTITIES)
def test_quantities_are_compared_exactly(left: str, right: str) -> None:
    compared = compiled("quantity(self).compareTo(quantity(oldSelf))", ("self", "oldSelf"))
    one, other = (min(exact(text), Decimal((1 << 63) - 1)) for text in (left, right))
    assert compared.evaluate({"self": left, "oldSelf": right}) == (one > other) - (one < other)
    back = compiled(
        "quantity(self).add(quantity(oldSelf)).sub(quantity(oldSelf)) == quantity(self)", ("self", "oldSelf")
    )
    assert back.evaluate({"self": left, "oldSelf": right}) is True
