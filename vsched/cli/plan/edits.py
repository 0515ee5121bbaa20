"""The flags that say what is to be changed in a what-if, taken in the order in which they are given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from vsched.cli.ask.completing import node_names
from vsched.cli.plan.nodes import Add, Drain, Remove
from vsched.cli.plan.trial import PlanEdit
from vsched.cli.plan.words import flags as words

C = TypeVar("C", bound=Callable[..., Any])

MOST_NODES = 10_000
THE_DAEMON = "--daemon"
"""What ``--live`` means without a URL: the daemon that this flag names."""
EDITS = ("submit", "drain", "remove_node", "add_nodes", "set")
"""Parameters that are edits, by name; ``like`` belongs to ``add_nodes``."""
_ORDER = "vsched.cli.plan.edits"


class InOrder(click.Command):
    """A command that knows in which order its flags were given, those of several names included."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Remember the order, and go on as usual."""
        if not ctx.resilient_parsing:
            _, _, order = self.make_parser(ctx).parse_args(args=list(args))
            ctx.meta[_ORDER] = [param.name for param in order if param.name in EDITS]
        return super().parse_args(ctx, args)


def editing(command: C) -> C:
    """The flags of all edits; ``edits_of`` makes edits of them."""
    for option in (
        click.option(
            "--set",
            multiple=True,
            metavar="WHAT",
            help="Set a field: queue/NAME.weight=3, .capability.cpu=8, .deserved.…, .guarantee.…, .priority, .state, "
            ".parent, .reclaimable; podgroup/NS/NAME.minMember=4, .queue, .priorityClassName; "
            "node/NAME.unschedulable=true, .labels.rack=r2. An empty value removes it.",
        ),
        click.option(
            "--like",
            multiple=True,
            metavar="NODE",
            shell_complete=node_names,
            help="The node that those of --add-nodes are like.",
        ),
        click.option(
            "--add-nodes",
            multiple=True,
            type=click.IntRange(1, MOST_NODES),
            metavar="N",
            help="Add this many empty nodes, with the labels, taints and amounts of --like NODE.",
        ),
        click.option("--remove-node", multiple=True, metavar="NODE", shell_complete=node_names, help="Remove a node."),
        click.option(
            "--drain",
            multiple=True,
            metavar="NODE",
            shell_complete=node_names,
            help="Drain a node: its controllers create its pods again.",
        ),
        click.option(
            "--submit",
            multiple=True,
            metavar="FILE",
            help="Create these objects; Deployments, StatefulSets, Jobs and so on get their pods. - is stdin.",
        ),
        click.option(
            "--from",
            "dump",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="DUMP",
            help="Plan on a recording of vsched dump instead of a running daemon's cluster.",
        ),
        click.option(
            "--to",
            default="",
            metavar="best|CLUSTER",
            help="With several clusters: create the objects of --submit in the one where they start first, or in this.",
        ),
        click.option(
            "--clusters",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            help="Ask the daemons of the clusters in this YAML file where the objects of --submit start first.",
        ),
        click.option(
            "--live",
            multiple=True,
            is_flag=False,
            flag_value=THE_DAEMON,
            metavar="[URL]",
            help="Plan on the cluster that a running daemon sees, that of --daemon unless its URL is given; given "
            "again, ask each of them where the objects of --submit start first. Nothing is written.",
        ),
    ):
        command = option(command)
    return command


def edits_of(ctx: click.Context, values: Mapping[str, Any]) -> list[PlanEdit]:
    """The edits that the flags ask for, in their order; raises BadInput where one cannot be read.

    Raises UsageError where flags do not go together.
    """
    # Imported here, so that plans without edits do not load the rules of an API server.
    from vsched.cli.plan.settings import setting_of
    from vsched.cli.plan.submit import submit_of

    adds, likes = values["add_nodes"], values["like"]
    if len(adds) != len(likes):
        raise click.UsageError(words.one_like_for_each(len(adds), len(likes)))
    if values["submit"].count("-") > 1:
        raise click.UsageError(words.STDIN_ONCE)
    making: dict[str, Callable[[Any], PlanEdit]] = {
        "submit": submit_of,
        "drain": Drain,
        "remove_node": Remove,
        "add_nodes": lambda pair: Add(*pair),
        "set": setting_of,
    }
    given = {name: iter(values[name]) for name in EDITS} | {"add_nodes": zip(adds, likes, strict=True)}
    order: list[str] = list(ctx.meta.get(_ORDER, ()))
    for name in EDITS:  # those from the environment have no place in the order
        order += [name] * (len(values[name]) - order.count(name))
    return [making[name](next(given[name])) for name in order]


def submitted(edits: Sequence[PlanEdit]) -> Iterator[dict[str, Any]]:
    """All objects that are to be submitted."""
    from vsched.cli.plan.submit import Submit

    for edit in edits:
        if isinstance(edit, Submit):
            yield from (manifest for _, manifest in edit.objects)
