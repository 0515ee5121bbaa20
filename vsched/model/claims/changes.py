"""What changed between the catalogues of one mirror, so that a reader need not compare all of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class ClaimChanges:
    """What changed with the last catalogues of a mirror, by name.

    For devices these are claims (``namespace/name``) whose devices or users changed, or that changed while pods with a
    node use them; for volumes the nodes where something changed.
    """

    mirror: object
    """Stands for the mirror: records of two mirrors say nothing about each other."""
    generation: int
    """Rises by one with each catalogue."""
    steps: tuple[frozenset[str], ...] = ()
    """The names that changed with each of the last generations, the newest last. There are only a few, and after very
    many changes none: a reader that knows an older generation compares everything."""

    def since(self, earlier: ClaimChanges | None) -> frozenset[str] | None:
        """The names that changed since an earlier catalogue; None where this is not known."""
        if earlier is None or earlier.mirror is not self.mirror:
            return None
        missed = self.generation - earlier.generation
        if not 0 <= missed <= len(self.steps):
            return None
        return frozenset().union(*self.steps[len(self.steps) - missed :])
