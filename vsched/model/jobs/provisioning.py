"""Nodes that were asked for by a ProvisioningRequest for a gang, and what became of it."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from vsched.model import words
from vsched.model.marks import Sentence, Word

CONSUMES = "autoscaling.x-k8s.io/consume-provisioning-request"
"""The annotation of pods that use what a request provisioned: its name."""
CLASS_NAME = "autoscaling.x-k8s.io/provisioning-class-name"
"""The annotation of the same pods with the class of the request."""
POD_SETS_MAX = 32
"""How many kinds of pods one request can ask for."""
ASKED: Final = "asked"
PROVISIONED: Final = "provisioned"
FAILED: Final = "failed"
GIVEN_UP: Final = "given-up"


class Provisioning(msgspec.Struct, frozen=True):
    """The latest ProvisioningRequest of a gang."""

    request: str
    """Its name; it is in the namespace of the gang."""
    class_name: Word
    state: Literal["asked", "provisioned", "failed", "given-up"] = "asked"
    message: Sentence = ""
    """What the autoscaler says."""
    attempt: int = 1
    evict_from: float = 0.0
    """From when on pods may be evicted for the gang, seconds since the epoch."""
    retry_at: float = 0.0
    """When nodes are asked for again after a failure, seconds since the epoch."""
    kept_until: float = 0.0
    """Until when the nodes that come are kept for the gang, seconds since the epoch; 0 where none are."""
    kept_since: float = 0.0
    """When the request was made: only nodes that were made since then are kept until it is provisioned."""


def told(found: Provisioning, again: str) -> str:
    """What is said of it at the end of a message; ``again`` says when it is asked for again."""
    name = f"ProvisioningRequest {found.request}"
    says = f": {found.message}" if found.message else ""
    if found.state == ASKED:
        return words.nodes_are_asked_for(name, says)
    if found.state == PROVISIONED:
        return words.provisioned(name)
    if found.state == FAILED:
        return words.asked_for_again(name, says, again)
    return words.given_up(found.attempt, found.request, says)
