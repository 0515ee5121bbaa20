"""What ``vsched verify`` says."""

from __future__ import annotations

# -- recordings --------------------------------------------------------------------------------------------------------


def ends_in_error(file: object, error: str) -> str:
    return f"{file}: the cycle ends in an error and decides nothing: {error}"


def not_in_snapshot(file: object, name: object) -> str:
    return f"{file}: its report is about {name}, which its snapshot does not have"


# -- the page ----------------------------------------------------------------------------------------------------------


def more_violations(where: str, rule: str, number: int) -> str:
    return f"{where}{rule}: and {number:,} more (-o json has all)"
