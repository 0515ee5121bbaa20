"""Words for people about tiers and domains."""

from __future__ import annotations

from collections.abc import Sequence

from vsched.framework.places.domains import Domain
from vsched.framework.places.look import TierLook
from vsched.framework.words.lists import counted
from vsched.model.topology.constraints import NetworkTopology
from vsched.model.topology.tiers import Tier, Tiers

_NAMES_MAX = 20
"""How many names of tiers are listed."""


def tier_words(tier: Tier) -> str:
    """``tier 2`` or ``tier 2 (rack)``."""
    return f"tier {tier.level} ({tier.name})" if tier.name else f"tier {tier.level}"


def domain_words(tier: Tier, number: int, tiers: Tiers) -> str:
    """``r7 of tier 1 (rack)``."""
    return "the whole cluster" if tier is tiers.tiers[-1] else f"{tier.domains[number]} of {tier_words(tier)}"


def where(domain: Domain, tiers: Tiers) -> str:
    """The same for a domain."""
    return domain_words(domain.tier, domain.number, tiers)


# -- no tier may be used ------------------------------------------------------------------------------------------

NO_HYPERNODES = "no tiers are known: there are no usable HyperNodes, and the policy names no labels for tiers"


def no_tier(topology: NetworkTopology, tiers: Tiers) -> str:
    """Why a hard constraint allows no tier at all."""
    asks = f"tier {topology.tier_name}" if topology.tier_name else f"tier {topology.highest_tier} or closer"
    if tiers.problem:
        return must_be_in(asks, hypernodes_unread(tiers.problem))
    if tiers.is_flat:
        known = NO_HYPERNODES
    elif topology.tier_name:
        known = no_such_name(sorted(tiers.levels))
    else:
        known = closest_is(tier_words(tiers.tiers[0]))
    return f"{must_be_in(asks, known)}{left_out(tiers)}"


def must_be_in(tier: str, but: str) -> str:
    """What the constraint asks for, and why that cannot be."""
    return f"the pods must be in one domain of {tier}, but {but}"


def hypernodes_unread(why: str) -> str:
    """HyperNodes say what tiers there are."""
    return f"no tiers are known: HyperNodes cannot be read: {why}"


def no_such_name(names: Sequence[str]) -> str:
    """No tier has the name that is asked for; others have ``names``."""
    more = f" and {len(names) - _NAMES_MAX} more" if len(names) > _NAMES_MAX else ""
    return f"no tier has this name (known names: {', '.join(names[:_NAMES_MAX]) or 'none'}{more})"


def closest_is(tier: str) -> str:
    """All tiers are wider than what is asked for."""
    return f"the closest tier is {tier}"


def apart(tier: str) -> str:
    """Pods that have nodes already allow no domain."""
    return f"its pods with a node are not in one domain of {tier}, so no other pod may join them"


# -- no domain has room -------------------------------------------------------------------------------------------


def no_domain(looks: Sequence[TierLook], tiers: Tiers, tried: str) -> str:
    """Why no domain takes the tasks: the one with most room, how much that is, and how many were looked at.

    ``tried`` says what stopped domains with room for each of the tasks alone.
    """
    best, most = None, -1
    for look in looks:
        if look.best is not None and look.best[1] > most:
            best, most = look, look.best[1]
    if best is None or best.best is None:
        return f"{no_nodes(tier_words(looks[-1].tier))}{left_out(tiers)}"
    looked = [(len(one.looked), tier_words(one.tier)) for one in looks]
    return f"{no_room(domain_words(best.tier, best.best[0], tiers), most, best.wanted, looked)}{tried}{left_out(tiers)}"


def no_nodes(tier: str) -> str:
    """No domain has a node that may be used."""
    return f"no domain of {tier} or closer has nodes"


def no_room(domain: str, room: int, wanted: int, looked: Sequence[tuple[int, str]]) -> str:
    """The domain with most room; ``looked`` has how many domains of which tiers were looked at."""
    if room >= wanted:
        message = f"{domain} has room for each of the pods, but not for {wanted} of them together"
    else:
        message = f"{domain} has room for {room} of {wanted}"
    shown = ", ".join(f"{counted(count, 'domain', 'domains')} of {tier}" for count, tier in looked)
    return f"{message}; looked at {shown}"


def left_out(tiers: Tiers) -> str:
    """A note on HyperNodes that are left out; empty where none is."""
    if not tiers.problems:
        return ""
    first = min(tiers.problems)
    many = counted(len(tiers.problems), "HyperNode is", "HyperNodes are")
    return f"; {many} left out, such as {first}: {tiers.problems[first]}"
