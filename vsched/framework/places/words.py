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


def no_tier(topology: NetworkTopology, tiers: Tiers) -> str:
    """Why a hard constraint allows no tier at all."""
    asks = f"tier {topology.tier_name}" if topology.tier_name else f"tier {topology.highest_tier} or closer"
    asks = f"the pods must be in one domain of {asks}"
    if tiers.problem:
        return f"{asks}, but no tiers are known: HyperNodes cannot be read: {tiers.problem}"
    if tiers.is_flat:
        known = "no tiers are known: there are no usable HyperNodes, and the policy names no labels for tiers"
    elif topology.tier_name:
        names = sorted(tiers.levels)
        more = f" and {len(names) - _NAMES_MAX} more" if len(names) > _NAMES_MAX else ""
        known = f"no tier has this name (known names: {', '.join(names[:_NAMES_MAX]) or 'none'}{more})"
    else:
        known = f"the closest tier is {tier_words(tiers.tiers[0])}"
    return f"{asks}, but {known}{left_out(tiers)}"


def apart(allowed: Sequence[Tier]) -> str:
    """Why pods that have nodes already allow no domain."""
    return f"its pods with a node are not in one domain of {tier_words(allowed[-1])}, so no other pod may join them"


def no_domain(looks: Sequence[TierLook], tiers: Tiers, tried: str) -> str:
    """Why no domain takes the tasks: the one with most room, how much that is, and how many were looked at.

    ``tried`` says what stopped domains with room for each of the tasks alone.
    """
    best, most = None, -1
    for look in looks:
        if look.best is not None and look.best[1] > most:
            best, most = look, look.best[1]
    if best is None or best.best is None:
        return f"no domain of {tier_words(looks[-1].tier)} or closer has nodes{left_out(tiers)}"
    domain = domain_words(best.tier, best.best[0], tiers)
    if most >= best.wanted:
        message = f"{domain} has room for each of the pods, but not for {best.wanted} of them together"
    else:
        message = f"{domain} has room for {most} of {best.wanted}"
    looked = ", ".join(f"{counted(len(one.looked), 'domain', 'domains')} of {tier_words(one.tier)}" for one in looks)
    return f"{message}; looked at {looked}{tried}{left_out(tiers)}"


def left_out(tiers: Tiers) -> str:
    """A note on HyperNodes that are left out; empty where none is."""
    if not tiers.problems:
        return ""
    first = min(tiers.problems)
    many = counted(len(tiers.problems), "HyperNode is", "HyperNodes are")
    return f"; {many} left out, such as {first}: {tiers.problems[first]}"
