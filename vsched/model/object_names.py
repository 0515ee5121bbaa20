"""Names that objects of Kubernetes can have."""

from __future__ import annotations

import re

NAME_LIMIT = 253
"""The longest name of an object, in characters."""
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


def is_subdomain(text: str) -> bool:
    """Whether an object of this name can be created: API servers take such names for nearly all kinds."""
    return len(text) <= NAME_LIMIT and _SUBDOMAIN.fullmatch(text) is not None
