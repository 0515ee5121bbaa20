"""What is said of objects that cannot be read at all."""

from __future__ import annotations

# -- names -------------------------------------------------------------------------------------------------------------


def not_for_a_url(kind: str, name: str, field: str, expected: str) -> str:
    return f"{kind} {name}: metadata.{field}: cannot be in a URL (expected {expected})"


# -- sizes -------------------------------------------------------------------------------------------------------------


def too_large(path: str, size: int, what: str, most: int) -> str:
    return f"{path}: {size:,} {what} ({most:,} are read at most)"


def too_many_entries(path: str, entries: int, most: int) -> str:
    return f"{path}: {entries:,} entries ({most:,} are read at most)"


# -- files -------------------------------------------------------------------------------------------------------------


def unreadable_file(name: str, why: str | OSError) -> str:
    return f"{name}: {why} (expected a readable file)"


def not_utf8(name: str, byte: int) -> str:
    return f"{name}: byte {byte} is not UTF-8 (expected YAML or JSON text)"


def nested_too_deeply(name: str) -> str:
    return f"{name}: nested too deeply (expected Kubernetes objects)"


def no_object(origin: object, kind: str) -> str:
    return f"{origin}: {kind} (expected an object with a kind)"


def no_kind(origin: object) -> str:
    return f"{origin}: kind: missing (expected the kind of a Kubernetes object)"


def no_items(origin: object, kind: str) -> str:
    return f"{origin}: items: {kind} (expected a list of objects)"


def no_metadata_name(origin: object, kind: str) -> str:
    return f"{origin}: {kind}: metadata.name: missing (expected text)"


def no_plain_values(origin: object, kind: str, name: object, why: Exception) -> str:
    return f"{origin}: {kind} {name}: {why} (expected plain values)"


def not_a_number(value: float) -> str:
    return f"{value} is not a number"
