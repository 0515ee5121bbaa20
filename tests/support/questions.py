"""What-ifs on clusters of a few lines of text (see ``tests.support.plans``), asked as a person would."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from tests.support.plans import DEFAULT_POLICY, NOW, OUR_NAMES, Manifest, manifests, mirror
from vsched.cli import cli
from vsched.cli.plan.trial import PlanTrial
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.mirror.whatif.editor import ClusterEditor
from vsched.model.dump.cycle import Recording, RecordingHead, pack
from vsched.model.frozen import freeze
from vsched.settings.built_in import REGISTRY
from vsched.settings.document import policy_text


def recording_of(text: str, *more: Manifest, policy: Policy = DEFAULT_POLICY) -> Recording:
    """A session on the cluster that the text describes."""
    snapshot = freeze(mirror([*manifests(text), *more]).snapshot(NOW))
    report = run_cycle(snapshot, policy, REGISTRY)
    return Recording(snapshot, policy_text(policy), report, RecordingHead(number=7, at=NOW, scheduler_names=OUR_NAMES))


def trial_of(text: str, *more: Manifest) -> PlanTrial:
    """The cluster that the text describes, to be changed."""
    return PlanTrial(ClusterEditor(freeze(mirror([*manifests(text), *more]).snapshot(NOW)), OUR_NAMES))


class Asker:
    """Asks ``vsched plan --from`` about one session."""

    def __init__(self, folder: Path, recording: Recording) -> None:
        self.folder = folder
        self.dump = folder / "session.json.gz"
        self.dump.write_bytes(pack(recording))

    def file(self, name: str, text: str) -> str:
        """The path of a file with this content."""
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    def ask(self, *flags: str, stdin: str = "") -> Result:
        """The command's result."""
        return CliRunner().invoke(cli, ["plan", "--from", str(self.dump), *flags], input=stdin)

    def answer(self, *flags: str, stdin: str = "") -> dict[str, Any]:
        """The answer as data."""
        found = self.ask(*flags, "-o", "json", stdin=stdin)
        assert found.exit_code == 0, (found.output, found.exception)
        document: dict[str, Any] = json.loads(found.stdout)
        return document

    def changes(self, *flags: str, stdin: str = "") -> dict[str, Any]:
        """What is different from today."""
        changes: dict[str, Any] = self.answer(*flags, stdin=stdin)["changes"]
        return changes
