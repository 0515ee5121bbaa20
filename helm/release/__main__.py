"""``make release``: everything that is published of a version, in dist/release."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import version as version_of
from pathlib import Path

import click
import yaml

from helm.release import building, documents
from helm.release.building import run
from helm.release.changes import ReleaseError, check_tag, notes
from helm.release.metadata import TOP
from vsched import __version__

OUT = TOP / "dist/release"
BUILT_BY = ("hatchling", "twine", "cyclonedx-bom")
SUMS, STATEMENT = "SHA256SUMS", "provenance.intoto.json"


def source_of(repository: str) -> documents.Source:
    """The commit that is built; raises ReleaseError where nobody says where the repository is."""
    if not repository:
        try:
            repository = run("git", "remote", "get-url", "origin").strip()
        except ReleaseError:
            repository = ""
    if not repository.startswith("https://"):
        raise ReleaseError(
            f"where is the repository? expected REPOSITORY=https://..., as in make release, is {repository!r}"
        )
    tags = run("git", "tag", "--points-at", "HEAD", "v*").split()
    commit = run("git", "rev-parse", "HEAD").strip()
    repository = repository.rstrip("/").removesuffix(".git")
    return documents.Source(repository, __version__, commit, tags[0] if tags else "")


def build(source: documents.Source, scratch: Path) -> Iterator[Path]:
    """What can be made on this machine, file by file."""
    epoch = int(run("git", "log", "-1", "--format=%ct"))
    for before in OUT.iterdir():
        found = documents.ARCHIVE.fullmatch(before.name)
        if not found or found["version"] != __version__:
            before.unlink()
    yield from building.packages(OUT, scratch, source.repository, epoch)
    for extra, package in (("", "."), ("lab", "vsched/lab")):
        name = f"vsched_{extra}" if extra else "vsched"
        bare = building.installed(OUT, __version__, scratch, extra)
        yield building.bill(bare, Path(package), OUT / f"{name}-{__version__}.cdx.json", __version__)
    executable = TOP / "dist/vsched"
    if executable.exists():
        yield building.archive(executable, OUT, __version__, epoch)


def digests() -> dict[str, str]:
    """SHA-256 by name of all files that a release is made of, those of other machines included."""
    written = (SUMS, STATEMENT)
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(OUT.iterdir())
        if path.is_file() and not path.name.startswith(written)
    }


def index(source: documents.Source, text: str, sign: str) -> Iterator[Path]:
    """What is said of all files in dist/release."""
    (OUT / "NOTES.md").write_text(text, encoding="utf-8")
    yield OUT / "NOTES.md"
    if manifest := documents.krew(source, digests()):
        (OUT / "krew.yaml").write_text(yaml.safe_dump(manifest, sort_keys=False), encoding="utf-8")
        yield OUT / "krew.yaml"
    found = digests()
    (OUT / SUMS).write_text(documents.checksums(found), encoding="utf-8")
    yield OUT / SUMS
    statement = documents.provenance(
        source,
        found,
        builder=os.environ.get("BUILDER_ID", f"{source.repository}/blob/{source.commit}/Makefile"),
        python=platform.python_version(),
        packages={name: version_of(name) for name in BUILT_BY},
        ended=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    )
    (OUT / STATEMENT).write_text(json.dumps(statement, indent=2) + "\n", encoding="utf-8")
    yield OUT / STATEMENT
    if sign:
        yield building.signed(OUT / SUMS, sign)
        yield building.signed(OUT / STATEMENT, sign)


@click.command(epilog="Example: python -m helm.release --repository https://example.com/team/vsched --sign gpg:KEY")
@click.option("--repository", default="", help="Its address (the remote origin); in packages, links and documents.")
@click.option("--sign", default="", help="gpg:KEY, or cosign: signs the checksums and the provenance.")
@click.option("--index-only", is_flag=True, help="Builds nothing: describes what is in dist/release.")
def command(repository: str, sign: str, index_only: bool) -> None:
    """Build, check and describe everything that is published of this version, in dist/release.

    Archives of other platforms that are there already are described as well.
    """
    try:
        source = source_of(repository)
        said = notes((TOP / "CHANGELOG.md").read_text(encoding="utf-8"), __version__)
        check_tag(__version__, source.tag, said.date, dirty=bool(run("git", "status", "--porcelain")))
        OUT.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="vsched-release-") as scratch:
            for path in () if index_only else build(source, Path(scratch)):
                click.echo(path.relative_to(TOP))
        for path in index(source, said.text, sign):
            click.echo(path.relative_to(TOP))
    except ReleaseError as error:
        click.echo(f"release: {error}", err=True)
        sys.exit(1)
    if not source.tag:
        click.echo(f"a rehearsal: commit {source.commit[:12]} has no tag v{__version__}")
    if not any(documents.ARCHIVE.fullmatch(path.name) for path in OUT.iterdir()):
        click.echo("no executable and no krew manifest: make binary makes dist/vsched")
    if not sign:
        click.echo("not signed: SIGN=gpg:KEY or SIGN=cosign signs the checksums and the provenance")
    if shutil.which("docker") is None:
        click.echo("no image: docker is not installed")


if __name__ == "__main__":
    command()
