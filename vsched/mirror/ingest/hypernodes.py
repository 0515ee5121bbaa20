"""HyperNodes to the model."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from vsched import api
from vsched.api.affinity import LabelSelector
from vsched.api.topology import MemberFields
from vsched.errors import UNREADABLE, BadObject
from vsched.kernels.topology.patterns import problem_of
from vsched.mirror.ingest.bounds import MEMBERS_MAX, PATTERN_LENGTH_MAX, read, short
from vsched.mirror.ingest.metadata import choice_of, count_of
from vsched.mirror.ingest.rules import decoded, selector_of
from vsched.mirror.ingest.words import nodes as words
from vsched.mirror.ingest.words.fields import too_long
from vsched.model.names import shared
from vsched.model.topology.hypernodes import HyperNode, Member

MEMBER_TYPES = {"Node": True, "HyperNode": False}


class ShownStatus(NamedTuple):
    """The status that a HyperNode's object shows."""

    nodes: int | None = None
    conditions: tuple[dict[str, Any], ...] = ()


class ParsedHyperNode(NamedTuple):
    """A HyperNode, what is wrong with it, and its status."""

    hypernode: HyperNode
    """With the members that can be read."""
    problem: str
    """The first field that cannot be used, and why; empty where all can."""
    shown: ShownStatus


class _Status(msgspec.Struct, rename="camel"):
    node_count: int | None = None
    conditions: list[dict[str, Any]] | None = None


def hypernode_of(found: api.HyperNode) -> ParsedHyperNode:
    """What a HyperNode says. One bad member leaves the others, so that it is known what hangs together."""
    spec, problems = found.spec, list[str]()
    members: list[Member] = []
    tier = 0
    try:
        read(spec.members, MEMBERS_MAX, "spec.members")
        tier = _tier(spec.tier)
    except BadObject as error:
        problems.append(str(error))
    for position, fields in enumerate((spec.members or ())[:MEMBERS_MAX]):
        try:
            members.append(_member(fields, f"spec.members[{position}]"))
        except BadObject as error:
            problems.append(str(error))
    hypernode = HyperNode(
        shared(found.metadata.name), found.metadata.uid, tier, shared(spec.tier_name or ""), tuple(members)
    )
    return ParsedHyperNode(hypernode, problems[0] if problems else "", _shown(found.status))


def _tier(tier: int | None) -> int:
    if tier is None:
        raise BadObject(words.NO_TIER)
    return count_of(tier, "spec.tier")


def _member(fields: MemberFields, at: str) -> Member:
    is_node = choice_of(fields.type or "", MEMBER_TYPES, f"{at}.type")
    selector, at = fields.selector, f"{at}.selector"
    labels = selector_of(decoded(selector.label_match, LabelSelector, f"{at}.labelMatch"), f"{at}.labelMatch", {})
    given = [each for each in (selector.exact_match, selector.regex_match, labels) if each is not None]
    if len(given) != 1:
        raise BadObject(words.not_one_selector(at, len(given), words.SELECTORS))
    if selector.exact_match is not None:
        if not selector.exact_match.name:
            raise BadObject(words.empty_name(at, fields.type))
        return Member(is_node, name=shared(short(selector.exact_match.name, f"{at}.exactMatch.name")))
    if not is_node:
        raise BadObject(words.hypernode_by_name(at))
    if selector.regex_match is not None:
        return Member(True, pattern=_pattern(selector.regex_match.pattern, f"{at}.regexMatch.pattern"))
    return Member(True, labels=labels)


def _pattern(pattern: str, at: str) -> str:
    if not pattern:
        raise BadObject(words.empty_pattern(at))
    if len(pattern) > PATTERN_LENGTH_MAX:
        raise BadObject(too_long(at, len(pattern), PATTERN_LENGTH_MAX))
    if problem := problem_of(pattern):
        raise BadObject(words.bad_pattern(at, problem))
    return pattern


def _shown(status: msgspec.Raw) -> ShownStatus:
    """A status that cannot be read counts as none: it is written again."""
    try:
        found = decoded(status, _Status, "status") or _Status()
    except (BadObject, *UNREADABLE):
        return ShownStatus()
    return ShownStatus(found.node_count, tuple(found.conditions or ()))
