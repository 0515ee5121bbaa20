"""Optional fields: chains that end in orValue, hasValue or value come to what they come to in Kubernetes."""

from __future__ import annotations

import pytest

from vsched.cel.devices import DeviceView, device_expression
from vsched.cel.expressions import NotCompiled, NotEvaluated, compiled

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
    ],
)
def test_what_an_optional_field_comes_to(text: str, expected: object) -> None:
    assert compiled(text, ("self",)).evaluate({"self": SELF}) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(f'{OWN}.?model.orValue("") == "h100"', True, id="an attribute"),
        pytest.param(f'{OWN}.?nope.orValue("x") == "x"', True, id="an attribute that the device does not have"),
        pytest.param(
            'device.attributes[?"other"].?model.orValue("x") == "x"', True, id="a domain that it does not have"
        ),
        pytest.param('device.attributes[?"other"].hasValue()', True, id="every domain is there"),
        pytest.param(
            'device.capacity["gpu.example.com"].?memory.orValue(quantity("0")).compareTo(quantity("80")) == 0',
            True,
            id="a capacity",
        ),
        pytest.param(f"{OWN}.?ecc.hasValue()", False, id="whether it has an attribute"),
    ],
)
def test_optional_attributes_of_devices(text: str, expected: bool) -> None:
    assert device_expression(text).matches(GPU) is expected


def test_the_answer_depends_on_the_attribute_alone() -> None:
    assert device_expression(f'{OWN}.?model.orValue("") == "h100"').reads == (("attributes", "gpu.example.com/model"),)


def test_the_value_of_what_is_missing_is_an_error() -> None:
    with pytest.raises(NotEvaluated, match="no such key: nope"):
        compiled("self.?nope.value()", ("self",)).evaluate({"self": SELF})


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("self.?a", id="no end"),
        pytest.param("self.?a.optMap(x, x).orValue(1)", id="a value that is mapped"),
        pytest.param("self.?a.or(self.?b).orValue(1)", id="one or the other"),
        pytest.param("self.a.list[?0].orValue(1)", id="an optional item of a list"),
        pytest.param("[?self.?a]", id="an optional item in a list"),
        pytest.param("self.?a.hasValue(", id="half an expression"),
        pytest.param("self" + ".?a.orValue({})" * 60, id="conditions that repeat one another too often"),
    ],
)
def test_other_uses_do_not_compile(text: str) -> None:
    with pytest.raises(NotCompiled):
        compiled(text, ("self",))
