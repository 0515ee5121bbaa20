"""Small changes of the text of a policy file: all that is not changed stays as it is written, comments too.

Pure. PyYAML says where each value stands, and the text is changed there. Whoever changes a text loads it afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

from vsched.errors import BadInput
from vsched.lab.tune import words

_FAST: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class TextChange(NamedTuple):
    """One change of a policy file. It is applied with ``applied``."""

    kind: str
    """``argument``, ``add``, ``remove``, ``first``, ``add action`` or ``remove action``."""
    name: str
    """Of the plugin or the action."""
    key: str = ""
    """The flat key of the argument."""
    value: str = ""
    """As the file writes it; for ``first`` and ``add``, the plugin that it comes before, if any."""
    before: str = ""
    """What holds without the change, for people."""
    is_action: bool = False
    """Whether the argument is one of an action."""


def applied(text: str, change: TextChange) -> str:
    """The text with a change; raises BadInput where the file is written in a way that cannot be changed."""
    match change.kind:
        case "argument" if change.is_action:
            return _set_argument(text, _configured(text, change.name), change)
        case "argument":
            return _set_argument(text, (text, _item(text, change.name)), change)
        case "add":
            return _add(text, change.name, change.value)
        case "remove":
            return _remove(text, change.name)
        case "first":
            return _move(text, change.name, change.value)
        case _:
            return _change_actions(text, change)


def check_plain(text: str) -> None:
    """Refuse a policy whose text cannot be changed in places: one in a ConfigMap, or with YAML's aliases."""
    _root(text)
    if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=_FAST)):
        raise BadInput(words.NOT_A_PLAIN_POLICY)


# -- finding ----------------------------------------------------------------------------------------------------------


def _root(text: str) -> yaml.MappingNode:
    root = yaml.compose(text, Loader=_FAST)
    if not isinstance(root, yaml.MappingNode) or _value(root, "tiers") is None:
        raise BadInput(words.NOT_A_PLAIN_POLICY)
    return root


def _value(node: yaml.Node, key: str) -> yaml.Node | None:
    for name, value in node.value if isinstance(node, yaml.MappingNode) else ():
        if name.value == key:
            found: yaml.Node = value
            return found
    return None


def _lists(text: str) -> Iterator[yaml.SequenceNode]:
    """The lists of plugins, by tier."""
    tiers = _value(_root(text), "tiers")
    for tier in tiers.value if isinstance(tiers, yaml.SequenceNode) else ():
        plugins = _value(tier, "plugins")
        if isinstance(plugins, yaml.SequenceNode):
            yield plugins


def _named(items: yaml.SequenceNode, name: str) -> yaml.MappingNode | None:
    for item in items.value:
        found = _value(item, "name")
        if found is not None and found.value == name and isinstance(item, yaml.MappingNode):
            return item
    return None


def _place(text: str, name: str) -> tuple[yaml.SequenceNode, yaml.MappingNode]:
    for items in _lists(text):
        item = _named(items, name)
        if item is not None:
            return items, item
    raise BadInput(words.cannot_be_changed(name))


def _item(text: str, name: str) -> yaml.MappingNode:
    return _place(text, name)[1]


def _configured(text: str, action: str) -> tuple[str, yaml.MappingNode]:
    """The text, with a section for this action added where it has none, and the section."""
    for _ in range(2):
        sections = _value(_root(text), "configurations")
        item = _named(sections, action) if isinstance(sections, yaml.SequenceNode) else None
        if item is not None:
            return text, item
        if isinstance(sections, yaml.SequenceNode) and sections.value:
            text = _inserted_after(text, sections, f"name: {action}")
        elif sections is None:
            text = f"{text.rstrip()}\nconfigurations:\n- name: {action}\n"
    raise BadInput(words.cannot_be_changed(action))


