"""What PodGroups say of how close their pods have to be, and of their sub-groups."""

from __future__ import annotations

from collections.abc import Sequence

from vsched.errors import BadObject
from vsched.mirror.ingest.bounds import MATCH_KEYS_MAX, POLICIES_MAX, read, short
from vsched.mirror.ingest.metadata import choice_of, count_of
from vsched.mirror.ingest.rules import selector_of
from vsched.mirror.wire.objects import NetworkTopology as TopologyFields
from vsched.mirror.wire.objects import SubGroupFields
from vsched.model.pods.shape import Selector
from vsched.model.shared import shared
from vsched.model.topology.constraints import NetworkTopology, SubGroupPolicy

MODES = {"": True, "hard": True, "soft": False}
"""Whether a mode is hard; a PodGroup that states none means hard."""


def network_topology_of(fields: TopologyFields | None, at: str) -> NetworkTopology | None:
    """A ``networkTopology``, None where it is absent; raises BadObject."""
    if fields is None:
        return None
    hard = choice_of(fields.mode or "", MODES, f"{at}.mode")
    tier, name = fields.highest_tier_allowed, fields.highest_tier_name or ""
    if tier is not None and name:
        raise BadObject(f"{at}.highestTierName: given besides highestTierAllowed (expected one of the two)")
    if tier is not None:
        tier = count_of(tier, f"{at}.highestTierAllowed")
    return NetworkTopology(hard, tier, shared(short(name, f"{at}.highestTierName")))


def sub_groups_of(found: Sequence[SubGroupFields] | None, at: str) -> tuple[SubGroupPolicy, ...]:
    """The policies of ``subGroupPolicy``; raises BadObject, and Beyond where there is more than is read."""
    read(found, POLICIES_MAX, at)
    return tuple(_policy(fields, f"{at}[{position}]") for position, fields in enumerate(found or ()))


def _policy(fields: SubGroupFields, at: str) -> SubGroupPolicy:
    keys = fields.match_label_keys or ()
    read(keys, MATCH_KEYS_MAX, f"{at}.matchLabelKeys")
    for position, key in enumerate(keys):
        if not key:
            raise BadObject(f"{at}.matchLabelKeys[{position}]: empty (expected the key of a label)")
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
