"""The policy of Volcano's scheduler: every action, plugin, switch and argument, as our own reader takes it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from vsched.cli.migrate.check.findings import Finding, Verdict
from vsched.cli.migrate.check.words import verdicts as words
from vsched.cli.migrate.check.words.differences import OF_ACTIONS, OF_PLUGINS, POINTS, VICTIMS_AND_TIERS
from vsched.framework.registry import Registry
from vsched.settings.load import Examined, examine
from vsched.settings.reading.problems import Problems
from vsched.settings.reading.tree import Keyed, Listed, MappingEntry, Node, Scalar, parse

PART = "policy"
_WHERE = "policy"


class Item(NamedTuple):
    """A thing that the policy says."""

    path: str
    shown: str
    point: str = ""
    """The point in which vsched differs, if any."""
    owner: str = ""
    """The path of the name that it belongs to: it is not read where that is missing."""


def policy_findings(text: str, registry: Registry) -> Iterator[Finding]:
    """A finding for each thing in a policy, and for each remark that is about none of them."""
    examined = examine(text, _WHERE, registry)
    remarks = _Remarks(examined)
    root = parse(text, Problems(_WHERE))
    absent = set[str]()
    protecting = _overruled_gang(root) if isinstance(root, Keyed) else ""
    for item in _items(root) if isinstance(root, Keyed) else ():
        verdict, says = remarks.about(item.path)
        if verdict is Verdict.MISSING:
            absent.add(item.path)
        elif item.owner in absent:
            verdict, says = Verdict.MISSING, words.OF_WHAT_IS_MISSING
        point = VICTIMS_AND_TIERS if item.path == protecting else item.point
        if verdict is Verdict.WORKS and point:
            verdict, says = Verdict.DIFFERS, f"{point}: {POINTS[point]}"
        yield Finding(PART, item.shown, verdict, says)
    for verdict, line in remarks.left():
        yield Finding(PART, "the file", verdict, line)


class _Remarks:
    """What the reader says, by path; each remark is given away once."""

    def __init__(self, examined: Examined) -> None:
        self._left: dict[str, Verdict] = {}
        for verdict, lines in (
            (Verdict.MISSING, examined.problems),
            (Verdict.DIFFERS, examined.warnings),
            (Verdict.DIFFERS, examined.no_effect),
        ):
            self._left.update((line.removeprefix(f"{_WHERE}:").partition(": ")[2], verdict) for line in lines)

    def about(self, path: str) -> tuple[Verdict, str]:
        """The verdict on what is at a path and below it, and what is said of it."""
        found = [line for line in self._left if line.startswith((f"{path}: ", f"{path}."))]
        verdicts = [self._left.pop(line) for line in found]
        says = "; ".join(line.removeprefix(f"{path}: ").removeprefix(f"{path}.") for line in found)
        if Verdict.MISSING in verdicts:
            return Verdict.MISSING, says
        return (Verdict.DIFFERS if verdicts else Verdict.WORKS), says

    def left(self) -> Iterator[tuple[Verdict, str]]:
        """What is about no thing that has a line of its own."""
        for line, verdict in self._left.items():
            yield verdict, line


def _items(root: Keyed) -> Iterator[Item]:
    """Everything that the policy says, in its order, with the paths that the reader uses."""
    for entry in root.entries:
        match entry.key, entry.value:
            case "actions", Scalar() as names:
                for at, name in enumerate(names.text.split(",")):
                    yield Item(f"actions[{at}]", f"action {name.strip()}", OF_ACTIONS.get(name.strip(), ""))
            case "tiers", Listed() as tiers:
                for at, tier in enumerate(tiers.items):
                    yield from _of_tier(tier, at)
            case "configurations", Listed() as sections:
                for at, section in enumerate(sections.items):
                    yield from _named(section, f"configurations[{at}]", "configuration of", {})
            case "metrics", Keyed() as metrics:
                for each in metrics.entries:
                    yield Item(f"metrics.{each.key}", f"metrics {each.key}")
            case key, _:
                yield Item(key, key)


def _overruled_gang(root: Keyed) -> str:
    """The path of a gang plugin whose protection from reclaim a later tier overrules in Volcano; else empty."""
    if "reclaim" not in (name.strip() for name in _text(root, "actions").split(",")):
        return ""
    for section in _listed(root, "configurations"):
        arguments = section.get("arguments") if _text(section, "name") == "reclaim" else None
        if arguments and isinstance(arguments.value, Keyed) and _text(arguments.value, "victimTiers") == "reference":
            return ""
    found = ""
    for at, tier in enumerate(_listed(root, "tiers")):
        plugins = [(place, one) for place, one in enumerate(_listed(tier, "plugins")) if _reclaims(one)]
        if found and any(_text(one, "name") in ("capacity", "proportion") for _, one in plugins):
            return found
        gangs = [f"tiers[{at}].plugins[{place}].name" for place, one in plugins if _text(one, "name") == "gang"]
        found = found or "".join(gangs[:1])
    return ""


def _reclaims(plugin: Keyed) -> bool:
    return _text(plugin, "enableReclaimable").lower() != "false"


def _text(node: Keyed, key: str) -> str:
    entry = node.get(key)
    return entry.value.text if entry is not None and isinstance(entry.value, Scalar) else ""


def _listed(node: Keyed, key: str) -> list[Keyed]:
    entry = node.get(key)
    items = entry.value.items if entry is not None and isinstance(entry.value, Listed) else ()
    return [item for item in items if isinstance(item, Keyed)]


def _of_tier(tier: Node, at: int) -> Iterator[Item]:
    plugins = tier.get("plugins") if isinstance(tier, Keyed) else None
    if plugins is not None and isinstance(plugins.value, Listed):
        for place, plugin in enumerate(plugins.value.items):
            yield from _named(plugin, f"tiers[{at}].plugins[{place}]", "plugin", OF_PLUGINS)


def _named(node: Node, path: str, word: str, points: dict[str, str]) -> Iterator[Item]:
    """What has a name, its switches and its arguments."""
    if not isinstance(node, Keyed):
        return
    entry = node.get("name")
    name = entry.value.text if entry is not None and isinstance(entry.value, Scalar) else "(no name)"
    owner = f"{path}.name"
    yield Item(owner, f"{word} {name}", points.get(name, ""))
    for each in node.entries:
        if each.key == "arguments" and isinstance(each.value, Keyed):
            for argument in each.value.entries:
                yield Item(f"{path}.arguments.{argument.key}", f"  {argument.key}: {_shown(argument)}", owner=owner)
        elif each.key != "name":
            yield Item(f"{path}.{each.key}", f"  {each.key}: {_shown(each)}", owner=owner)


def _shown(entry: MappingEntry) -> str:
    match entry.value:
        case Scalar() as value:
            hidden = any(word in entry.key.lower() for word in ("password", "token"))
            return "…" if hidden else value.text[:60]
        case Listed() as value:
            return f"[{len(value.items)}]"
        case _:
            return "{…}"
