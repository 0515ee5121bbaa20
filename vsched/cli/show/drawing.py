"""What tables are drawn with: what fits a terminal, bars, heat, and amounts in few digits. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from rich.text import Text

from vsched.model.amounts.resources import scale_of

NARROW_COLUMNS = 60
"""A terminal with fewer columns than this shows the fewest table columns."""
BLOCKS = "▁▂▃▄▅▆▇█"
PLAIN_BLOCKS = ".:-=+*%#"
"""The same without Unicode, from little to all."""
HEAT_STYLES = ((0.95, "red"), (0.75, "yellow"), (0.0, "cyan"))
"""Colours of heat, by the least value that has them."""

RESERVED = {"█": "▒"}
"""The sign of the reserved but unused part, by the sign of the used part; plain text has ``PLAIN_RESERVED``."""
PLAIN_RESERVED = "+"


@dataclass(frozen=True, slots=True)
class Look:
    """What fits the terminal."""

    cells: int
    """Length of a bar; 0 for no bars."""
    ranks: bool
    """Whether priority and weight are shown."""
    counts: bool
    """Whether counts of jobs are shown."""
    wide: bool = False
    narrow: bool = False
    """Whether only the most important columns fit."""
    signs: tuple[str, str, str] = ("█", "·", "┃")
    """A full cell, an empty cell, and the mark of the deserved amount."""
    branch: str = "└ "

    @property
    def unicode(self) -> bool:
        """Whether signs beyond ASCII are used."""
        return not self.signs[0].isascii()

    @property
    def reserved(self) -> str:
        """The sign of the reserved but unused part."""
        return RESERVED.get(self.signs[0], PLAIN_RESERVED)

    @property
    def ellipsis(self) -> str:
        """Marks that something was cut off."""
        return "…" if self.unicode else "..."


def count_text(count: int, one: str, many: str) -> str:
    """``1 node``, ``5,000 nodes``."""
    return f"{count:,} {one if count == 1 else many}"


def look_for(width: int, wide: bool, unicode: bool) -> Look:
    """What fits a terminal of this width; a wide table has all columns, and short bars."""
    cells = 8 if wide else next((cells for least, cells in ((180, 20), (160, 14), (100, 8)) if width >= least), 0)
    look = Look(cells, wide or width >= 140, wide or width >= 120, wide, narrow=not wide and width < NARROW_COLUMNS)
    return look if unicode else replace(look, signs=("#", ".", "|"), branch="- ")


def bar(
    look: Look,
    whole: float | None,
    used: float,
    *,
    fair: float | None = None,
    reserved: float = 0,
    beyond: str = "yellow",
    style: str = "cyan",
) -> Text:
    """A bar of the used part of the whole, with a mark at the fair share; blank where the whole is not known.

    The part above the fair share has a colour of its own, the reserved but unused part a sign of its own.
    """
    full, empty, mark = look.signs
    if not whole or not look.cells:
        return Text(" " * look.cells)

    def cells(amount: float, least: int = 0) -> int:
        return min(look.cells, max(least, round(min(1.0, amount / whole) * look.cells)))

    filled = cells(used, int(used > 0))
    within = filled if fair is None else min(filled, cells(min(used, fair)))
    spare = max(0, cells(reserved) - filled)
    over = fair is not None and used > fair
    text = Text.assemble(
        (full * within, style),
        (full * (filled - within), beyond if over else style),
        (look.reserved * spare, "green"),
        (empty * (look.cells - filled - spare), "dim"),
    )
    if fair is None:
        return text
    at = min(look.cells - 1, cells(fair))
    return Text.assemble(text[:at], (mark, f"bold {beyond}" if over else "bold"), text[at + 1 :])


def heat(parts: Sequence[float], width: int, *, unicode: bool = True) -> Text:
    """A line of cells, each the mean of several parts between 0 and 1, shown by height and colour."""
    blocks = BLOCKS if unicode else PLAIN_BLOCKS
    line = Text()
    for shared in _spread(parts, max(1, width)):
        part = min(1.0, max(0.0, sum(shared) / len(shared)))
        at = min(len(blocks) - 1, int(part * len(blocks)))
        line.append(
            blocks[at] if part else ("·" if unicode else "_"),
            next(style for least, style in HEAT_STYLES if part >= least),
        )
    return line


def _spread(parts: Sequence[float], width: int) -> Iterable[Sequence[float]]:
    """The parts in order, in as many groups as there are cells; one each where there are fewer parts."""
    count = len(parts)
    if count <= width:
        return ([part] for part in parts)
    return (parts[at * count // width : (at + 1) * count // width] for at in range(width))


def short(name: str, value: int | None) -> str:
    """An amount of a resource in about three digits."""
    if value is None:
        return "-"
    if scale_of(name) == 1000 or name == "pods":
        units = value / scale_of(name)
        return f"{units:.4g}" if units < 10_000 else f"{units / 1000:.3g}k"
    amount, suffixes = float(value), ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]
    while amount >= 1000 and len(suffixes) > 1:
        amount /= 1024
        suffixes.pop(0)
    return f"{amount:.3g}{suffixes[0]}"


def cut(text: str, width: int, look: Look) -> str:
    """The text, cut off to this width."""
    if len(text) <= width:
        return text
    return text[: max(0, width - len(look.ellipsis))] + look.ellipsis
