"""Selectors of devices: CEL expressions over one device, as DeviceClasses and ResourceClaims write them.

An expression sees ``device.driver``, ``device.attributes[domain].name``, ``device.capacity[domain].name`` (a quantity)
and ``device.allowMultipleAllocations``. Looked up by name, a domain that a device does not have is an empty map; a name
that it does not have is an error. ``in``, ``size`` and loops see only the domains that the device has.

The language is loaded with the first expression, because most clusters have none.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from vsched.cel import words
from vsched.cel.errors import NotCompiled, NotEvaluated
from vsched.cel.versions import version

if TYPE_CHECKING:
    from vsched.cel.expressions import CelExpression
from vsched.cel.costs import MOST, Declared, estimate
from vsched.cel.syntax import parsed
from vsched.cel.tokens import SyntaxProblem

MOST_COST_SERVED = 1_000_000
"""The most that an API server accepts. There, a step takes a fraction of the time."""
_ID, _DOMAIN_NAME = Declared("string", 32), Declared("string", 63)
_DEVICE = Declared(
    "object",
    fields={
        "driver": _DOMAIN_NAME,
        "attributes": Declared(
            "map", 32, key=_DOMAIN_NAME, element=Declared("map", 32, key=_ID, element=Declared("dyn", 64))
        ),
        "capacity": Declared(
            "map", 32, key=_DOMAIN_NAME, element=Declared("map", 32, key=_ID, element=Declared("quantity"))
        ),
        "allowMultipleAllocations": Declared("bool"),
    },
)
"""What an API server knows of a device."""


def cost_of(text: str, part_cost: int = 0) -> int:
    """How much a selector costs at most, for one device; MOST where it is too deep to say."""
    try:
        return estimate(parsed(text), _DEVICE, loosely=False, part_cost=part_cost).cost
    except SyntaxProblem:
        return MOST


_TEXT = r"""("[^"\\\n]*"|'[^'\\\n]*')"""
_MAP = r"(?<![\w.])device\s*\.\s*(attributes|capacity)"
_FIELD, _INDEX = r"\.\s*\??\s*([A-Za-z_]\w*)", rf"\[\s*\??\s*{_TEXT}\s*\]"
_DOMAIN = re.compile(rf"(attributes|capacity)\s*(?:{_INDEX}|{_FIELD})")
_NAMED = re.compile(rf"{_MAP}\s*{_INDEX}\s*(?:{_FIELD}\b(?!\s*\()|{_INDEX})")
_WHOLE = re.compile(rf"{_MAP}\b")
_BEFORE = re.compile(r"(?<!\w)(?:in\s*|size\s*\(\s*)\Z")
_LOOKED_UP, _CALL = re.compile(r"\s*[.\[]"), re.compile(r"\s*\.\s*[A-Za-z_]\w*\s*\(")
_GIVEN = "__given"
"""``device.attributes__given``: without the domains that a device does not have."""
_PLAIN = re.compile(r"(?<![\w.])device\s*\.\s*(?:driver|allowMultipleAllocations)\b")
_ANY = re.compile(r"(?<![\w.])device\b")

MOST_COST = 10_000
"""The most that a selector may cost for one device: some milliseconds."""
_PART_COST = 2
Pairs = Sequence[tuple[str, Hashable]]
AttributeMap = Mapping[str, Any]
"""Attributes by qualified name: bool, int, str, or a ``version``."""


@dataclass(frozen=True, slots=True)
class DeviceView:
    """What an expression can see of one device."""

    driver: str
    attributes: AttributeMap
    capacity: Mapping[str, int]
    """Thousandths by qualified name."""
    shareable: bool = False


