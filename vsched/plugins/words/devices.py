"""What ``deviceshare`` says of nodes and their devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

NO_ROOM = "node(s) had too few devices with enough memory and computing power left"
NOT_FOR_ALL = "node(s) had too few devices for all containers of the pod"
ONLY_WHOLE = "node(s) can share one NPU with a container, but several only whole"


def not_tried(why: str) -> str:
    """The pod cannot be given devices on any node."""
    return f"node(s) not tried: {why}"


def not_enabled(resource: str, argument: str) -> str:
    """The policy does not give out what the pod asks for."""
    return f"the policy does not enable {resource} ({argument})"


def no_devices(kind: str) -> str:
    """No device plugin registered any."""
    return f"node(s) had no registered devices of the kind {kind}"


def other_mode(mode: str) -> str:
    """They are divided in another way."""
    return f"node(s) whose devices use another mode than {mode}"


def none_accepted(named_by: Literal["", "type", "uuid"]) -> str:
    """The pod names the devices that it accepts."""
    which = {"": "", "type": " of a type", "uuid": " with a uuid"}[named_by]
    return f"node(s) had no device{which} that the pod accepts"


# -- too few devices of some property -----------------------------------------------------------------------------


def too_few(number: int, properties: str = "", *, adjective: str = "", accepted: bool = False) -> str:
    """Fewer such devices than a container asks for; ``accepted`` where the pod names those that it accepts."""
    few = f"no {adjective}device" if number == 1 else f"fewer than {number} {adjective}devices"
    return f"node(s) had {few}{properties}{' that the pod accepts' if accepted else ''}"


HEALTHY = "healthy "
"""An adjective; what follows are properties."""
BESIDE_CLAIMS = " beside those for claims"
KNOWN_MODEL = " of a model with known MIG geometries"
UNUSED = " that no pod uses"
SHAREABLE = " that one more container may share"
APART_FROM_JOB = " left that no other pod of its job uses"
APART_BY_RULE = " left that no pod of the same exclusive rule uses"


def having(amount: str) -> str:
    """So large (``memory``, ``power``)."""
    return f" with {amount}"


def having_left(amount: str) -> str:
    """With so much left."""
    return f" with {amount} left"


def having_instance(amount: str) -> str:
    """Divided by MIG."""
    return f" with a MIG instance of {amount}"


def having_free_instance(amount: str) -> str:
    """Divided by MIG, an instance of it unused."""
    return f" with a free MIG instance of {amount}"


def memory(mebibytes: int, percent: int) -> str:
    """As the container asks for it."""
    return f"{mebibytes} MiB of memory" if mebibytes or not percent else f"{percent}% of memory"


def power(percent: float) -> str:
    """Of a device; a container that names none needs some."""
    return f"{percent:g}% of computing power" if percent else "computing power"


# -- who holds them -----------------------------------------------------------------------------------------------


def device(name: str, node: str, model: str) -> str:
    """``GPU-1 of n1 (A100)``."""
    return f"{name} of {node}{f' ({model})' if model else ''}"


def part(mebibytes: int | None, percent: float) -> str:
    """``20000 MiB and 30%`` of a device; None where its memory does not count."""
    return f"{percent:g}%" if mebibytes is None else f"{mebibytes} MiB and {percent:g}%"


def closest(which: str, left: str, holders: Sequence[tuple[str, str]], more: int) -> str:
    """The device that comes closest to what is asked, what is left of it, and the pods with their parts of it."""
    shown = [f"{pod} ({held})" for pod, held in holders]
    if more:
        listed = f"{', '.join(shown)} and {more} more"
    else:
        listed = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
    return f"{which} comes closest: {left} left, the rest held by {listed}"
