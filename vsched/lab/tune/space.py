"""What can be changed of a policy: a space of dimensions, derived from the file and the typed arguments it may have.

Pure. A candidate is a choice in each dimension, and comes to a list of changes of the file's text. Every value has been
loaded once, so that a candidate is a policy that the loader takes, unless two changes do not go together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from vsched.errors import BadInput
from vsched.framework.points.extension import JobOrder, QueueOrder
from vsched.framework.policy import Policy
from vsched.framework.registry import Registry
from vsched.lab.tune import words
from vsched.lab.tune.ladders import NOT_GIVEN, RANGES, Ladder, ladder, same, with_value, written
from vsched.lab.tune.objective import SearchedName
from vsched.lab.tune.rewrite import TextChange, applied, check_plain
from vsched.settings import load_text
from vsched.settings.reading.arguments import flat_arguments
from vsched.settings.reading.problems import Problems, did_you_mean
from vsched.settings.reading.scalars import why_inert
from vsched.settings.reading.values import keys_of

ADDED = ("usage-history", "easy-backfill", "minruntime", "eviction-cost")
"""Plugins that are tried with and without, unless an objective says what to search."""
FOR_EVICTIONS = frozenset({"minruntime", "eviction-cost"})
"""Those of them that change nothing where nobody is evicted."""
EVICTING = frozenset({"preempt", "reclaim", "gangpreempt", "gangreclaim"})
OPTIONAL = frozenset(
    {*ADDED, "drf", "preemption-delay", "overcommit", "sla", "nodeorder", "binpack", "fragmentation"}
    | {"resource-strategy-fit", "task-topology", "network-topology-aware"}
)
"""Plugins that may be left out. Without the others gangs, shares, filters or budgets would not be kept."""
OPTIONAL_ACTIONS = EVICTING | {"consolidate", "backfill", "enqueue"}
SHARES = ("proportion", "capacity")
"""Plugins that others are added before."""
WITH, WITHOUT = "on", "off"


class Dimension(NamedTuple):
    """Something to choose."""

    name: str
    kind: str
    """``argument``, ``plugin``, ``action`` or ``order``."""
    owner: str
    """The plugin or the action; of an order the plugin that comes first now."""
    key: str
    values: tuple[str, ...]
    in_force: int
    """The place of what the file has."""
    ordered: bool
    is_action: bool = False


Chosen = Mapping[str, int]
"""Places of values by the names of dimensions; what is missing is as in the file."""


def space_of(
    text: str, where: str, registry: Registry, search: tuple[SearchedName, ...] | None, objective: str
) -> Space:
    """The space of the policy in a text; raises BadInput where ``search`` of the objective cannot be searched."""
    policy = load_text(text, where, registry).policy
    check_plain(text)
    reading = _SpaceReading(text, policy, registry, frozenset(asked.name for asked in search or ()))
    if search is None:
        found = [*reading.default()]
    else:
        problems = Problems(objective)
        found = [one for asked in search if (one := reading.asked(asked, problems)) is not None]
        problems.raise_if_any()
    if not found:
        raise BadInput(words.nothing_to_search(where))
    return Space(text, tuple(found), registry)


class Space:
    """The dimensions of a policy file."""

    def __init__(self, text: str, dimensions: tuple[Dimension, ...], registry: Registry) -> None:
        self.text = text
        self.dimensions = dimensions
        self._registry = registry

    @property
    def candidates(self) -> int:
        """How many choices there are."""
        count = 1
        for dimension in self.dimensions:
            count *= len(dimension.values)
        return count

    def asks(self, dimension: Dimension, chosen: Chosen) -> bool:
        """Whether a dimension matters after these choices: an argument of a plugin that is left out does not."""
        if dimension.kind != "argument":
            return True
        owner = next((one for one in self.dimensions if one.name == dimension.owner), None)
        return owner is None or owner.values[chosen.get(owner.name, owner.in_force)] == WITH

    def changes(self, chosen: Chosen) -> tuple[TextChange, ...]:
        """The changes of the file that these choices come to; those that add and take out are first."""
        found = [
            _change(dimension, dimension.values[place])
            for dimension in sorted(self.dimensions, key=lambda one: one.kind == "argument")
            if (place := chosen.get(dimension.name, dimension.in_force)) != dimension.in_force
            and self.asks(dimension, chosen)
        ]
        gone = {change.name for change in found if change.kind == "remove"}
        return tuple(change for change in found if change.kind != "first" or not {change.name, change.value} & gone)

    def text_of(self, changes: Sequence[TextChange]) -> str:
        """The text of the file with these changes; raises BadInput where it cannot be changed."""
        text = self.text
        for change in changes:
            text = applied(text, change)
        return text

    def text_if_valid(self, changes: Sequence[TextChange]) -> str | None:
        """The same; None where the loader refuses it, as two changes may not go together."""
        try:
            text = self.text_of(changes)
            load_text(text, "candidate", self._registry)
        except BadInput:
            return None
        return text


def _change(dimension: Dimension, value: str) -> TextChange:
    before = dimension.values[dimension.in_force]
    match dimension.kind:
        case "plugin":
            return TextChange("add" if value == WITH else "remove", dimension.owner, value=dimension.key, before=before)
        case "action":
            return TextChange("add action" if value == WITH else "remove action", dimension.owner, before=before)
        case "order":
            return TextChange("first", value, value=dimension.owner, before=before)
    return TextChange("argument", dimension.owner, dimension.key, value, before, dimension.is_action)


class _SpaceReading:
    """The dimensions that a policy may have."""

    def __init__(self, text: str, policy: Policy, registry: Registry, searched: frozenset[str]) -> None:
        """``searched`` are the names that an objective asks for."""
        self._searched = searched
        self._text = text
        self._policy = policy
        self._registry = registry
        self._present = {conf.name: conf.args for conf in policy.plugins()}

    def default(self) -> Iterator[Dimension]:
        """What is searched unless an objective says it."""
        evicts = bool(EVICTING & {*self._policy.actions})
        tried = {name for name in ADDED if name in self._registry.plugins and (evicts or name not in FOR_EVICTIONS)}
        for name in ADDED:
            if name in tried and (dimension := self._plugin(name)) is not None:
                yield dimension
        for owner, key in RANGES:
            is_action = owner in self._registry.actions
            there = owner in self._policy.actions if is_action else owner in self._present or owner in tried
            if there and (dimension := self._argument(owner, key, RANGES[owner, key])) is not None:
                yield dimension
        yield from self._orders()

    def asked(self, asked: SearchedName, problems: Problems) -> Dimension | None:
        """What an objective asks to search; where it cannot be searched that is among the problems."""
        owners = {**self._registry.plugins, **self._registry.actions}
        path = f"search.{asked.name}"
        if asked.name in owners or asked.name.startswith(words.ORDER):
            found = self._presence_or_order(asked.name)
            known = () if found is None else found.values
            if found is None:
                problems.add(asked.line, path, words.not_optional(asked.name))
            elif asked.low or any(value not in known for value in asked.values):
                problems.add(asked.line, path, words.values_are(", ".join(known)))
                return None
            elif asked.values and found.kind == "order":
                first = found.values[found.in_force]
                return found._replace(values=(first, *(one for one in asked.values if one != first)))
            return found
        owner = max((one for one in owners if asked.name.startswith(f"{one}.")), key=len, default="")
        if not owner:
            names = [*owners, *(f"{one}.{key}" for one, key in RANGES)]
            problems.add(asked.line, path, words.unknown_search(did_you_mean(asked.name, names)))
            return None
        there = owner in self._present or owner in self._policy.actions
        if not there and owner not in self._searched:
            problems.add(asked.line, path, words.not_in_policy(owner))
            return None
        key = asked.name.removeprefix(f"{owner}.")
        ends = (asked.low, asked.high) if asked.low else RANGES.get((owner, key))
        try:
            found = self._argument(owner, key, ends, asked.values)
        except BadInput as error:
            # Of what the loader says, without the place in the changed file.
            problems.add(asked.line, path, str(error).rpartition(f"arguments.{key}: ")[2])
            return None
        if found is None:
            problems.add(asked.line, path, words.no_range(bool(asked.low)))
        return found

    def _presence_or_order(self, name: str) -> Dimension | None:
        if name.startswith(words.ORDER):
            return next((one for one in self._orders() if one.name == name), None)
        if name in self._registry.plugins:
            return self._plugin(name) if name in OPTIONAL else None
        if name not in OPTIONAL_ACTIONS:
            return None
        return Dimension(name, "action", name, "", (WITH, WITHOUT), int(name not in self._policy.actions), False)

    def _plugin(self, name: str) -> Dimension | None:
        """With or without a plugin; None where it is alone in its tier."""
        if any(len(tier.plugins) == 1 and tier.plugins[0].name == name for tier in self._policy.tiers):
            return None
        before = next((one for one in SHARES if one in self._present), "")
        found = Dimension(name, "plugin", name, before, (WITH, WITHOUT), int(name not in self._present), False)
        return found if self._loads((found,), {name: 1 - found.in_force}) else None

    def _orders(self) -> Iterator[Dimension]:
        for number, tier in enumerate(self._policy.tiers, start=1):
            names = [
                conf.name
                for conf in tier.plugins
                if issubclass(self._registry.plugins[conf.name], JobOrder | QueueOrder)
            ]
            if len(names) > 1:
                yield Dimension(f"{words.ORDER}{number}", "order", names[0], "", tuple(names), 0, ordered=False)

    def _argument(
        self, owner: str, key: str, ends: tuple[str, str] | None, values: tuple[str, ...] = ()
    ) -> Dimension | None:
        """The values of an argument; None where neither its type nor its name says which to try.

        Raises BadInput where there is no such argument, or where the loader refuses a value.
        """
        is_action = owner in self._registry.actions
        args = self._args(owner, is_action)
        declared = next((one for one in keys_of(type(args)) if one.stars(key) is not None), None)
        if declared is None:
            raise BadInput(words.no_argument(owner, did_you_mean(key, (one.label for one in keys_of(type(args))))))
        if why := why_inert(declared.kind):
            raise BadInput(words.no_effect(why))
        found = Ladder(values, ordered=False) if values else ladder(declared.kind, key, ends)
        if found is None:
            return None
        now = written(declared, flat_arguments(args).get(key))
        found = with_value(found, now)
        made = Dimension(
            f"{owner}.{key}", "argument", owner, key, found.values, found.values.index(now), found.ordered, is_action
        )
        self._check(made, owner)
        return made

    def _args(self, owner: str, is_action: bool) -> msgspec.Struct:
        if is_action:
            return self._policy.action_args[owner]
        present = self._present.get(owner)
        if present is not None:
            return present
        if owner not in OPTIONAL:
            raise BadInput(words.not_in_policy(owner))
        made: msgspec.Struct = self._registry.plugins[owner].args_type()
        return made

    def _check(self, dimension: Dimension, owner: str) -> None:
        """Load each value once; raises BadInput with what the loader says."""
        added = self._plugin(owner) if not dimension.is_action and owner not in self._present else None
        dimensions = (dimension,) if added is None else (added, dimension)
        for place, value in enumerate(dimension.values):
            if value != NOT_GIVEN and place != dimension.in_force:
                chosen = {dimension.name: place} | ({} if added is None else {added.name: 0})
                space = Space(self._text, dimensions, self._registry)
                loaded = load_text(space.text_of(space.changes(chosen)), dimension.name, self._registry).policy
                if not self._has(loaded, dimension, value):
                    raise BadInput(words.cannot_be_changed(dimension.name))

    def _has(self, policy: Policy, dimension: Dimension, value: str) -> bool:
        """Whether an argument has a value in a policy; values that a person gave may be written otherwise."""
        conf = policy.plugin(dimension.owner)
        args = policy.action_args[dimension.owner] if dimension.is_action else conf and conf.args
        if args is None:
            return False
        declared = next(one for one in keys_of(type(args)) if one.stars(dimension.key) is not None)
        return same(declared, flat_arguments(args).get(dimension.key), value)

    def _loads(self, dimensions: tuple[Dimension, ...], chosen: Chosen) -> bool:
        space = Space(self._text, dimensions, self._registry)
        return space.text_if_valid(space.changes(chosen)) is not None
