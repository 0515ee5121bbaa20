"""Selectors of devices: what they see of a device, what they come to, and what their answers depend on."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.cel import words
from vsched.cel.devices import DeviceView, attribute_version, cost_of, device_expression
from vsched.cel.errors import NotCompiled, NotEvaluated

GPU = DeviceView(
    driver="gpu.example.com",
    attributes={
        "model": "h100",
        "other.example.com/numa": 1,
        "gpu.example.com/ecc": True,
        "gpu.example.com/driverVersion": attribute_version("550.54.15"),
    },
    capacity={"memory": 80 * 1024**3 * 1000, "gpu.example.com/cores": 132_000},
)
"""Names without a domain are the driver's."""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param('device.driver == "gpu.example.com"', True, id="the driver"),
        pytest.param(
            'device.attributes["gpu.example.com"].model == "h100"', True, id="a name without a domain is the driver's"
        ),
        pytest.param("device.attributes['gpu.example.com']['ecc']", True, id="an attribute by index"),
        pytest.param('device.attributes["other.example.com"].numa == 1', True, id="an attribute of another domain"),
        pytest.param('device.attributes["other.example.com"].numa == true', False, id="an int is no bool"),
        pytest.param('has(device.attributes["gpu.example.com"].model)', True, id="an attribute that is there"),
        pytest.param('has(device.attributes["gpu.example.com"].nope)', False, id="an attribute that is not"),
        pytest.param('has(device.attributes["nope"].model)', False, id="an unknown domain is an empty map"),
        pytest.param('"nope" in device.attributes', False, id="a domain that the device does not have"),
        pytest.param('"other.example.com" in device.attributes', True, id="a domain that it has"),
        pytest.param(
            '!("nope" in device.attributes) && !has(device.attributes["nope"].x)', True, id="looked up, it is there"
        ),
        pytest.param(
            'device.attributes.size() == 2 && !has(device.attributes["nope"].x)',
            True,
            id="domains are counted as they are",
        ),
        pytest.param(
            'device.attributes.all(d, d != "nope" || has(device.attributes["nope"].x))', True, id="and visited"
        ),
        pytest.param(
            'has(device.capacity[device.driver].memory) && "in device.attributes" != "x"',
            True,
            id="the driver's domain",
        ),
        pytest.param('"model" in device.attributes["gpu.example.com"]', True, id="a name is in its domain"),
        pytest.param(
            'device.capacity["gpu.example.com"].memory.compareTo(quantity("80Gi")) >= 0', True, id="enough memory"
        ),
        pytest.param(
            'device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("80Gi"))', False, id="no more memory"
        ),
        pytest.param('device.capacity["gpu.example.com"].memory == quantity("81920Mi")', True, id="equal quantities"),
        pytest.param('device.capacity["gpu.example.com"].cores.asInteger() == 132', True, id="a quantity as a number"),
        pytest.param("device.allowMultipleAllocations", False, id="whether it may be shared"),
        pytest.param(
            'device.attributes["gpu.example.com"].driverVersion.isGreaterThan(semver("550.9.0"))',
            True,
            id="versions are compared part by part",
        ),
        pytest.param(
            'device.attributes["gpu.example.com"].driverVersion.compareTo(semver("550.54.15+build.7")) == 0',
            True,
            id="the build of a version does not count",
        ),
        pytest.param(
            'device.attributes["gpu.example.com"].driverVersion.major() == 550', True, id="a part of a version"
        ),
        pytest.param(
            'semver("1.0.0-rc.2").isLessThan(semver("1.0.0")) && semver("1.0.0-2").isLessThan(semver("1.0.0-rc"))',
            True,
            id="what comes before a release is less than it, and numbers are less than words",
        ),
        pytest.param('isSemver("v1.2") || !isSemver("v1.2", true)', False, id="a version that needs normalising"),
        pytest.param(
            'cel.bind(a, device.attributes["gpu.example.com"], a.model == "h100" && a.ecc)', True, id="a name is bound"
        ),
        pytest.param(
            'cel.bind(a, device.driver, cel.bind(b, "x", a + b == "gpu.example.comx"))', True, id="two names are bound"
        ),
        pytest.param('"cel.bind(a, b)" == device.driver', False, id="a binding in a text is no binding"),
        pytest.param(
            'device.attributes["gpu.example.com"].model.lowerAscii().matches("^h[0-9]+$")',
            True,
            id="functions of texts",
        ),
        pytest.param('device.attributes["gpu.example.com"].exists(k, k == "ecc")', True, id="a loop over names"),
    ],
)
def test_a_selector_comes_to(text: str, expected: bool) -> None:
    assert device_expression(text).matches(GPU) is expected


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param(
            'device.attributes["gpu.example.com"].nope == 1', words.no_such_key("nope"), id="a name that is not"
        ),
        pytest.param(
            'device.attributes["nope"].model == "a"', words.no_such_key("model"), id="a name of an unknown domain"
        ),
        pytest.param("device.driver", words.not_a_bool("string"), id="no truth value"),
        pytest.param("device.?driver", words.not_a_bool("optional"), id="an optional value"),
        pytest.param('semver("1.2").major() == 1', "No Major.Minor.Patch", id="no version"),
        pytest.param('semver("1.2.3").compareTo(quantity("1")) == 0', words.NO_OVERLOAD, id="a version and a quantity"),
    ],
)
def test_a_selector_fails(text: str, why: str) -> None:
    with pytest.raises(NotEvaluated, match=why.replace(".", r"\.")):
        device_expression(text).matches(GPU)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        pytest.param("device.driver ==", "ERROR: <input>:1:17", id="half an expression"),
        pytest.param("devices.driver == 'a'", words.undeclared("devices"), id="an unknown variable"),
        pytest.param(
            "'aaaaaaaaaaaaaaaaaaaa'.split('').all(x, 'aaaaaaaaaaaaaaaaaaaa'.split('').all(y, 'bbbbbbbbbb'.split('')"
            ".all(z, x.size() + y.size() > z.size())))",
            words.too_costly(55405, 10000),
            id="loops over literals that take too long",
        ),
        pytest.param(
            'device.attributes["a.b"].c.split("-")[0].matches("a+")', "it may cost", id="a pattern in a part of a text"
        ),
        pytest.param("cel.bind(a, 1)", words.undeclared("bind"), id="a binding without a body"),
        pytest.param("cel.bind(a.b, 1, true)", words.undeclared("bind"), id="a binding without a name"),
    ],
)
def test_a_selector_does_not_compile(text: str, where: str) -> None:
    with pytest.raises(NotCompiled) as refused:
        device_expression(text)
    assert where in str(refused.value)


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        pytest.param('device.driver == "a"', (), id="the driver is always part of the key"),
        pytest.param(
            'device.attributes["a.b"].c == "x" && device.capacity["a.b"]["d"].sign() > 0',
            (("attributes", "a.b/c"), ("capacity", "a.b/d")),
            id="names by field and by index",
        ),
        pytest.param('device.attributes["a.b"].exists(k, k == "c")', None, id="a loop may read everything"),
        pytest.param('cel.bind(a, device.attributes["a.b"], a.c == 1)', None, id="a domain may be read in part"),
        pytest.param("device.attributes[device.driver].c == 1", None, id="the domain is not known"),
    ],
)
def test_what_the_answer_depends_on(text: str, reads: Any) -> None:
    assert device_expression(text).reads == reads


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        pytest.param('device.driver == "a"', 3, id="the driver"),
        pytest.param('device.attributes["a.b"].c.matches("x.*y")', 4 + 7, id="fields of a domain are as large as any"),
        pytest.param(
            'device.attributes["a.b"].all(k, k != "c")', 32 * 5 + 4, id="a domain has as many names as it may"
        ),
        pytest.param("'abcd'.split('').size() > 0", 1 + 1 + 1, id="a text that is split, as API servers reckon"),
        pytest.param("['abcd'].all(x, x.size() > 0)", 15 + 2, id="an item of a list"),
    ],
)
def test_what_a_selector_costs(text: str, cost: int) -> None:
    assert cost_of(text) == cost


