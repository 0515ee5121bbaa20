"""Has packages of this repository require each other in the version of ``vsched/__init__.py``."""

from __future__ import annotations

from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class VersionsHook(MetadataHookInterface):
    """Completes what depends on the version.

    ``[tool.hatch.metadata.hooks.custom.requires]`` says which packages a package needs, and the packages of each extra.
    """

    def update(self, metadata: dict[str, Any]) -> None:
        version, requires = metadata["version"], self.config.get("requires", {})
        if same := requires.get("always"):
            metadata["dependencies"] = [*(f"{name}=={version}" for name in same), *requires.get("others", ())]
        if extras := requires.get("extras"):
            ours = {extra: [f"{name}=={version}"] for extra, name in extras.items()}
            metadata["optional-dependencies"] = ours | requires.get("other-extras", {})
