"""What is said of the files of a release."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

from helm.release.documents import Source, checksums, krew, provenance

SOURCE = Source("https://example.com/team/vsched", "0.1.0", "c0ffee", "v0.1.0")
DIGESTS = {
    "vsched-0.1.0-linux-amd64.tar.gz": "aa",
    "vsched-0.1.0-linux-arm64.tar.gz": "bb",
    "vsched-0.1.0.tar.gz": "cc",
    "vsched-0.0.9-linux-amd64.tar.gz": "dd",
}


def test_krew_finds_the_archive_of_each_platform_and_no_other_file() -> None:
    manifest = krew(SOURCE, DIGESTS)
    assert manifest is not None
    assert manifest["spec"]["version"] == "v0.1.0"
    found = {each["selector"]["matchLabels"]["arch"]: each for each in manifest["spec"]["platforms"]}
    assert {arch: each["sha256"] for arch, each in found.items()} == {"amd64": "aa", "arm64": "bb"}
    assert found["arm64"]["uri"] == (
        "https://example.com/team/vsched/releases/download/v0.1.0/vsched-0.1.0-linux-arm64.tar.gz"
    )


def test_without_an_executable_there_is_no_manifest() -> None:
    assert krew(SOURCE, {"vsched-0.1.0.tar.gz": "cc"}) is None


def test_checksums_are_read_by_sha256sum(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    told = checksums({name: hashlib.sha256(name.encode()).hexdigest() for name in ("b", "a")})
    (tmp_path / "SHA256SUMS").write_text(told, encoding="utf-8")
    check = ("sha256sum", "--strict", "--check", "SHA256SUMS")
    assert subprocess.run(check, cwd=tmp_path, capture_output=True, text=True).stdout == "a: OK\nb: OK\n"


def test_the_provenance_names_files_commit_and_tools() -> None:
    made = provenance(
        SOURCE, DIGESTS, builder="b", python="3.11.7", packages={"twine": "7"}, ended="2026-12-01T00:00:00Z"
    )
    assert {each["name"]: each["digest"]["sha256"] for each in made["subject"]} == DIGESTS
    definition = made["predicate"]["buildDefinition"]
    assert definition["resolvedDependencies"] == [
        {"uri": "git+https://example.com/team/vsched@refs/tags/v0.1.0", "digest": {"gitCommit": "c0ffee"}},
        {"uri": "pkg:pypi/twine@7"},
    ]
