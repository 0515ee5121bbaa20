"""What evaluating an expression may cost at most, estimated as an API server does before it accepts one.

A unit is about 50 ns of an API server. Sizes come from what is declared of a variable (the longest list, map or text),
from literals, and from what functions make of them; a size of which nothing is known is the largest there is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from vsched.cel.syntax import (
    RESULT,
    TYPES,
    Bound,
    Call,
    Comprehension,
    Identifier,
    ListLiteral,
    Literal,
    Mapped,
    Node,
    Select,
)

MOST = (1 << 64) - 1
_LIST, _MAP = 10, 30
"""The cost of making a list or a map."""
_PER_CHARACTER, _PER_PATTERN_CHARACTER = 0.1, 0.25
_SCALARS = frozenset({"bool", "double", "duration", "int", "timestamp", "uint"})
_COMPARED = frozenset({"_<_", "_<=_", "_>_", "_>=_"})
_EQUAL_AT_ONCE = frozenset({"quantity", "semver", "ip", "cidr"})


@dataclass(frozen=True, slots=True)
class Declared:
    """The type of a value, and how large one may be."""

    kind: str = "dyn"
    """As CEL calls it; ``object`` where the fields are known."""
    most: int = 0
    """The most items, entries or characters."""
    smallest: int = 1
    """How many bytes of JSON the smallest one takes."""
    fields: Mapping[str, Declared] = field(default_factory=dict)
    element: Declared | None = None
    """What a list or a map holds; what an optional value may be."""
    key: Declared | None = None


class Size(NamedTuple):
    """The least and the most items, entries or characters."""

    least: int
    most: int


class CostEstimate(NamedTuple):
    """What is known of a part of an expression."""

    cost: int
    type: Declared
    size: Size | None = None
    path: tuple[str, ...] = ()
    """How it is reached from a variable: fields, and ``@items`` for what lists and maps hold."""
    held: Size | None = None
    """The size of what it holds, if it is a list or a map that the expression itself makes."""

    @property
    def known(self) -> Size:
        return _UNKNOWN if self.size is None else self.size


VARIABLES = frozenset({"self", "oldSelf", "device"})
_UNKNOWN, _ONE, _DYN = Size(0, MOST), Size(1, 1), Declared()
_BOOL, _INT, _STRING = Declared("bool"), Declared("int"), Declared("string")
_STRINGS = Declared("list", element=_STRING)
_RESULTS = {
    **dict.fromkeys(
        ("size", "int", "indexOf", "lastIndexOf", "compareTo", "sign", "asInteger", "major", "minor"), _INT
    ),
    **dict.fromkeys(("patch", "prefixLength", "family", "getMilliseconds"), _INT),
    **dict.fromkeys((f"get{part}" for part in ("FullYear", "Month", "Date", "DayOfMonth", "DayOfYear")), _INT),
    **dict.fromkeys((f"get{part}" for part in ("DayOfWeek", "Hours", "Minutes", "Seconds")), _INT),
    **dict.fromkeys(("string", "charAt", "substring", "replace", "join", "lowerAscii", "upperAscii", "trim"), _STRING),
    **dict.fromkeys(("find", "format", "strings.quote"), _STRING),
    **dict.fromkeys(("split", "findAll"), _STRINGS),
    **dict.fromkeys(("quantity", "add", "sub"), Declared("quantity")),
    **{name: Declared(name) for name in ("bool", "uint", "double", "bytes", "duration", "timestamp", "type", "semver")},
    **{name: Declared(name) for name in ("ip", "cidr")},
    "asApproximateFloat": Declared("double"),
    "masked": Declared("cidr"),
    **dict.fromkeys(("!_", "_&&_", "_||_", "_==_", "_!=_", *_COMPARED, "in", "contains", "startsWith"), _BOOL),
    **dict.fromkeys(("endsWith", "matches", "isSorted", "isQuantity", "isInteger", "isSemver", "isGreaterThan"), _BOOL),
    **dict.fromkeys(("isLessThan", "isIP", "isCIDR", "ip.isCanonical", "containsIP", "containsCIDR"), _BOOL),
    **dict.fromkeys(("sets.contains", "sets.intersects", "sets.equivalent", "includes", "hasValue"), _BOOL),
    **dict.fromkeys(("isUnspecified", "isLoopback", "isGlobalUnicast", "@not_strictly_false"), _BOOL),
    **dict.fromkeys(("isLinkLocalMulticast", "isLinkLocalUnicast"), _BOOL),
}
"""The types of the values of functions; of others nothing is known."""


def estimate(expression: Node, root: Declared, *, loosely: bool = True, part_cost: int = 0) -> CostEstimate:
    """The most that an expression costs; its variables are of the type ``root``.

    An API server estimates validation rules loosely: it takes items of lists that the expression itself makes for as
    large as the root. Of selectors, it knows nothing of such items, and the fields of a map are as large as its
    entries. ``part_cost`` is what each part of a text that is split costs, besides what an API server reckons.
    """
    return _Estimator(root, loosely, part_cost).of(expression)


class _Estimator:
    def __init__(self, root: Declared, loosely: bool, part_cost: int) -> None:
        self._root = root
        self._loosely = loosely
        self._part_cost = part_cost
        self._variables: dict[str, CostEstimate] = {}

    def of(self, node: Node) -> CostEstimate:
        """What is known of a node."""
        match node:
            case Literal():
                return CostEstimate(0, Declared(node.kind), Size(node.size, node.size))
            case Identifier():
                known = self._variables.get(node.name)
                if known is None:
                    return self._sized(CostEstimate(1, self._type_of(node.name), path=(node.name,)))
                return self._sized(known._replace(cost=1, size=None), known.size)
            case Select():
                return self._selected(node)
            case ListLiteral():
                items = [self.of(each) for each in node.items]
                kinds = {each.type.kind for each in items}
                element = items[0].type if len(kinds) == 1 else _DYN
                held = _union([each.known for each in items])
                cost = _sum(_LIST, *(each.cost for each in items))
                return CostEstimate(cost, Declared("list", element=element), Size(len(items), len(items)), held=held)
            case Mapped():
                pairs = [(self.of(key), self.of(value)) for key, value in node.entries]
                cost = _sum(_MAP, *(each.cost for pair in pairs for each in pair))
                held, made = _union([value.known for _, value in pairs]), Declared("map", element=_DYN, key=_DYN)
                return CostEstimate(cost, made, Size(len(pairs), len(pairs)), held=held)
            case Bound():
                value = self.of(node.value)
                body = self._with({node.name: value}, node.body)
                return body._replace(cost=_sum(_LIST, value.cost, body.cost), path=())
            case Comprehension():
                return self._loop(node)
            case Call():
                return self._call(node)

    def _with(self, names: Mapping[str, CostEstimate], node: Node) -> CostEstimate:
        before = self._variables
        self._variables = {**before, **names}
        try:
            return self.of(node)
        finally:
            self._variables = before

    def _type_of(self, name: str) -> Declared:
        return Declared("type") if name in TYPES else self._root

    def _sized(self, found: CostEstimate, otherwise: Size | None = None) -> CostEstimate:
        """With the size by its path, by its type, or the other one."""
        if found.size is None and (declared := self._at(found.path)) is not None:
            return found._replace(size=Size(0, declared.most))
        if found.size is None:
            return found._replace(size=_ONE if _is_scalar(found.type) else otherwise)
        return found

    def _at(self, path: tuple[str, ...]) -> Declared | None:
        """What is declared of a path. Loosely, it begins at the root, whatever its first part is."""
        if not path or not (self._loosely or path[0] in VARIABLES):
            return None
        found: Declared | None = self._root
        for part in path[1:]:
            if found is not None:
                field = found.fields.get(part, None if self._loosely else found.element)
                found = {"@items": found.element, "@keys": found.key}.get(part, field)
        return found

    def _selected(self, node: Select) -> CostEstimate:
        of = self.of(node.of)
        if node.tests:
            return CostEstimate(of.cost, _BOOL, _ONE)
        cost = _sum(of.cost, of.type.kind in ("map", "object"))
        type_ = (of.type.element if of.type.kind == "map" else of.type.fields.get(node.field)) or _DYN
        return self._sized(CostEstimate(cost, type_, path=(*of.path, node.field) if of.path else (node.field,)))

    def _loop(self, node: Comprehension) -> CostEstimate:
        over, start = self.of(node.over), self.of(node.start)
        is_list = over.type.kind == "list"
        held = CostEstimate(1, over.type.element or _DYN, over.held, (*over.path, "@items"))
        key = CostEstimate(1, over.type.key or (_INT if is_list else _DYN), None, (*over.path, "@keys"))
        single = held if is_list else key
        names = dict(zip(node.variables, (key, held) if len(node.variables) == 2 else (single,), strict=True))
        inside = {RESULT: start._replace(path=()), **names}
        condition, step = self._with(inside, node.condition), self._with(inside, node.step)
        result = self._with({RESULT: inside[RESULT]}, node.result)
        turns = _times(over.known.most, _sum(condition.cost, step.cost))
        made = isinstance(node.start, ListLiteral | Mapped)
        return CostEstimate(
            _sum(over.cost, start.cost, turns, result.cost),
            step.type if made else result.type,
            over.known if made else start.size,
            held=step.held if made else None,
        )

    def _call(self, node: Call) -> CostEstimate:
        given = [self.of(each) for each in node.arguments]
        target = None if node.target is None else self.of(node.target)
        if node.function == "dyn" and len(given) == 1:
            return given[0]._replace(cost=_sum(1, given[0].cost), type=_DYN, path=())
        own = _own(node, given, target)
        cost = _sum(own.cost, *(each.cost for each in given), 0 if target is None else target.cost)
        if node.function == "_?_:_":
            cost = _sum(given[0].cost, max(each.cost for each in given[1:]))
        if node.function in ("split", "findAll"):
            cost = _sum(cost, _times(self._part_cost, own.known.most))
        path = (*given[0].path, "@items") if node.function == "_[_]" and given else ()
        return self._sized(own._replace(cost=cost, path=path))


def _own(node: Call, given: list[CostEstimate], target: CostEstimate | None) -> CostEstimate:
    """The cost of a call without its arguments, and what is known of its value."""
    name, first = node.function, given[0] if given else target
    kinds = {each.type.kind for each in given}
    type_ = _RESULTS.get(name, _DYN)
    if name in ("_&&_", "_||_"):
        return CostEstimate(0, type_)
    if name == "_?_:_":
        then, otherwise = given[1:]
        held = None if then.held is None or otherwise.held is None else _union([then.held, otherwise.held])
        same = then.type if then.type.kind == otherwise.type.kind else _DYN
        return CostEstimate(0, same, _union([then.known, otherwise.known]), held=held)
    if name == "_[_]" and first is not None:
        return CostEstimate(1, first.type.element or _DYN, first.held)
    if name == "_+_" and len(given) == 2:
        return _added(given, kinds)
    if name in ("_-_", "_*_", "_/_", "_%_", "-_") and first is not None:
        return CostEstimate(1, next((each.type for each in given if each.type.kind != "dyn"), _DYN))
    if name in ("_==_", "_!=_") and len(given) == 2:
        if name == "_==_" and len(kinds) == 1 and kinds <= _EQUAL_AT_ONCE:
            return CostEstimate(1, type_)
        return CostEstimate(_per(min(given[0].known.most, given[1].known.most)), type_)
    if name in _COMPARED and len(given) == 2:
        texts = not kinds.isdisjoint(("string", "bytes", "dyn"))
        return CostEstimate(_per(min(given[0].known.most, given[1].known.most)) if texts else 1, type_)
    if name == "in" and len(given) == 2:
        return CostEstimate(1 if given[1].type.kind == "map" else given[1].known.most, type_)
    if name.startswith("sets.") and len(given) == 2:
        compared = _times(given[0].known.most, given[1].known.most)
        return CostEstimate(_sum(1, compared, compared if name == "sets.equivalent" else 0), type_)
    if name in ("bytes", "string") and len(given) == 1 and kinds <= {"string", "bytes", "dyn"}:
        least, most = given[0].known
        size = Size(least, _times(most, 4)) if name == "bytes" else Size(least // 4, most)
        return CostEstimate(_per(most), type_, size)
    if name == "optional.of" and given:
        return CostEstimate(1, Declared("optional", element=given[0].type))
    if name in ("value", "orValue") and target is not None:
        return CostEstimate(1, target.type.element or _DYN)
    return CostEstimate(1, type_) if target is None else _of_method(node, target, given, type_)


def _added(given: list[CostEstimate], kinds: set[str]) -> CostEstimate:
    size = Size(*map(_sum, given[0].known, given[1].known))
    held = None
    if given[0].held is not None and given[1].held is not None:
        held = _union([given[0].held, given[1].held])
    type_ = next((each.type for each in given if each.type.kind != "dyn"), _DYN)
    if not kinds.isdisjoint(("string", "bytes", "dyn")):
        return CostEstimate(_per(size.most), type_, size, held=held)
    return CostEstimate(1, type_, size if "list" in kinds else None, held=held)


def _of_method(node: Call, target: CostEstimate, given: list[CostEstimate], type_: Declared) -> CostEstimate:
    """The same of a method, without its target."""
    name, size = node.function, target.known
    first = given[0].known if given else _UNKNOWN
    match name:
        case "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf":
            element = target.type.element
            if element is None:
                return CostEstimate(_per(size.most), type_)
            each = _sum(1, _per(_held(target)) if element.kind in ("string", "bytes") else 0)
            return CostEstimate(_times(size.most, each), element if name in ("sum", "max", "min") else type_)
        case "lowerAscii" | "upperAscii" | "substring" | "trim":
            return CostEstimate(_per(size.most), type_, size)
        case "replace" if len(given) >= 2:
            return CostEstimate(_per(size.most, 2), type_, Size(0, _replaced(size, first, given[1].known)))
        case "split":
            stated = node.arguments[1] if len(node.arguments) > 1 else None
            most = size.most
            if isinstance(stated, Literal) and stated.number is not None:
                most = stated.number
            return CostEstimate(_per(size.most, 2), type_, Size(0, most))
        case "join":
            texts = _times(size.most, _held(target)) if target.type.element is not None else 0
            between = _times(first.most, max(0, size.most - 1)) if given else 0
            joined = _sum(texts, between)
            return CostEstimate(_per(joined), type_, Size(0, joined))
        case "find" | "findAll" | "matches" if given:
            cost = _times(_per(_sum(size.most, 1)), _scaled(first.most, _PER_PATTERN_CHARACTER))
            return CostEstimate(cost, type_, None if name == "matches" else Size(0, size.most))
        case "contains" if given:
            return CostEstimate(_times(_per(size.most), _per(first.most)), type_)
        case "startsWith" | "endsWith" if given:
            return CostEstimate(_per(first.most), type_)
        case "containsIP" | "containsCIDR" if given:
            parsed = _per(first.most) if given[0].type.kind == "string" else 0
            return CostEstimate(_sum(_per(32), parsed, 0 if name == "containsIP" else _per(16) + 1), type_)
        case "format":
            return CostEstimate(_per(size.most), type_)
    return CostEstimate(1, type_)


def _replaced(size: Size, old: Size, new: Size) -> int:
    """The longest text that replacing makes of one."""
    if not old.least:
        return _sum(_times(_sum(size.most, 1), new.most), size.most)
    if new.most <= old.least:
        return size.most
    return _times(math.ceil(size.most / old.least), new.most)


def _held(target: CostEstimate) -> int:
    """The most characters of an item of a list, by what is declared of it alone."""
    return MOST if target.type.element is None or not target.path else target.type.element.most


def _is_scalar(type_: Declared) -> bool:
    if type_.kind == "optional" and type_.element is not None:
        return _is_scalar(type_.element)
    return type_.kind in _SCALARS


def _union(sizes: list[Size]) -> Size:
    return Size(min(each.least for each in sizes), max(each.most for each in sizes)) if sizes else Size(0, 0)


def _sum(*parts: int) -> int:
    return min(sum(parts), MOST)


def _times(one: int, other: int) -> int:
    return min(one * other, MOST)


def _per(characters: int, times: int = 1) -> int:
    return _scaled(characters, times * _PER_CHARACTER)


def _scaled(size: int, factor: float) -> int:
    # In floats, as an API server does it: the estimate of 70 characters is 8, not 7.
    return min(math.ceil(size * factor), MOST)
