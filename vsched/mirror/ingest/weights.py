"""Weights of namespaces and queues: one above the maximum counts as the maximum, with a remark."""

from __future__ import annotations

from vsched import api
from vsched.errors import BadObject, BadQuantity
from vsched.mirror.ingest.annotations import Remarks
from vsched.mirror.ingest.words import fields as words
from vsched.model.amounts.quantity import UNLIMITED, parse_quantity

NAMESPACE_WEIGHT = "volcano.sh/namespace.weight"
HIERARCHY_WEIGHTS = "volcano.sh/hierarchy-weights"
WEIGHT_MAX = 10**18
QUEUE_WEIGHT_MAX = 65535


def weight_of(quota: api.ResourceQuota, remarks: Remarks) -> int:
    """The namespace weight a ResourceQuota gives, 0 where it gives none that is a positive integer."""
    text = str((quota.spec.hard or {}).get(NAMESPACE_WEIGHT, "0")).strip()
    try:
        thousandths, weight = parse_quantity(text, 1000), parse_quantity(text)
    except BadQuantity:
        if not (text.isascii() and text.isdigit()):
            return 0
        thousandths = weight = UNLIMITED  # digits without end
    whole = thousandths % 1000 == 0 or thousandths >= UNLIMITED
    if weight <= 0 or not whole:
        return 0
    return _at_most(weight, WEIGHT_MAX, f"spec.hard[{NAMESPACE_WEIGHT}]", text, remarks)


def queue_weight_of(weight: int | None, remarks: Remarks) -> int:
    """The weight of a queue among the others, 1 where it states none; raises BadObject."""
    if weight is None:
        return 1
    if weight < 1:
        raise BadObject(f"spec.weight: {weight} (expected 1 to {QUEUE_WEIGHT_MAX})")
    return _at_most(weight, QUEUE_WEIGHT_MAX, "spec.weight", str(weight), remarks)


def remark_hierarchy_weights(text: str, remarks: Remarks) -> None:
    """Remark on weights along a queue's path that are above the maximum; ``drf`` takes the maximum."""
    for part in text.split("/")[1:]:
        try:
            weight = float(part)
        except ValueError:
            continue
        if weight > WEIGHT_MAX and "inf" not in part.lower():
            at = f"metadata.annotations[{HIERARCHY_WEIGHTS}]"
            remarks.append(words.too_heavy(at, part[:40], WEIGHT_MAX))


def _at_most(weight: int, most: int, where: str, text: str, remarks: Remarks) -> int:
    if weight > most:
        remarks.append(words.too_heavy(where, text[:40], most))
    return min(weight, most)