@dataclass(frozen=True, slots=True)
class DeviceExpression:
    """A compiled selector."""

    expression: CelExpression
    cost: int
    """How much it costs at most, for one device."""
    domains: Mapping[str, frozenset[str]]
    """The domains that it mentions of ``attributes`` and of ``capacity``."""
    reads: tuple[tuple[str, str], ...] | None
    """The values that it reads, as (map, qualified name); None where that cannot be told."""
    counts_domains: bool = False
    """Whether it asks which domains the device has."""

    def key(self, driver: str, shareable: bool, attributes: Pairs, capacity: Pairs) -> Hashable:
        """What the answer depends on; devices of equal keys have equal answers.

        ``attributes`` and ``capacity`` are pairs of a qualified name and a hashable value. There may be one device of
        a kind for each of many thousand nodes, so this looks at pairs and makes no maps.
        """
        if self.reads is None:
            return driver, shareable, tuple([(name, _typed(value)) for name, value in attributes]), tuple(capacity)
        return (
            driver,
            shareable,
            *[_read(attributes if where == "attributes" else capacity, name, driver) for where, name in self.reads],
        )

    def matches(self, device: DeviceView) -> bool:
        """Whether the device meets the selector; raises NotEvaluated."""
        from vsched.cel.functions import quantity_of, type_name

        attributes = _by_domain(device.attributes, device.driver, self.domains["attributes"])
        amounts = {name: quantity_of(Decimal(amount).scaleb(-3)) for name, amount in device.capacity.items()}
        capacity = _by_domain(amounts, device.driver, self.domains["capacity"])
        seen: dict[str, Any] = {
            "driver": device.driver,
            "attributes": attributes,
            "capacity": capacity,
            "allowMultipleAllocations": device.shareable,
        }
        if self.counts_domains:
            seen |= {f"attributes{_GIVEN}": _given(attributes), f"capacity{_GIVEN}": _given(capacity)}
        found = self.expression.evaluate({"device": seen})
        if not isinstance(found, bool):
            raise NotEvaluated(words.not_a_bool(type_name(found)))
        return found


def load() -> None:
    """Load what compiles and evaluates selectors, which is otherwise loaded with the first one."""
    from vsched.cel.library import library

    library()


@lru_cache(maxsize=1024)
def device_expression(text: str) -> DeviceExpression:
    """The compiled selector; raises NotCompiled, also where it may cost too much."""
    from vsched.cel.devices import cost_of
    from vsched.cel.expressions import compiled

    expression = compiled(text, ("device",))  # errors are about the text as it was written
    cost = cost_of(text, _PART_COST)
    if cost > MOST_COST:
        raise NotCompiled(words.too_costly(cost, MOST_COST))
    seeing_given = _seeing_given(text)
    counts_domains = seeing_given != text
    if counts_domains:
        expression = compiled(seeing_given, ("device",))
    domains: dict[str, set[str]] = {"attributes": set(), "capacity": set()}
    for match in _DOMAIN.finditer(text):
        domains[match[1]].add(match[2][1:-1] if match[2] else match[3])
    frozen = {name: frozenset(found) for name, found in domains.items()}
    return DeviceExpression(expression, cost, frozen, _reads(text), counts_domains)


def qualified(name: str, driver: str) -> tuple[str, str]:
    """Domain and identifier of a name; a name without a domain is the driver's."""
    domain, slash, identifier = name.rpartition("/")
    return (domain, identifier) if slash else (driver, name)


def attribute_version(text: str) -> Mapping[str, str]:
    """The value of an attribute that is a version; a text that is none is compared as it stands."""
    try:
        return version(text)
    except ValueError:
        return {"": text}


def _seeing_given(text: str) -> str:
    """The expression with the given domains alone where it does not look one up by name."""
    from vsched.cel.expressions import without_literals

    bare, parts, done = without_literals(text), list[str](), 0
    for match in _WHOLE.finditer(bare):
        asks = _BEFORE.search(bare, 0, match.start()) and not _LOOKED_UP.match(bare, match.end())
        if asks or _CALL.match(bare, match.end()):
            parts += [text[done : match.end()], _GIVEN]
            done = match.end()
    return "".join([*parts, text[done:]])


def _given(by_domain: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    return {domain: values for domain, values in by_domain.items() if values}


def _reads(text: str) -> tuple[tuple[str, str], ...] | None:
    found = {(match[1], f"{match[2][1:-1]}/{match[3] or match[4][1:-1]}") for match in _NAMED.finditer(text)}
    rest = _PLAIN.sub(" ", _NAMED.sub(" ", text))
    return None if _ANY.search(rest) else tuple(sorted(found))


def _typed(value: Hashable) -> Hashable:
    """The value and its type: True and 1 are equal in Python, and different in CEL."""
    return type(value), value


def _read(pairs: Pairs, name: str, driver: str) -> Hashable:
    domain, identifier = qualified(name, driver)
    found: Hashable = None
    for each, value in pairs:
        if each == name:
            return _typed(value)
        if each == identifier and domain == driver:
            found = _typed(value)
    return found


def _by_domain(values: Mapping[str, Any], driver: str, domains: frozenset[str]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {domain: {} for domain in (driver, *domains)}
    # A name with its domain wins over the same name without.
    for name, value in sorted(values.items(), key=lambda item: "/" in item[0]):
        domain, identifier = qualified(name, driver)
        found.setdefault(domain, {})[identifier] = value
    return found
