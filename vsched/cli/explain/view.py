"""An explanation as a page for people: headline, place, what is in the way, nodes by reason, and what would help."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from vsched.cli.show.columns import columned
from vsched.cli.show.drawing import Look, cut
from vsched.explain.records import SAYS, Constraint, Explanation, State

STATE_STYLES = {
    State.WAITS: "yellow",
    State.NEVER: "red",
    State.STARTING: "cyan",
    State.RUNS: "green",
    State.FINISHED: "dim",
}
AS_THINGS_ARE = "cannot start as things are"
STATE_WORDS = {State.NEVER: AS_THINGS_ARE, State.STARTING: "is about to start", State.FINISHED: "has finished"}
"""What is said of pods and PodGroups, where that is not the state's own word."""
QUEUE_WORDS = {State.WAITS: "has jobs that wait", State.NEVER: f"has jobs that {AS_THINGS_ARE}"}
"""What is said of queues; of one where nothing waits, whether it is open."""
GROUPS_SHOWN = 6
"""So many groups of nodes have a column, the first of all; a wide page has all of them."""
PODS_SHOWN = 8
"""So many reasons of pods are shown; a wide page has all of them."""
REASON_COLUMNS = 60


def as_page(found: Explanation, look: Look, *, wide: bool = False) -> RenderableType:
    """The whole page; parts that there is nothing to say in are left out."""
    parts: list[RenderableType] = [_title(found)]
    if found.message not in (SAYS[State.STARTING], SAYS[State.RUNS], SAYS[State.FINISHED]):
        parts.append(Text(found.message))
    parts += [Text(), _facts(found)]
    rest = [one for one in found.constraints if not one.repeats]
    if rest:
        parts += _part("in the way", _constraints(rest))
    if len(found.groups) > 1 or (wide and found.groups):  # else the lines above count them all
        parts += _part("nodes", _nodes(found, look, wide))
    # That its gang waits, and why, is in the first lines.
    pods = {told: count for told, count in found.pods.items() if not told.startswith(f"its gang {found.key} waits: ")}
    if len(pods) > 1:
        parts += _part("pods", _pods(pods, wide))
    if found.changes:
        parts += _part("would start with", _changes(found))
    return Group(*parts)


def _title(found: Explanation) -> Text:
    if found.kind == "Queue":
        state = QUEUE_WORDS.get(found.state, f"is {found.phase.lower()}")
    else:
        state = STATE_WORDS.get(found.state, found.state.value)
    return Text.assemble(
        (f"{found.kind} ", "dim"), (found.key, "bold"), " ", (state, f"bold {STATE_STYLES[found.state]}")
    )


def _part(heading: str, body: RenderableType) -> list[RenderableType]:
    return [Text(), Text(heading, style="bold"), Padding(body, (0, 0, 0, 2))]


def _facts(found: Explanation) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    above = "parent" if found.kind == "Queue" else "queue"
    state = "state" if found.kind == "Queue" else "phase"
    reason = next((one.code for one in found.constraints if one.repeats), "")
    facts = [("reason", reason), (above, found.queue), ("job", found.job), ("node", found.node), (state, found.phase)]
    facts += [("note", note) for note in found.notes]
    facts.append(("jobs" if found.kind == "Queue" else "pods", _counts(found)))
    if found.place is not None:
        place = found.place
        facts.append(("place", place.message))
        if place.overall_of > place.of:
            facts.append(("", f"{place.overall} of {place.overall_of} in all"))
        facts.append(("behind", ", ".join(place.ahead)))
    if found.start is not None:
        facts.append(("estimate", found.start.message))
    for word, value in facts:
        if value:
            table.add_row(word, Text(value))
    return table


def _counts(found: Explanation) -> str:
    """``8 of at least 8: 6 pending, 2 gated``; of a queue its jobs, then their pods."""
    counts = found.counts
    if found.kind == "Queue":
        told = f"{counts.get('jobs', 0)}: {counts.get('waiting', 0)} waiting, {counts.get('running', 0)} running"
        return f"{told}, with {counts['pending']} of {counts['pods']} pods pending" if "pods" in counts else told
    parts = ", ".join(
        f"{count} {word}" for word, count in counts.items() if count and word not in ("minMember", "pods")
    )
    if not counts:
        return ""
    least = f" of at least {counts['minMember']}" if "minMember" in counts else ""
    return f"{counts.get('pods', 0)}{least}" + (f": {parts}" if parts else "")


def _constraints(found: Iterable[Constraint]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for one in found:
        lasting = " (waiting does not help)" if one.lasting else ""
        style = STATE_STYLES[State.NEVER if one.lasting else State.WAITS]
        table.add_row(Text(str(one.code), style=style), Text.assemble(one.message, (lasting, "dim")))
    return table


def _nodes(found: Explanation, look: Look, wide: bool) -> Table:
    """Counts of nodes, a row a reason, a column a group and one for all."""
    groups = list(found.groups)[: None if wide else GROUPS_SHOWN]
    several = len(found.groups) > 1
    table = columned(["why", *(groups if several else ()), "all"], unicode=look.unicode)
    for column in table.columns[1:]:
        column.justify = "right"
    for reason, count in sorted(found.reasons.items(), key=lambda one: (-one[1], one[0])):
        cells = [str(found.groups[group].get(reason, "")) for group in groups] if several else []
        table.add_row(Text(cut(reason, 200 if wide else REASON_COLUMNS, look)), *cells, str(count))
    return table


def _pods(told: Mapping[str, int], wide: bool) -> Table:
    """Counts of pods by what each is told."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    shown = list(told.items())[: None if wide else PODS_SHOWN]
    for message, count in shown:
        table.add_row(str(count), Text(message))
    if len(shown) < len(told):
        table.add_row("", Text(f"and {len(told) - len(shown)} other reasons (-o wide)", style="dim"))
    return table


def _changes(found: Explanation) -> Table:
    table = Table.grid(padding=(0, 0, 0, 0))
    table.add_column(overflow="fold")
    for change in found.changes:
        table.add_row(Text(change.message, style="green"))
        for line in change.command.splitlines():
            table.add_row(Text(f"  {line}", style="dim"))
    return table
