"""Optional values, bindings and loops of two variables: expressions come to what they come to in Kubernetes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.cel import words
from vsched.cel.devices import DeviceView, device_expression
from vsched.cel.errors import NotCompiled, NotEvaluated
from vsched.cel.expressions import compiled
from vsched.cel.rewriting import rewritten

SELF = {"a": {"b": 1, "list": [{"c": 2}], "none": {}}, "k.x": {"y": "z"}}
GPU = DeviceView("gpu.example.com", {"model": "h100"}, {"memory": 80_000})
OWN = 'device.attributes["gpu.example.com"]'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("self.?a.b.orValue(9)", 1, id="a field that is there"),
        pytest.param("self.?nope.orValue(9)", 9, id="one that is not"),
        pytest.param("self.?nope.b.orValue(9)", 9, id="what follows an optional field is optional too"),
        pytest.param("self.a.?nope.orValue(9) + self.a.?b.orValue(9)", 10, id="two in one expression"),
        pytest.param("self.?a.hasValue()", True, id="whether there is one"),
        pytest.param("!self.a.?nope.hasValue()", True, id="whether there is none"),
        pytest.param("self.?a.b.value()", 1, id="the value itself"),
        pytest.param("self[?'k.x'].y.orValue('-')", "z", id="a name that is no word"),
        pytest.param("self[?'nope'].?y.orValue('-')", "-", id="one that is not there"),
        pytest.param("self.?nope.orValue({}).?b.orValue(3)", 3, id="after a value for what is missing"),
        pytest.param("self.a.list[0].?c.orValue(3)", 2, id="of an item"),
        pytest.param("(self.a).?b.orValue(3)", 1, id="of what is in brackets"),
        pytest.param("self.?nope.orValue(self.a.?b.orValue(3))", 1, id="within the value for what is missing"),
        pytest.param("self.a.list.exists(x, x.?nope.orValue(4) == 4)", True, id="in a loop"),
        pytest.param("'self.?a.orValue(1)'", "self.?a.orValue(1)", id="a text stays"),
        pytest.param("self.?a.b.orValue(1 / 0)", 1, id="what is not needed is not worked out"),
        pytest.param("self.?nope.or(self.a.?b).orValue(7)", 1, id="one or the other"),
        pytest.param("self.?a.or(optional.of(1 / 0)).hasValue()", True, id="the other is not worked out"),
        pytest.param("self.a.?b.optMap(v, v + 1).orValue(0)", 2, id="a value that is mapped"),
        pytest.param("self.?nope.optMap(v, v / 0).hasValue()", False, id="no value is not mapped"),
        pytest.param("self.?a.optFlatMap(v, v.?b).value()", 1, id="mapped to an optional value"),
        pytest.param("self.?a.optFlatMap(v, v.?nope).hasValue()", False, id="mapped to none"),
        pytest.param("self.a.list[?0].c.orValue(9)", 2, id="an optional item of a list"),
        pytest.param("self.a.list[?1].?c.orValue(9)", 9, id="an item that is not there"),
        pytest.param("[?self.?nope, 5, ?self.a.?b]", [5, 1], id="optional items in a list"),
        pytest.param("[?self.?nope]", [], id="an optional item alone"),
        pytest.param('{"x": 1, ?"y": self.?nope, ?"z": self.a.?b}', {"x": 1, "z": 1}, id="optional entries of a map"),
        pytest.param("{?'a': true ? self.a.?b : optional.none()}", {"a": 1}, id="a condition as an entry"),
        pytest.param("(self.a.b > 0 ? self.?a : self.?nope).b.orValue(0)", 1, id="one of two optional values"),
        pytest.param("cel.bind(x, self.?a, x.b.orValue(3))", 1, id="an optional value with a name"),
        pytest.param("optional.of(1) == optional.of(1)", True, id="equal optional values"),
        pytest.param("optional.ofNonZeroValue(0).hasValue()", False, id="zero counts as none"),
        pytest.param("optional.unwrap([optional.of(1), optional.none()])", [1], id="the values that are there"),
        pytest.param("[3, 4].last().value() - [3, 4].first().value()", 1, id="the first and the last"),
        pytest.param("[].first().hasValue()", False, id="the first of nothing"),
        pytest.param("[optional].map(optional, optional)[0].?x.orValue(1)", 1, id="a variable of that name"),
    ],
)
def test_what_an_optional_value_comes_to(text: str, expected: object) -> None:
    assert compiled(text, ("self", "optional")).evaluate({"self": SELF, "optional": {}}) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("[5, 6].exists(i, v, i == 1 && v == 6)", True, id="position and item"),
        pytest.param('{"a": 1}.all(k, v, k == "a" && v == 1)', True, id="key and value"),
        pytest.param("[1, 1].existsOne(i, v, v == 1)", False, id="exactly one"),
        pytest.param("[1, 2].existsOne(v, v == 1)", True, id="exactly one item"),
        pytest.param("[1, 2].transformList(i, v, i + v)", [1, 3], id="a list of a list"),
        pytest.param('{"a": 1, "b": 2}.transformList(k, v, v > 1, k)', ["b"], id="a list of some entries"),
        pytest.param('{"a": 1, "b": 2}.transformMap(k, v, v > 1, v * 2)', {"b": 4}, id="a map of some entries"),
        pytest.param("[7].transformMapEntry(i, v, {v: i})", {7: 0}, id="a map turned round"),
        pytest.param("[1, 2, 3].map(x, x > 1, x * 2)", [4, 6], id="a loop with a condition is no loop of pairs"),
    ],
)
def test_loops_of_two_variables(text: str, expected: object) -> None:
    assert compiled(text, ()).evaluate({}) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(f'{OWN}.?model.orValue("") == "h100"', True, id="an attribute"),
        pytest.param(f'{OWN}.?nope.orValue("x") == "x"', True, id="an attribute that the device does not have"),
        pytest.param(
            'device.attributes[?"other"].?model.orValue("x") == "x"', True, id="a domain that it does not have"
        ),
        pytest.param('device.attributes[?"other"].hasValue()', True, id="every domain is there when looked up"),
        pytest.param(
            'device.capacity["gpu.example.com"].?memory.orValue(quantity("0")).compareTo(quantity("80")) == 0',
            True,
            id="a capacity",
        ),
        pytest.param(f"{OWN}.?ecc.hasValue()", False, id="whether it has an attribute"),
        pytest.param(f"{OWN}.?model.optMap(m, m.startsWith('h')).orValue(false)", True, id="an attribute mapped"),
    ],
)
def test_optional_attributes_of_devices(text: str, expected: bool) -> None:
    assert device_expression(text).matches(GPU) is expected


@pytest.mark.parametrize("domain", ['["gpu.example.com"]', '[?"gpu.example.com"]'])
def test_the_answer_depends_on_the_attribute_alone(domain: str) -> None:
    expression = device_expression(f'device.attributes{domain}.?model.orValue("") == "h100"')
    assert expression.reads == (("attributes", "gpu.example.com/model"),)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("self.?nope.value()", "optional.none() dereference", id="the value of what is missing"),
        pytest.param("self.hasValue()", words.NO_OVERLOAD, id="a value that is not optional"),
        pytest.param("self.a.b.?c.hasValue()", words.NO_OVERLOAD, id="a field of a number"),
        pytest.param("[1][?'a'].hasValue()", words.NO_OVERLOAD, id="an item that has no position"),
        pytest.param("[?1]", words.NO_OVERLOAD, id="an optional item that is not optional"),
        pytest.param('{"a": 1, ?"a": optional.of(2)}', "repeated key: a", id="an entry that is there already"),
    ],
)
def test_an_optional_value_fails_for(text: str, why: str) -> None:
    with pytest.raises(NotEvaluated) as failed:
        compiled(text, ("self",)).evaluate({"self": SELF})
    assert why in str(failed.value)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("self.?a.hasValue(", "Syntax error", id="half an expression"),
        pytest.param("self.?a.optMap(x)", "unsupported syntax", id="a mapping without a body"),
        pytest.param("nope.?a", words.undeclared("nope"), id="a variable that nobody declared"),
        pytest.param("__select(self, 'a')", words.undeclared("__select"), id="a function of our own"),
        pytest.param("self.__items()", words.undeclared("__items"), id="a method of our own"),
        pytest.param("self" + ".?a.orValue({})" * 20 + "." * 2, "Syntax error", id="a long chain that ends badly"),
    ],
)
def test_no_expression_is(text: str, why: str) -> None:
    with pytest.raises(NotCompiled) as refused:
        compiled(text, ("self",))
    assert why in str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("self" + ".?a.orValue({})" * 200, id="a long chain"),
        pytest.param("cel.bind(a, " * 80 + "1" + ")" * 80, id="bindings without a body within each other"),
        pytest.param("[" * 5000, id="brackets that are never closed"),
    ],
)
def test_what_is_read_is_not_much_longer_than_the_text(text: str) -> None:
    found = rewritten(text)
    assert found is None or len(found.text) < 10 * len(text)


PLAIN = st.lists(
    st.sampled_from(
        [
            "self",
            ".a",
            "(",
            ")",
            "[",
            "]",
            "{",
            "}",
            "?",
            ":",
            ",",
            " ",
            "1",
            '"x"',
            "'.?'",
            "+",
            "//c\n",
            ".all(x, ",
            "in",
        ]
    ),
    max_size=20,
).map("".join)


@given(PLAIN)
def test_what_has_nothing_to_rewrite_stays(text: str) -> None:
    found = rewritten(text)
    if found is not None and "?" not in text:
        assert "".join(found.text.split()) == "".join(text.split())


def test_blanks_and_comments_stay() -> None:
    text = "self . a [ 0 ]  // the first\n  in [ 1 , 2 , ] && f( 1 , (2) ) || { 'a' : b ? c : d , }  // end"
    found = rewritten(text)
    assert found is not None
    assert found.text == text
