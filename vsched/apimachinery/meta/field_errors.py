"""Field errors: what is wrong with the fields of an object, in the words of the API server.

A function makes one error; ``Causes`` collects them, and has the checks that many kinds share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import orjson

from vsched.apimachinery.meta.api_errors import FieldCause
from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.name_formats import label_value_problems, qualified_name_problems

ANNOTATIONS_BYTES = 256 * 1024
NOT_NEGATIVE = "must be greater than or equal to 0"


def invalid_value(path: str, value: Any, why: str) -> FieldCause:
    return FieldCause("FieldValueInvalid", f"Invalid value: {shown(value)}: {why}", path)


def required(path: str, why: str = "") -> FieldCause:
    return FieldCause("FieldValueRequired", f"Required value: {why}" if why else "Required value", path)


def forbidden(path: str, why: str) -> FieldCause:
    return FieldCause("FieldValueForbidden", f"Forbidden: {why}", path)


def duplicate(path: str, value: Any) -> FieldCause:
    return FieldCause("FieldValueDuplicate", f"Duplicate value: {shown(value)}", path)


def not_found_value(path: str, value: Any) -> FieldCause:
    return FieldCause("FieldValueNotFound", f"Not found: {shown(value)}", path)


def not_supported(path: str, value: Any, supported: Iterable[str]) -> FieldCause:
    listed = ", ".join(f'"{one}"' for one in supported)
    return FieldCause("FieldValueNotSupported", f"Unsupported value: {shown(value)}: supported values: {listed}", path)


def shown(value: Any) -> str:
    """A value as error messages repeat it: as JSON; a missing value is the string ``"null"``."""
    return orjson.dumps("null" if value is None else value).decode()


class Causes(list[FieldCause]):
    """The field errors found so far; ``path`` is where the value stands, such as ``spec.containers[0].name``."""

    def required(self, path: str, why: str = "") -> None:
        self.append(required(path, why))

    def invalid(self, path: str, value: Any, why: str) -> None:
        self.append(invalid_value(path, value, why))

    def forbidden(self, path: str, why: str) -> None:
        self.append(forbidden(path, why))

    def duplicate(self, path: str, value: Any) -> None:
        self.append(duplicate(path, value))

    def not_found(self, path: str, value: Any) -> None:
        self.append(not_found_value(path, value))

    def not_supported(self, path: str, value: Any, supported: Iterable[str]) -> None:
        self.append(not_supported(path, value, supported))

    def check_format(self, value: str, problems_of: Callable[[str], Iterable[str]], path: str) -> bool:
        """Whether a name has its format; see ``name_formats``."""
        good = True
        for problem in problems_of(value):
            good = False
            self.invalid(path, value, problem)
        return good

    def check_name(self, value: str | None, problems_of: Callable[[str], Iterable[str]], path: str) -> bool:
        """As check_format, for a name that must be there."""
        if value:
            return self.check_format(value, problems_of, path)
        self.required(path)
        return False

    def check_unique(self, value: str, seen: set[str], path: str) -> None:
        """Refuses a name that is among those ``seen`` before, and adds it to them."""
        if value in seen:
            self.duplicate(path, value)
        seen.add(value)

    def check_labels(self, labels: Mapping[str, str] | None, path: str) -> None:
        """Checks keys and values. The errors have the path of the map, not of the key, as in the real server."""
        for key, value in (labels or {}).items():
            self.check_format(key, qualified_name_problems, path)
            self.check_format(value, label_value_problems, path)

    def check_annotations(self, annotations: Mapping[str, str] | None, path: str) -> None:
        size = 0
        for key, value in (annotations or {}).items():
            # The prefix of an annotation's key may have upper case letters.
            for problem in qualified_name_problems(key.lower()):
                self.invalid(path, key, problem)
            size += len(key) + len(value)
        if size > ANNOTATIONS_BYTES:
            why = f"Too long: may not be more than {ANNOTATIONS_BYTES} bytes"
            self.append(FieldCause("FieldValueTooLong", why, path))

    def check_not_negative(self, value: int | None, path: str) -> None:
        if value is not None and value < 0:
            self.invalid(path, value, NOT_NEGATIVE)

    def check_range(self, value: int, least: int, most: int, path: str) -> None:
        if not least <= value <= most:
            self.invalid(path, value, f"must be between {least} and {most}, inclusive")

    def check_immutable(self, new: Any, old: Any, path: str) -> None:
        if new != old:
            self.invalid(path, new, "field is immutable")

    def check_one_of(self, value: Any, supported: Iterable[str], path: str) -> None:
        if value not in supported:
            self.not_supported(path, value, supported)

    def check_required_one_of(self, value: Any, supported: Iterable[str], path: str) -> None:
        if value:
            self.check_one_of(value, supported, path)
        else:
            self.required(path)

    def check_selector(self, selector: Obj | None, path: str) -> None:
        """Checks a LabelSelector."""
        if not selector:
            return
        self.check_labels(selector.get("matchLabels"), f"{path}.matchLabels")
        for index, one in enumerate(selector.get("matchExpressions") or ()):
            self.check_requirement(one, f"{path}.matchExpressions[{index}]")

    def check_requirement(self, one: Obj, path: str, more_operators: tuple[str, ...] = ()) -> None:
        """Checks one of matchExpressions: its operator, values and key."""
        operator, values = one.get("operator"), one.get("values")
        if operator in ("In", "NotIn"):
            if not values:
                self.required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                self.forbidden(f"{path}.values", why)
        elif operator not in more_operators:
            self.invalid(f"{path}.operator", operator or "", "not a valid selector operator")
        elif len(values or ()) != 1:
            why = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            self.required(f"{path}.values", why)
        self.check_format(one.get("key", ""), qualified_name_problems, f"{path}.key")
