"""What packages say of themselves beyond their pyproject.toml: pages of the repository, and each other's version."""

from __future__ import annotations

import os
import posixpath
import sys
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

TOP = Path(__file__).resolve().parents[2]
sys.path.append(str(TOP))  # hatchling reads this file by its path

from helm.release.links import led  # noqa: E402

REPOSITORY = "VSCHED_REPOSITORY"
"""The variable with the address of the repository, such as https://example.com/team/vsched."""
PLACES = {
    "Source": "",
    "Documentation": "/blob/v{version}/README.md",
    "Changelog": "/blob/v{version}/CHANGELOG.md",
    "Issues": "/issues",
    "Security": "/security/policy",
}
"""What a package links to, below the address of the repository."""


class MetadataHook(MetadataHookInterface):
    """Completes what depends on the version and on where the repository is.

    ``[tool.hatch.metadata.hooks.custom.requires]`` says which packages a package needs, and the packages of each extra.
    Without ``VSCHED_REPOSITORY``, packages have no links, and links of their description are those of the page.
    """

    def update(self, metadata: dict[str, Any]) -> None:
        version, requires = metadata["version"], self.config.get("requires", {})
        if same := requires.get("always"):
            metadata["dependencies"] = [*(f"{name}=={version}" for name in same), *requires.get("others", ())]
        if extras := requires.get("extras"):
            ours = {extra: [f"{name}=={version}"] for extra, name in extras.items()}
            metadata["optional-dependencies"] = ours | requires.get("other-extras", {})
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        if repository := os.environ.get(REPOSITORY, "").rstrip("/"):
            folder = Path(self.root).resolve().relative_to(TOP).as_posix()
            text = absolute(text, folder, repository, f"v{version}")
            metadata["urls"] = {name: repository + place.format(version=version) for name, place in PLACES.items()}
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def absolute(text: str, folder: str, repository: str, tag: str) -> str:
    """A README of a folder (``.`` for the top) whose links lead into the repository at a tag, wherever it is read."""

    def to(target: str, image: bool) -> str:
        path, mark, anchor = target.partition("#")
        place = posixpath.normpath(posixpath.join(folder, path or "README.md"))
        return f"{repository}/{'raw' if image else 'blob'}/{tag}/{place}{mark}{anchor}"

    return led(text, to)
