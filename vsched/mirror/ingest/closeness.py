"""What PodGroups, or pods without one, say of how close pods have to be; and what PodGroups say of sub-groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vsched.api.objects import NetworkTopologySpec, SubGroupFields
from vsched.errors import BadObject
from vsched.mirror.ingest.annotations import Remarks
from vsched.mirror.ingest.bounds import MATCH_KEYS_MAX, POLICIES_MAX, read, short
from vsched.mirror.ingest.metadata import choice_of, count_of
from vsched.mirror.ingest.rules import selector_of
from vsched.mirror.ingest.words import groups as words
from vsched.model.names import shared
from vsched.model.pods.shape import Selector
from vsched.model.topology.constraints import NetworkTopology, SubGroupPolicy

TOPOLOGY_MODE = "volcano.sh/network-topology-mode"
TOPOLOGY_TIER = "volcano.sh/network-topology-highest-tier"
MODES = {"": True, "hard": True, "soft": False}
"""Whether a mode is hard; a PodGroup that states none means hard."""
TIER_DIGITS_MAX = 10
"""A number of a tier has fewer digits than this."""


def network_topology_of(fields: NetworkTopologySpec | None, at: str) -> NetworkTopology | None:
    """A ``networkTopology``, None where it is absent; raises BadObject."""
    if fields is None:
        return None
    hard = choice_of(fields.mode or "", MODES, f"{at}.mode")
    tier, name = fields.highest_tier_allowed, fields.highest_tier_name or ""
    if tier is not None and name:
        raise BadObject(words.tier_by_name_and_number(at))
    if tier is not None:
        tier = count_of(tier, f"{at}.highestTierAllowed")
    return NetworkTopology(hard, tier, shared(short(name, f"{at}.highestTierName")))


def annotated_topology(annotations: Mapping[str, str], remarks: Remarks) -> NetworkTopology | None:
    """What annotations of pods without a PodGroup, or of their workload, say; None where they say nothing.

    What cannot be used gets a remark: a mode is then taken for hard, and a tier is passed over.
    """
    mode, tier = annotations.get(TOPOLOGY_MODE), annotations.get(TOPOLOGY_TIER)
    if mode is None and tier is None:
        return None
    hard = MODES.get((mode or "").lower())
    if hard is None:
        remarks.append(words.unknown_mode(TOPOLOGY_MODE, (mode or "")[:40]))
    highest = None
    if tier is not None:
        if tier.isascii() and tier.isdecimal() and len(tier) < TIER_DIGITS_MAX:
            highest = int(tier)
        else:
            remarks.append(words.unknown_tier(TOPOLOGY_TIER, tier[:40]))
    return NetworkTopology(hard is not False, highest)


def sub_groups_of(found: Sequence[SubGroupFields] | None, at: str) -> tuple[SubGroupPolicy, ...]:
    """The policies of ``subGroupPolicy``; raises BadObject, and Beyond where there is more than is read."""
    read(found, POLICIES_MAX, at)
    return tuple(_policy(fields, f"{at}[{position}]") for position, fields in enumerate(found or ()))


def _policy(fields: SubGroupFields, at: str) -> SubGroupPolicy:
    keys = fields.match_label_keys or ()
    read(keys, MATCH_KEYS_MAX, f"{at}.matchLabelKeys")
    for position, key in enumerate(keys):
        if not key:
            raise BadObject(words.no_label_key(at, position))
        short(key, f"{at}.matchLabelKeys[{position}]")
    size = fields.sub_group_size
    return SubGroupPolicy(
        name=shared(short(fields.name or "", f"{at}.name")),
        size=1 if size is None else count_of(size, f"{at}.subGroupSize"),
        minimum=count_of(fields.min_sub_groups, f"{at}.minSubGroups"),
        selector=selector_of(fields.label_selector, f"{at}.labelSelector", {}) or Selector(),
        match_keys=tuple(shared(key) for key in dict.fromkeys(keys)),
        topology=network_topology_of(fields.network_topology, f"{at}.networkTopology"),
    )
