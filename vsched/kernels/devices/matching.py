"""Which devices a request may get, apart from what is in use: selectors, taints, and capacity.

A selector runs once for each distinct model, or for each distinct set of the values that it reads; answers are kept.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec
import numpy as np

from vsched.cel.devices import DeviceExpression, DeviceView, attribute_version, device_expression
from vsched.cel.errors import NotCompiled, NotEvaluated
from vsched.kernels.devices.capacity import consumption, times
from vsched.kernels.devices.inventory import Inventory, too_large
from vsched.kernels.devices.models import Kinds, kinds
from vsched.model.claims.devices import (
    Device,
    DeviceModel,
    DevicePool,
    DeviceSelector,
    DeviceTaint,
    Quantities,
    Version,
)
from vsched.model.nodes.table import Ints, Mask, Taint
from vsched.model.pods.shape import Toleration

EVICTING = ("NoExecute",)
"""Effects of taints that also make pods leave which use the device."""
REPELLING = ("NoSchedule", *EVICTING)
_MOST_ANSWERS = 1 << 17
STEPS_MAX = 500_000
"""The most steps that the selectors of a claim take: a second or two, once."""
_STEPS_OF_ONE = 10
"""What an answer takes besides its expression."""


class DeviceMatch(msgspec.Struct, frozen=True, cache_hash=True):
    """What a request asks of each device."""

    selectors: tuple[DeviceSelector, ...]
    """Those of the class, then those of the request."""
    tolerations: tuple[Toleration, ...] = ()
    capacity: Quantities = ()
    admin: bool = False


class UnansweredSelector(NamedTuple):
    """A selector that has no answer."""

    selector: int
    """Position in the selectors."""
    compiles: bool
    """Whether it is an expression at all, and failed for a device."""
    message: str


class Match(NamedTuple):
    """The devices that a request may get when nothing is in use."""

    selected: Mask
    """bool[devices]: which the selectors match; mode All asks for every one of them."""
    units: Ints
    """int64[devices]: how often the device can be allocated for such a request; 0 where it cannot."""
    taken: dict[int, Quantities]
    """By device that several claims may use: what one allocation takes."""
    failure: UnansweredSelector | None = None
    failed: Mask | None = None
    """bool[devices]: those for which a selector has no answer; they are not selected. None where there are none."""


def steps(want: DeviceMatch, inventory: Inventory) -> int:
    """How many steps of work its selectors take at most, for the devices there are."""
    found = 0
    for selector in want.selectors:
        answers = _answers(selector.expression)
        if isinstance(answers, _Answers):
            reads = answers.expression.reads
            count = len(inventory.models) if reads is None else len(kinds(inventory, reads).first)
            found += count * (answers.expression.cost + _STEPS_OF_ONE)
    return found


def match(want: DeviceMatch, inventory: Inventory) -> Match:
    """The devices of the inventory that a request may get when nothing is in use."""
    return inventory.keep(("match", want), lambda: _match(want, inventory))


def held_back(want: DeviceMatch, inventory: Inventory) -> list[DevicePool]:
    """Pools that may not be used, and have devices that the selectors match."""
    return [block.pool for block in inventory.blocks if not block.usable and _any_matches(want, block.models)]


def _any_matches(want: DeviceMatch, models: Sequence[DeviceModel]) -> bool:
    answers = [_answers(selector.expression) for selector in want.selectors]
    return any(all(isinstance(one, _Answers) and one.of(model) is True for one in answers) for model in models)


def is_repelled(
    taints: Sequence[DeviceTaint], tolerations: Sequence[Toleration], effects: Sequence[str] = REPELLING
) -> bool:
    """Whether a taint keeps the request off a device; the effect ``None`` never does."""
    return any(
        one.taint.effect in effects
        and not any(each.tolerates(one.taint.key, one.taint.value, one.taint.effect) for each in tolerations)
        for one in taints
    )


def kept_off(want: DeviceMatch, inventory: Inventory) -> list[Taint]:
    """Of devices that the selectors match: for each that a taint keeps the request off, the first such taint."""
    selected = match(want, inventory).selected
    found = (inventory.devices[number].traits.taints for number in sorted(inventory.tainted) if selected[number])
    repelling = (next((one for one in taints if is_repelled((one,), want.tolerations)), None) for taints in found)
    return [one.taint for one in repelling if one is not None]


def compile_failure(selectors: Sequence[DeviceSelector]) -> UnansweredSelector | None:
    """The first selector that is no expression."""
    for position, selector in enumerate(selectors):
        answers = _answers(selector.expression)
        if isinstance(answers, str):
            return UnansweredSelector(position, False, answers)
    return None


def _match(want: DeviceMatch, inventory: Inventory) -> Match:
    nothing = np.zeros(len(inventory), dtype=np.bool_)
    failure = compile_failure(want.selectors)
    if failure is not None:
        return Match(nothing, nothing.astype(np.int64), {}, failure)
    models = np.zeros(len(inventory.models), dtype=np.bool_)
    models[inventory.model[inventory.usable]] = True
    failed = np.zeros(len(inventory.models), dtype=np.bool_)
    for position, selector in enumerate(want.selectors):
        answers = _answers(selector.expression)
        assert isinstance(answers, _Answers)
        matched, unanswered, message = _ask(answers, models, inventory)
        if message and failure is None:
            failure = UnansweredSelector(position, True, message)
        failed |= unanswered
        models = matched
    selected = models[inventory.model] & inventory.usable
    found = _with_units(want, inventory, selected)
    return (
        found if failure is None else found._replace(failure=failure, failed=failed[inventory.model] & inventory.usable)
    )


def _ask(answers: _Answers, models: Mask, inventory: Inventory) -> tuple[Mask, Mask, str]:
    """Of these models: those that the selector matches, and those for which it has no answer, with the first reason."""
    reads = answers.expression.reads
    kind, first = kinds(inventory, reads) if reads is not None else _each(len(models))
    matched, unanswered = np.zeros(len(first), dtype=np.bool_), np.zeros(len(first), dtype=np.bool_)
    message = ""
    for number in np.unique(kind[models]).tolist():
        answer = answers.of(inventory.models[first[number]])
        matched[number], unanswered[number] = answer is True, isinstance(answer, str)
        message = message or (answer if isinstance(answer, str) else "")
    return models & matched[kind], models & unanswered[kind], message


def _each(models: int) -> Kinds:
    """Each model is a kind of its own."""
    return Kinds(np.arange(models, dtype=np.int32), np.arange(models, dtype=np.int64))


def _with_units(want: DeviceMatch, inventory: Inventory, selected: Mask) -> Match:
    units = selected.astype(np.int64)
    for number in inventory.tainted:
        if units[number] and is_repelled(inventory.devices[number].traits.taints, want.tolerations):
            units[number] = 0
    if not want.admin:
        units[list(too_large(inventory))] = 0
    taken: dict[int, Quantities] = {}
    asked = selected if want.capacity else selected & inventory.shareable
    known: dict[Hashable, tuple[Quantities | None, int]] = {}
    for number in np.flatnonzero(asked).tolist():
        device = inventory.devices[number]
        amounts, most = _once(device, want.capacity, known)
        if amounts is None:
            selected[number], units[number] = False, 0
        elif device.model.shareable and not want.admin:
            taken[number] = amounts
            units[number] *= most
    return Match(selected, units, taken)


def _once(
    device: Device, requested: Quantities, known: dict[Hashable, tuple[Quantities | None, int]]
) -> tuple[Quantities | None, int]:
    key = device.model.series, device.traits.policies
    found = known.get(key)
    if found is None:
        amounts = consumption(device, requested)
        found = known[key] = amounts, 0 if amounts is None else times(device.model, (), amounts)
    return found


class _Answers:
    """The answers of one selector by model."""

    def __init__(self, expression: DeviceExpression) -> None:
        self.expression = expression
        self._by_model: dict[int, tuple[DeviceModel, bool | str]] = {}
        """By identity, because models that differ in true and 1 are equal; the model is kept, so that its id stays."""
        self._by_key: dict[Hashable, bool | str] = {}

    def of(self, model: DeviceModel) -> bool | str:
        """Whether it matches; a text says why there is no answer."""
        known = self._by_model.get(id(model))
        if known is None:
            if len(self._by_model) >= _MOST_ANSWERS:
                self._by_model.clear()
                self._by_key.clear()
            known = self._by_model[id(model)] = model, self._of(model)
        return known[1]

    def _of(self, model: DeviceModel) -> bool | str:
        key = self.expression.key(model.driver, model.shareable, model.attributes, model.capacity)
        answer = self._by_key.get(key)
        if answer is None:
            answer = self._by_key[key] = self._evaluated(_view(model))
        return answer

    def _evaluated(self, view: DeviceView) -> bool | str:
        try:
            return self.expression.matches(view)
        except NotEvaluated as error:
            return str(error)


@lru_cache(maxsize=512)
def _answers(text: str) -> _Answers | str:
    try:
        return _Answers(device_expression(text))
    except NotCompiled as error:
        return str(error)


def _view(model: DeviceModel) -> DeviceView:
    attributes = {
        name: attribute_version(value.text) if isinstance(value, Version) else value for name, value in model.attributes
    }
    return DeviceView(model.driver, attributes, dict(model.capacity), model.shareable)
