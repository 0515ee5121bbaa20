"""Image locality: nodes that already have large images of a pod score higher."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vsched.model.nodes.table import Floats, NodeStatics

MEBIBYTE = 1024 * 1024
LEAST_BYTES = 23 * MEBIBYTE
MOST_BYTES_A_CONTAINER = 1000 * MEBIBYTE
MAX_SCORE = 100


def full_name(image: str) -> str:
    """The image name with its tag; ``latest`` where it has none."""
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"


def image_locality(images: Sequence[str], containers: int, statics: NodeStatics) -> Floats | None:
    """float64[nodes]: 0..100 by the bytes of the pod's images that a node has; None where all scores are 0.

    An image counts with its size times the fraction of nodes that have it, so that a single node with a rare image does
    not attract every pod. The sum is scaled between 23 MiB (score 0) and 1,000 MiB per container (score 100).
    """
    total = np.zeros(len(statics), dtype=np.int64)
    for image in images:
        name = full_name(image)
        sizes = np.array([node.images.get(name, 0) for node in statics.attributes], dtype=np.float64)
        having = int(np.count_nonzero(sizes))
        if having:
            sizes *= having / len(statics)
            total += sizes.astype(np.int64)
    most = MOST_BYTES_A_CONTAINER * max(containers, 1)
    np.clip(total, LEAST_BYTES, most, out=total)
    scores = (MAX_SCORE * (total - LEAST_BYTES) // (most - LEAST_BYTES)).astype(np.float64)
    return scores if scores.any() else None
