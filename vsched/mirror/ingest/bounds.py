"""Bounds on the size of objects, so that no object costs much more than a usual one.

The bounds are far above what real objects have. An object beyond a bound is left out, and a pod waits; the message
names the field, its number and the bound. Nothing is cut off. Up to the bounds, the work is linear in the size.
"""

from __future__ import annotations

from collections.abc import Sized

from vsched.api.words import too_many_entries
from vsched.errors import BadObject, Beyond
from vsched.mirror.ingest.words import fields as words

LABELS_MAX = 512
"""Labels of a pod, a node or a namespace."""
ADDED_LABELS_MAX = 64
"""Further labels that API servers and kubelets may add to a pod once it has a node."""
CONTAINERS_MAX = 256
"""Containers of a pod, init containers included."""
RESOURCES_MAX = 32
"""Resources that one pod or one PodGroup names."""
OFFERED_MAX = 512
"""Resources that one node or one queue names."""
DIVIDED_MAX = 128
"""Resources of one Consumer or Bucket: each name is a column of the division for all namespaces."""
STRATEGY_MAX = 64
"""Resources that a pod gives a weight of its own."""
QUOTA_LINES_MAX = 1024
"""Lines of a quota, each for one resource or one kind of object."""
PORTS_MAX = 256
"""Ports of one container."""
TOLERATIONS_MAX = 256
TERMS_MAX = 128
"""Terms of node affinity, in each list."""
POD_TERMS_MAX = 32
"""Terms of affinity, and of anti-affinity, to other pods, in each list."""
REQUIREMENTS_MAX = 128
"""Requirements of one selector, or of one term."""
VALUES_MAX = 2048
"""Values of one requirement: names of nodes are listed there."""
NAMES_MAX = 512
"""Namespaces that one term lists."""
SPREAD_MAX = 16
"""Topology spread constraints of a pod."""
GATES_MAX = 256
ROLES_MAX = 256
"""Roles with a minimum of their own."""
POLICIES_MAX = 128
"""Policies of sub-groups of a PodGroup."""
MATCH_KEYS_MAX = 16
"""Labels whose values tell the sub-groups of one policy apart."""
CONDITIONS_MAX = 64
TAINTS_MAX = 256
IMAGES_MAX = 4096
"""Names of images that a node has."""
CLAIMS_MAX = 512
"""Volume claims of a pod, and resource claims of a pod."""
MODES_MAX = 16
"""Access modes of a volume."""
DRIVERS_MAX = 512
"""CSI drivers of one node, and terms of a storage class."""
DEVICES_MAX = 1024
"""Devices of one slice, and of one claim."""
ASKED_DEVICES_MAX = 128
"""Requests of a claim, alternatives of a request, constraints, and selectors."""
EXPRESSIONS_MAX = 1 << 15
"""Letters of all selectors of a claim: each is compiled."""
ATTRIBUTES_MAX = 256
"""Attributes of a device, capacities, counters and taints."""
CONSUMERS_MAX = 1024
"""Consumers of a claim."""
MEMBERS_MAX = 1 << 15
"""Members of one HyperNode; an object of the largest size has fewer."""
PATTERN_LENGTH_MAX = 1024
"""Letters of a regular expression."""
NAME_LENGTH_MAX = 317
"""The longest name: API servers accept 253 characters of a domain, a slash and 63 more."""
PART_BYTES_MAX = 256 << 10
"""Bytes of one part of a pod's spec, such as its affinity: the limit of all annotations of an object."""


def bounded(count: int, most: int, at: str) -> None:
    """Raise Beyond where ``count`` is more than ``most``."""
    if count > most:
        raise Beyond(too_many_entries(at, count, most))


def read(found: Sized | None, most: int, at: str) -> None:
    """The same for a list or a map that may be absent."""
    if found is not None and len(found) > most:
        bounded(len(found), most, at)


def short(name: str, at: str) -> str:
    """The name; raises BadObject where it is too long."""
    if len(name) > NAME_LENGTH_MAX:
        raise BadObject(words.too_long(at, len(name), NAME_LENGTH_MAX))
    return name