def _end(node: yaml.Node) -> int:
    """Where the last value of a node ends; what the parser says of a block includes the comments behind it."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last)
    return int(node.end_mark.index)


def _line_end(text: str, index: int) -> int:
    found = text.find("\n", index)
    return len(text) if found < 0 else found


def _line_start(text: str, index: int) -> int:
    return text.rfind("\n", 0, index) + 1


def _dash(text: str, item: yaml.Node) -> tuple[int, str]:
    """The line of an item of a block list, and what stands before its dash."""
    start = _line_start(text, item.start_mark.index)
    before = text[start : item.start_mark.index]
    if before.strip() != "-":
        raise BadInput(words.NOT_A_PLAIN_POLICY)
    return start, before[: before.index("-")]


# -- arguments --------------------------------------------------------------------------------------------------------


def _set_argument(text: str, place: tuple[str, yaml.MappingNode], change: TextChange) -> str:
    text, item = place
    arguments = _value(item, "arguments")
    entry = f"{change.key}: {change.value}"
    if arguments is None:
        if item.flow_style:
            return _inserted(text, int(item.end_mark.index) - 1, f", arguments: {{{entry}}}")
        margin = " " * item.start_mark.column
        return _inserted(text, _line_end(text, _end(item)), f"\n{margin}arguments:\n{margin}  {entry}")
    if not isinstance(arguments, yaml.MappingNode):
        return _inserted(text, int(arguments.start_mark.index), f" {{{entry}}}")
    written = dict(_written(arguments, "")).get(change.key)
    if written is not None:
        return text[: written.start_mark.index] + change.value + text[_end(written) :]
    if arguments.flow_style:
        return _inserted(text, int(arguments.end_mark.index) - 1, f", {entry}" if arguments.value else entry)
    margin = " " * arguments.start_mark.column
    return _inserted(text, _line_end(text, _end(arguments)), f"\n{margin}{entry}")


def _written(node: yaml.MappingNode, prefix: str) -> Iterator[tuple[str, yaml.Node]]:
    """The values of a mapping by their flat keys."""
    for key, value in node.value:
        name = f"{prefix}{key.value}"
        yield name, value
        if isinstance(value, yaml.MappingNode):
            yield from _written(value, f"{name}.")


def _inserted(text: str, at: int, more: str) -> str:
    return text[:at] + more + text[at:]


# -- plugins ----------------------------------------------------------------------------------------------------------


def _add(text: str, name: str, before: str) -> str:
    """Add a plugin before another one, or at the end of the first tier."""
    if before:
        items, item = _place(text, before)
        if items.flow_style:
            return _inserted(text, int(item.start_mark.index), f"{{name: {name}}}, ")
        start, margin = _dash(text, item)
        return _inserted(text, start, f"{margin}- name: {name}\n")
    return _inserted_after(text, next(_lists(text)), f"name: {name}")


def _inserted_after(text: str, items: yaml.SequenceNode, entry: str) -> str:
    """The text with one more item at the end of a list."""
    if items.flow_style:
        return _inserted(text, _end(items.value[-1]), f", {{{entry}}}")
    _, margin = _dash(text, items.value[-1])
    return _inserted(text, _line_end(text, _end(items.value[-1])), f"\n{margin}- {entry}")


def _cut(text: str, name: str) -> tuple[str, str]:
    """The text without a plugin, and what was cut out."""
    items, item = _place(text, name)
    if items.flow_style:
        start, end = int(item.start_mark.index), int(item.end_mark.index)
        behind = re.match(r"\s*,\s*", text[end:])
        if behind is not None:
            return text[:start] + text[end + behind.end() :], text[start:end]
        return text[:start].rstrip().removesuffix(",") + text[end:], text[start:end]
    start, _ = _dash(text, item)
    end = min(len(text), _line_end(text, _end(item)) + 1)
    return text[:start] + text[end:], text[start:end]


def _remove(text: str, name: str) -> str:
    return _cut(text, name)[0]


def _move(text: str, name: str, before: str) -> str:
    """Put a plugin before another one of its tier."""
    left, cut = _cut(text, name)
    items, item = _place(left, before)
    if items.flow_style:
        return _inserted(left, int(item.start_mark.index), f"{cut}, ")
    return _inserted(left, _dash(left, item)[0], cut if cut.endswith("\n") else f"{cut}\n")


# -- actions ----------------------------------------------------------------------------------------------------------

ORDER = ("enqueue", "allocate", "consolidate", "preempt", "gangpreempt", "reclaim", "gangreclaim", "backfill")
"""Where an action is put among the others."""


def actions_with(actions: tuple[str, ...], change: TextChange) -> tuple[str, ...]:
    """The actions after one is added or taken out."""
    if change.kind == "remove action":
        return tuple(one for one in actions if one != change.name)
    later = ORDER[ORDER.index(change.name) + 1 :]
    at = next((place for place, one in enumerate(actions) if one in later), len(actions))
    return (*actions[:at], change.name, *actions[at:])


def _change_actions(text: str, change: TextChange) -> str:
    node = _value(_root(text), "actions")
    if not isinstance(node, yaml.ScalarNode) or node.style in ("|", ">"):
        raise BadInput(words.cannot_be_changed("actions"))
    names = actions_with(tuple(name.strip() for name in node.value.split(",")), change)
    quote = node.style or ""
    return f"{text[: node.start_mark.index]}{quote}{', '.join(names)}{quote}{text[node.end_mark.index :]}"
