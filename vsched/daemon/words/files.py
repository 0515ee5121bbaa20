"""What is wrong with the usage history and with a policy in a ConfigMap, and what is kept of them."""

from __future__ import annotations

# -- the usage history -------------------------------------------------------------------------------------------------

OTHERS_WRITE = "others keep writing it"


def from_the_future(at: str) -> str:
    return f"it was written at {at}, which is in the future"


def starts_empty(why: str) -> str:
    return f"usage history starts empty: {why}"


NO_PROMETHEUS = "the policy names no Prometheus (expected metrics.address)"


def no_content(key: str) -> str:
    return f"it has no binaryData.{key}"


ROUNDED = "hours are rounded to 0.4 %"


def merged(holders: int) -> str:
    return f"the hours of the {holders} holders that used least count for their queues"


def left_out(holders: int) -> str:
    return f"{holders} holders are left out"


# -- the policy --------------------------------------------------------------------------------------------------------


def not_found(where: object) -> str:
    return f"--scheduler-configmap: {where}: not found (expected one with a policy)"


def gone(where: str) -> str:
    return f"{where}: it is gone (the last good policy stays in force)"


def has(keys: str) -> str:
    return f"it has {keys}"


EMPTY = "it is empty"


def no_key(where: str, key: str, there: str) -> str:
    return f"{where}: no key {key} ({there})"


def too_large(where: str, key: str, kib: int) -> str:
    return f"{where} {key}: too large for a policy: more than {kib} KiB"


def read_from(source: str) -> str:
    return f"read from {source}"


BACK = "back to the policy in force"
