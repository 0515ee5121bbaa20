"""The documents beside the files of a release: checksums, the manifest for krew, and where all of it comes from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

ARCHIVE = re.compile(r"vsched-(?P<version>.+)-(?P<os>linux|darwin)-(?P<arch>amd64|arm64)\.tar\.gz")
"""Archives of the executable are named by version and platform."""


class Source(NamedTuple):
    """What a release was built from."""

    repository: str
    """The address of the repository, without a slash at its end."""
    version: str
    commit: str
    tag: str
    """Empty for a rehearsal."""


def checksums(digests: Mapping[str, str]) -> str:
    """SHA-256 by name, as ``sha256sum --check`` reads them."""
    return "".join(f"{digest}  {name}\n" for name, digest in sorted(digests.items()))


def krew(source: Source, digests: Mapping[str, str]) -> dict[str, Any] | None:
    """The manifest by which krew installs ``kubectl vsched``, of all archives; None where there is none."""
    platforms = [
        {
            "selector": {"matchLabels": {"os": found["os"], "arch": found["arch"]}},
            "uri": f"{source.repository}/releases/download/v{source.version}/{name}",
            "sha256": digest,
            "bin": "vsched",
        }
        for name, digest in sorted(digests.items())
        if (found := ARCHIVE.fullmatch(name)) and found["version"] == source.version
    ]
    if not platforms:
        return None
    return {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": "vsched"},
        "spec": {
            "version": f"v{source.version}",
            "homepage": source.repository,
            "shortDescription": "Explain and plan batch jobs of vsched",
            "description": (
                "Says why a job waits, what would help and when it may start;\n"
                "shows queues and jobs, and plans what would happen if nodes,\n"
                "queues or jobs were others. Asks the daemon of the cluster.\n"
            ),
            "platforms": platforms,
        },
    }


def provenance(
    source: Source, digests: Mapping[str, str], *, builder: str, python: str, packages: Mapping[str, str], ended: str
) -> dict[str, Any]:
    """An in-toto statement with the predicate of SLSA 1.0: which files were built from which commit, by whom and how.

    ``packages`` are the versions of what built them; ``ended`` is a time in UTC, as 2026-12-01T10:00:00Z.
    """
    commit = {
        "uri": f"git+{source.repository}@{f'refs/tags/{source.tag}' if source.tag else source.commit}",
        "digest": {"gitCommit": source.commit},
    }
    built_by = [{"uri": f"pkg:pypi/{name}@{version}"} for name, version in sorted(packages.items())]
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in sorted(digests.items())],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": f"{source.repository}/blob/{source.commit}/helm/release/README.md",
                "externalParameters": {"repository": source.repository, "tag": source.tag, "target": "make release"},
                "internalParameters": {"python": python},
                "resolvedDependencies": [commit, *built_by],
            },
            "runDetails": {"builder": {"id": builder}, "metadata": {"finishedOn": ended}},
        },
    }
