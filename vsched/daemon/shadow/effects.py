"""Nothing becomes of the decisions of a shadow: each session decides from the cluster as it is."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot


class NoEffects:
    """The effects of a daemon that writes nothing."""

    def assuming(self, report: CycleReport) -> Iterator[None]:
        """Nothing is assumed: the next session sees what the scheduler in charge has done."""
        return iter(())

    def handing_over(self, snapshot: Snapshot, report: CycleReport) -> Iterator[None]:
        return iter(())

    def carried_out(self, report: CycleReport) -> CycleReport:
        return replace(
            report,
            binds=(),
            evictions=(),
            nominations=(),
            ungated=(),
            withdrawals=(),
            asks_responders=(),
            released=(),
        )

    def session_failed(self, snapshot: Snapshot, error: Exception) -> None:
        """There is nobody to tell on the cluster; it is logged."""
