"""What is said of objects and files that cannot be read."""

from __future__ import annotations

from math import inf

from vsched.api import words

SENTENCES = [
    (
        words.not_for_a_url("Queue", "A/B", "name", "a-z, 0-9"),
        "Queue A/B: metadata.name: cannot be in a URL (expected a-z, 0-9)",
    ),
    (words.too_large("spec.x", 2000, "bytes", 1024), "spec.x: 2,000 bytes (1,024 are read at most)"),
    (words.too_many_entries("dependsOn.targets", 300, 64), "dependsOn.targets: 300 entries (64 are read at most)"),
    (words.unreadable_file("x", "it is gone"), "x: it is gone (expected a readable file)"),
    (words.not_utf8("x", 9), "x: byte 9 is not UTF-8 (expected YAML or JSON text)"),
    (words.nested_too_deeply("x"), "x: nested too deeply (expected Kubernetes objects)"),
    (words.no_object("stdin:document 1", "a number"), "stdin:document 1: a number (expected an object with a kind)"),
    (words.no_kind("stdin:document 1"), "stdin:document 1: kind: missing (expected the kind of a Kubernetes object)"),
    (words.no_items("stdin:document 1", "a number"), "stdin:document 1: items: a number (expected a list of objects)"),
    (
        words.no_metadata_name("stdin:document 1", "Queue"),
        "stdin:document 1: Queue: metadata.name: missing (expected text)",
    ),
    (
        words.no_plain_values("stdin:document 1", "Queue", "x", ValueError("it is gone")),
        "stdin:document 1: Queue x: it is gone (expected plain values)",
    ),
    (words.not_a_number(inf), "inf is not a number"),
]


def test_sentences() -> None:
    assert [said for said, _ in SENTENCES] == [sentence for _, sentence in SENTENCES]