VALUES = st.one_of(st.booleans(), st.integers(0, 2), st.sampled_from(["a", "h100"]))
ATTRIBUTES = st.dictionaries(st.sampled_from(["model", "d.example/model", "other/model", "uuid"]), VALUES, max_size=4)
TEXTS = (
    'device.attributes["d.example"].model == "h100"',
    'has(device.attributes["other"].model) && device.attributes["other"].model != 1',
    'device.driver == "d.example" || device.attributes["d.example"].uuid == "a"',
    'device.attributes["d.example"].all(k, k != "uuid")',
    'device.attributes["d.example"].?model.orValue("a") == "a"',
    'device.attributes[?"other"].?model.optMap(m, m == "h100").orValue(true)',
    '"other" in device.attributes && device.attributes["other"].?uuid.hasValue()',
    'cel.bind(a, device.attributes, size(a["other"]) == 0) || device.?driver.value() == "d.example"',
)


@given(ATTRIBUTES, ATTRIBUTES, st.sampled_from(TEXTS), st.sampled_from(["d.example", "e.example"]))
def test_devices_of_equal_keys_have_equal_answers(
    one: dict[str, Any], other: dict[str, Any], text: str, driver: str
) -> None:
    expression = device_expression(text)
    views = [DeviceView(driver, attributes, {}) for attributes in (one, other)]
    keys = [expression.key(driver, False, tuple(view.attributes.items()), ()) for view in views]
    if keys[0] == keys[1]:
        assert _answer(expression, views[0]) == _answer(expression, views[1])


def _answer(expression: Any, view: DeviceView) -> object:
    try:
        return expression.matches(view)
    except NotEvaluated as error:
        return str(error)
