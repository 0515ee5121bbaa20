"""A certificate that is served. Apart from what makes one, which takes some megabytes to load and is seldom needed."""

from __future__ import annotations

from typing import NamedTuple


class ServedPair(NamedTuple):
    """A server's certificate and key, and the authorities to trust it by; all in PEM form."""

    authorities: bytes
    """The newest first: replicas that still serve the pair before are trusted, too."""
    certificate: bytes
    key: bytes
