"""An explanation as a page: the reason, the place in the order, constraints, nodes by reason, and what would help."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from vsched.cli.explain import words
from vsched.cli.show.amounts import facts
from vsched.cli.show.claims import claims_table
from vsched.cli.show.columns import columned
from vsched.cli.show.drawing import Look, cut
from vsched.cli.show.places import places_table
from vsched.explain.records import Constraint, Explanation, Whereabouts
from vsched.explain.words.reasons import SAYS

STATE_STYLES = {
    Whereabouts.WAITS: "yellow",
    Whereabouts.NEVER: "red",
    Whereabouts.STARTING: "cyan",
    Whereabouts.RUNS: "green",
    Whereabouts.FINISHED: "dim",
}
STATE_WORDS = {
    Whereabouts.NEVER: words.AS_THINGS_ARE,
    Whereabouts.STARTING: words.WAITS_TO_START,
    Whereabouts.FINISHED: "has finished",
}
"""The words for states of pods and PodGroups, where these are not the state's own."""
QUEUE_WORDS = {Whereabouts.WAITS: words.HAS_WAITING_JOBS, Whereabouts.NEVER: words.HAS_STUCK_JOBS}
"""The words for states of queues; a queue where nothing waits shows whether it is open."""
GROUPS_SHOWN = 6
"""Groups of nodes that have a column; a wide page has all groups."""
PODS_SHOWN = 8
"""Messages of pods that are shown; a wide page has all."""
REASON_COLUMNS = 60


def as_page(found: Explanation, look: Look, *, wide: bool = False) -> RenderableType:
    """The whole page, without its empty parts."""
    parts: list[RenderableType] = [_title(found)]
    if found.message not in (SAYS[Whereabouts.STARTING], SAYS[Whereabouts.RUNS], SAYS[Whereabouts.FINISHED]):
        parts.append(Text(found.message))
    parts += [Text(), _facts(found)]
    rest = [one for one in found.constraints if not one.repeats]
    if rest:
        parts += _part(words.IN_THE_WAY, _constraints(rest))
    if found.places is not None:
        parts += _part("places", places_table(found.places, look))
    if found.claims:
        parts += _part("claims", claims_table(found.claims))
    if len(found.groups) > 1 or (wide and found.groups):  # else the lines above count them all
        parts += _part("nodes", _nodes(found, look, wide))
    # The first lines say already that the gang waits, and why.
    of_gang = words.gang_waits(found.called or found.key)
    pods = {message: count for message, count in found.pods.items() if not message.startswith(of_gang)}
    if len(pods) > 1:
        parts += _part("pods", _pods(pods, wide))
    if found.changes:
        parts += _part(words.WOULD_START_WITH, _changes(found))
    return Group(*parts)


def _title(found: Explanation) -> Text:
    if found.kind == "Queue":
        state = QUEUE_WORDS.get(found.state, f"is {found.phase.lower()}")
    else:
        state = STATE_WORDS.get(found.state, found.state.value)
    kind, name = found.kind, found.key
    if kind == "PodGroup" and found.called and found.called != name:
        kind, _, name = found.called.partition(" ")
    return Text.assemble((f"{kind} ", "dim"), (name, "bold"), " ", (state, f"bold {STATE_STYLES[found.state]}"))


def _part(heading: str, body: RenderableType) -> list[RenderableType]:
    return [Text(), Text(heading, style="bold"), Padding(body, (0, 0, 0, 2))]


def _facts(found: Explanation) -> Table:
    above, state = ("parent", "state") if found.kind == "Queue" else ("queue", "phase")
    reason = next((one.code for one in found.constraints if one.repeats), "")
    job = found.job and (found.called or found.job)
    rows = [("reason", reason), (above, found.queue), ("job", job), ("node", found.node), (state, found.phase)]
    if found.kind == "PodGroup" and found.called not in ("", found.key):
        rows.insert(1, ("PodGroup", found.key))
    rows += [("note", note) for note in found.notes]
    rows.append(("jobs" if found.kind == "Queue" else "pods", _counts(found)))
    if found.place is not None:
        place = found.place
        rows.append(("place", place.message))
        if place.overall_of > place.of:
            rows.append(("", words.position_in_all(place.overall, place.overall_of)))
        rows.append(("behind", ", ".join(place.ahead)))
    if found.start is not None:
        rows.append(("estimate", found.start.message))
    return facts([(word, Text(value)) for word, value in rows if value])


def _counts(found: Explanation) -> str:
    """``8 of at least 8: 6 pending, 2 gated``; of a queue its jobs, then their pods."""
    counts = found.counts
    if found.kind == "Queue":
        jobs = f"{counts.get('jobs', 0)}: {counts.get('waiting', 0)} waiting, {counts.get('running', 0)} running"
        return words.pods_pending(jobs, counts["pending"], counts["pods"]) if "pods" in counts else jobs
    parts = ", ".join(
        f"{count} {word}" for word, count in counts.items() if count and word not in ("minMember", "pods")
    )
    if not counts:
        return ""
    least = words.of_at_least(counts["minMember"]) if "minMember" in counts else ""
    return f"{counts.get('pods', 0)}{least}" + (f": {parts}" if parts else "")


def _constraints(found: Iterable[Constraint]) -> Table:
    def row(one: Constraint) -> tuple[Text, Text]:
        style = STATE_STYLES[Whereabouts.NEVER if one.lasting else Whereabouts.WAITS]
        remark = words.WAITING_DOES_NOT_HELP if one.lasting else ""
        return Text(str(one.code), style=style), Text.assemble(one.message, (remark, "dim"))

    return facts(map(row, found), style="")


def _nodes(found: Explanation, look: Look, wide: bool) -> Table:
    """Counts of nodes, a row a reason, a column a group and one for all."""
    groups = list(found.groups)[: None if wide else GROUPS_SHOWN]
    several = len(found.groups) > 1
    numbers = [*(groups if several else ()), "all"]
    table = columned(["why", *numbers], unicode=look.unicode, numbers=numbers)
    for reason, count in sorted(found.reasons.items(), key=lambda one: (-one[1], one[0])):
        cells = [str(found.groups[group].get(reason, "")) for group in groups] if several else []
        table.add_row(Text(cut(reason, 200 if wide else REASON_COLUMNS, look)), *cells, str(count))
    return table


def _pods(counts: Mapping[str, int], wide: bool) -> Table:
    """How many pods have which message."""
    rows = [(str(count), Text(message)) for message, count in counts.items()][: None if wide else PODS_SHOWN]
    if len(rows) < len(counts):
        rows.append(("", Text(words.other_reasons(len(counts) - len(rows)), style="dim")))
    return facts(rows, style="", justify="right")


def _changes(found: Explanation) -> Table:
    table = Table.grid(padding=(0, 0, 0, 0))
    table.add_column(overflow="fold")
    for change in found.changes:
        table.add_row(Text(change.message, style="green"))
        for line in change.command.splitlines():
            table.add_row(Text(f"  {line}", style="dim"))
    return table
