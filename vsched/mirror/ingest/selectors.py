"""What is wrong with the CEL selectors of classes and claims.

An object with a broken selector is kept: pods that need it wait, with the reason. Its owner hears of it here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from vsched.cel.devices import device_expression
from vsched.cel.errors import NotCompiled
from vsched.model.claims.devices import ClaimSpec, DeviceSelector

REMARKS_MAX = 3
"""So many broken selectors of one object are named."""


@lru_cache(maxsize=4096)
def remarks_on_class(selectors: tuple[DeviceSelector, ...]) -> tuple[str, ...]:
    """One line for each selector of a class that does not compile: field, position, what is wrong."""
    return tuple(_broken(selectors, "spec.selectors"))[:REMARKS_MAX]


@lru_cache(maxsize=4096)
def remarks_on_claim(spec: ClaimSpec) -> tuple[str, ...]:
    """The same for the requests of a claim."""
    return tuple(_of_requests(spec))[:REMARKS_MAX]


def _of_requests(spec: ClaimSpec) -> Iterator[str]:
    for number, alternatives in enumerate(spec.requests):
        at = f"spec.devices.requests[{number}]"
        for position, request in enumerate(alternatives):
            part = f"firstAvailable[{position}]" if "/" in request.name else "exactly"
            yield from _broken(request.selectors, f"{at}.{part}.selectors")


def _broken(selectors: Sequence[DeviceSelector], at: str) -> Iterator[str]:
    for number, selector in enumerate(selectors):
        try:
            device_expression(selector.expression)
        except NotCompiled as error:
            why = str(error).split("\n")[0].removeprefix("ERROR: ").removeprefix("<input>:")
            yield f"{at}[{number}].cel.expression: {why}"
