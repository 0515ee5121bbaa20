"""The language of validation rules: what expressions come to, which are none, and what they may cost."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.cel import words
from vsched.cel.errors import NotCompiled, NotEvaluated, TooExpensive
from vsched.cel.expressions import MOST_CHARS, MOST_STEPS, compiled

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
    "letters that take more than one byte": ("self.size() * 10 + size(self)", "größe", 55),
    "a text with a number": ("'%s has %d of %.1f, %x'.format([self, 2, 1.5, 255])", "a", "a has 2 of 1.5, ff"),
    "a text of a list": ("'%s'.format([self])", ["a", 1, True, None], '["a", 1, true, null]'),
    "a text of a map": ("'%s%%'.format([self])", {"b": 2.5, "a": 1}, '{"a":1, "b":2.500000}%'),
    "a text of bits": ("'%b %b %o %X'.format([5, self, 8, 'ab'])", True, "101 1 10 6162"),
    "quotation marks": ("strings.quote(self)", 'a"b\n', '"a\\"b\\n"'),
    "a set in another": ("sets.contains(self, [1, 1])", [1, 2], True),
    "true is not 1": ("sets.contains(self, [1])", [True], False),
    "equal sets": ("sets.equivalent(self, [2, 1, 1])", [1, 2], True),
    "sets without a common item": ("sets.intersects(self, [3])", [1, 2], False),
    "an item of a list": ("self.includes('a') && 'a'.includes('a')", ["a"], True),
    "an address": ("ip(self).family() * 10 + (ip(self).isLoopback() ? 1 : 0)", "::1", 61),
    "equal addresses": ("ip(self) == ip('::1') && !ip.isCanonical(self)", "0:0::1", True),
    "no address": ("isIP(self) || isIP('::ffff:1.2.3.4') || isIP('fe80::1%eth0')", "10.0.0.01", False),
    "an address in a range": ("cidr(self).containsIP('10.1.2.3')", "10.0.0.0/8", True),
    "a range in a range": ("cidr(self).containsCIDR('10.1.0.0/16')", "10.0.0.0/8", True),
    "parts of a range": ("string(cidr(self).ip()) + string(cidr(self).masked())", "10.1.2.3/8", "10.1.2.310.0.0.0/8"),
    "parts of a URL": (
        "url(self).getScheme() + url(self).getHostname() + url(self).getPort() + url(self).getEscapedPath()",
        "https://[::1]:80/a%20b?c=d",
        "https::180/a%20b",
    ),
    "questions of a URL": ("url(self).getQuery()['c']", "https://a.b/?c=d&c=e", ["d", "e"]),
    "no URL": ("isURL(self)", "a.b/c", False),
    "a name of the right form": ("format.dns1123Label().validate(self).hasValue()", "a-b", False),
    "a name of the wrong form": ("format.named('labelValue').value().validate(self).value().size()", "a b", 1),
    "the beginning of a name": ("format.dns1123LabelPrefix().validate(self).hasValue()", "a-", False),
    "a truth as text": ("string(self) + string(5)", True, "true5"),
    "a text in a literal that looks like a field": ("'self.nope' + \"self.nope\" == self", "self.nopeself.nope", True),
}


@pytest.mark.parametrize(("text", "value", "expected"), VALUES.values(), ids=VALUES)
def test_an_expression_comes_to(text: str, value: Any, expected: Any) -> None:
    assert compiled(text, ("self",)).evaluate({"self": value}) == expected


REFUSED: dict[str, tuple[str, str]] = {
    "half an expression": ("self.", "ERROR: <input>:1:6: Syntax error"),
    "a variable that nobody declared": ("1 + nope", "ERROR: <input>:1:5: " + words.undeclared("nope")),
    "a function that nobody knows": ("self.a ||\n grow(self)", "ERROR: <input>:2:2: " + words.undeclared("grow")),
    "a variable of a loop outside it": ("self.all(x, x > 1) && y", words.undeclared("y")),
    "a format that nobody knows": ("format.nope().validate(self)", words.undeclared("nope")),
    "a faulty expression shows as it is written": ("self.size() >", "| self.size() >"),
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
    "a missing key": ("self.a == 1", {}, words.no_such_key("a")),
    "an index too far": ("self[3] == 1", [1], "index out of bounds: 3"),
    "nothing to divide by": ("1 / self == 1", 0, words.DIVISION_BY_ZERO),
    "a rest of nothing": ("1 % self == 1", 0, words.MODULUS_BY_ZERO),
    "a sum too large": ("self + 1 > 0", (1 << 63) - 1, "integer overflow"),
    "types that do not go together": ("self + 1 == 2", "a", words.NO_OVERLOAD),
    "a quantity of a number": ("quantity(self).sign() == 0", 5, words.NO_OVERLOAD),
    "a quantity compared with a number": ("quantity('1').compareTo(self) == 0", 1, words.NO_OVERLOAD),
    "no quantity": ("quantity(self).sign() == 0", "lots", words.WRONG_FORMAT),
    "no whole number": ("quantity(self).asInteger() == 0", "500m", words.NOT_AN_INTEGER),
    "the least of nothing": ("self.min() == 0", [], words.called_on_empty_list("min")),
    "no pattern": ("self.find('(') == ''", "a", "error parsing regexp"),
    "an address of letters": ("ip(self).family() == 4", "a", "parse error during conversion from string"),
    "a range without bits": ("cidr(self).prefixLength() == 8", "10.0.0.0", "parse error during conversion"),
    "a clause without an argument": ("'%s'.format(self) == ''", [], words.argument_missing(0)),
    "a clause that nobody knows": ("'%y'.format(self) == ''", [1], "unrecognized formatting clause"),
    "a number that is a text": ("'%d'.format([self]) == ''", "a", "decimal clause can only be used on integers"),
    "a pattern of another language": ("self.find('(?=a)') == ''", "a", "error parsing regexp"),
    "too many parts of a text": ("self.split('').size() > 0", "x" * 200_000, "at most 100000 are allowed"),
    "a cut outside": ("self.substring(5) == ''", "a", words.index_out_of_range(5)),
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


def test_a_pattern_takes_time_that_grows_with_the_text() -> None:
    backtracking = compiled("self.find('(a+)+$') == '' && self.findAll('(a|aa)+$').size() == 0", ("self",))
    assert backtracking.evaluate({"self": "a" * 5000 + "b"}) is True


def test_bindings_of_sums_of_sums_are_refused_before_they_begin() -> None:
    doubled = "".join(f"cel.bind(x{i + 1}, x{i} + x{i}, " for i in range(40))
    text = f"cel.bind(x0, self, {doubled} x40.size() > 0{')' * 41}"
    with pytest.raises(TooExpensive):
        compiled(text, ("self",)).evaluate({"self": "x"})
    twice = compiled("cel.bind(a, self + self, cel.bind(b, a + a, b.size()))", ("self",))
    assert twice.evaluate({"self": "x"}) == 4


def test_parts_of_texts_that_the_expression_makes_count() -> None:
    grown = "self.replace('', 'x').split('')"
    text = f"{grown}.all(a, {grown}.all(b, a == b))"
    assert compiled(text, ("self",)).steps({"self": "x"}) > MOST_STEPS


def test_a_binding_is_no_loop() -> None:
    text = "cel.bind(a, self, cel.bind(b, a, b.all(x, b.all(y, x == y))))"
    assert compiled(text, ("self",)).evaluate({"self": [1] * 300}) is True


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
