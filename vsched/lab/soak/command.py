"""``vsched soak``: the command; ``vsched.lab.soak.run`` does the work."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TextIO

import click
import msgspec
import orjson
from rich.console import Console

from vsched.cli.flags.values import SHARE, Period
from vsched.cli.options import typed_flags
from vsched.errors import BadInput, Unavailable
from vsched.lab.soak import words
from vsched.lab.soak.bottle import words as bottle_words
from vsched.lab.soak.bottle.exploring import Explored, explored, order_table, run_scene
from vsched.lab.soak.bottle.exploring import as_table as orders_table
from vsched.lab.soak.bottle.faults import BottleFaults
from vsched.lab.soak.bottle.orders import parsed
from vsched.lab.soak.bottle.run import Bottle
from vsched.lab.soak.bottle.scenes import SCENES
from vsched.lab.soak.bottle.seeds import run_seeds
from vsched.lab.soak.bottle.settings import BottleSettings
from vsched.lab.soak.bottle.shrinking import shrunk
from vsched.lab.soak.bottle.view import as_log, as_seeds_table, as_table, command_of
from vsched.lab.soak.churn import Rate, cpus_used
from vsched.lab.soak.kills import FOLLOWED_SECONDS, Killing
from vsched.lab.soak.run import NODE_CPUS, SoakSettings, soak
from vsched.lab.soak.view import as_table as soak_table
from vsched.settings.installed import registry
from vsched.settings.load import load_file
from vsched.sim.api.fault_plan import read_faults, read_plan
from vsched.together import run_fast

EPILOG = """\b
Examples:
  vsched soak --minutes 20
  vsched soak --minutes 10 --faults config/faults.yaml
  vsched soak --kill-every 6s --kills 100 --lease-seconds 3
  vsched soak --kill-every 10s --kills 20 --signal term
  vsched soak --minutes 10 --shards 2 --faults config/faults.yaml --kill-every 20s --lease-seconds 3
  vsched soak --minutes 20 --ask
  vsched soak --minutes 5 --claims --faults config/faults.yaml --kill-every 20s --lease-seconds 3
  vsched soak --virtual --seed 7 --hours 24 --daemons 3 --nodes 8 --pods-per-minute 60 --faults config/bottle.yaml
  vsched soak --virtual --minutes 10 --nodes 8 --pods-per-minute 60 --claims --ask --faults config/bottle.yaml
  vsched soak --virtual --minutes 10 --nodes 2 --more-nodes 8 --pods-per-minute 200 --faults config/bottle.yaml
  vsched soak --virtual --seed 7 --minutes 10 --until 31.5s --trace trace.log
  vsched soak --virtual --seed 7 --minutes 10 --faults config/bottle.yaml --shrink
  vsched soak --virtual --seeds 100 --minutes 1 --daemons 2 --nodes 8 --pods-per-minute 60 --faults config/bottle.yaml
  vsched soak --virtual --minutes 1 --nodes 4 --pods-per-minute 400 --policy config/policies/taking-back.yaml
  vsched soak --orders claims --deviations 2
  vsched soak --orders claims --order 17:late,40:kill --trace trace.log

--virtual: cluster, daemons and users run in one process on virtual time. Equal seeds give equal logs, and a violation
comes with the command that runs to the moment before it.

--orders: a small scene on virtual time is run in every order of what arrives and of kills that has at most so many
deviations from the usual one. A violation comes with the command that runs the order it happened in.

Exits 1 if a guarantee was broken: a pod bound twice, an overcommitted node, a pod never bound or a gang left partial
although it fits, a vcjob that never ends, restarts too often or leaves something behind, a pod without its claims or a
claim without its pod, a daemon that crashed or had no successor, an error in a log, memory, files, tasks or series that
grow, a session that violates a rule of vsched verify (the daemons check as many as time allows).
"""

ALL = "all"
"""All scenes."""
BOTH = frozenset(
    {"minutes", "nodes", "pods_per_minute", "seed", "faults", "daemons", "lease_seconds", "shards", "claims", "asked"}
)
REAL = frozenset({"kill_every", "kills", "signal_name", "keep"})
OF_ONE_SEED = frozenset({"until", "trace", "shrink"})
VIRTUAL = OF_ONE_SEED | {"virtual", "hours", "seeds", "verify", "policy", "more_nodes", "arbitrate", "namesakes"}
"""The flags of each way to run."""
FULLEST = 0.85
"""The part of the cluster that the work may use on average, so that there is always room."""


def _refuse_others(mode: str, names: Set[str]) -> None:
    """Refuse flags that would change nothing."""
    for name, flag in typed_flags().items():
        if name not in {*names, "as_json"}:
            raise BadInput(bottle_words.no_effect(flag, mode))


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    """The folder for logs: one that stays, or a temporary one."""
    if keep is None:
        with TemporaryDirectory(prefix="vsched-", ignore_cleanup_errors=True) as name:
            yield Path(name)
        return
    try:
        keep.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(words.cannot_be_made(keep, error.strerror)) from None
    yield keep


@click.command("soak", epilog=EPILOG, context_settings={"show_default": True})
@click.option("--minutes", type=click.FloatRange(0, 100_000, min_open=True), default=20.0)
@click.option("--nodes", type=click.IntRange(1, 5_000), default=40, help="Of 32 cpus each.")
@click.option("--pods-per-minute", type=click.FloatRange(min=1, max=100_000), default=1_000.0)
@click.option("--seed", type=int, default=1, help="Random seed of the work.")
@click.option("--faults", type=click.Path(path_type=Path), help="Make requests fail, as for vsched cluster.")
@click.option("--kill-every", type=Period(bounded=False), help="How often to kill the leading daemon.")
@click.option("--kills", type=click.IntRange(1, 1_000_000), help="End after this many kills, instead of --minutes.")
@click.option(
    "--signal", "signal_name", type=click.Choice(["kill", "term"]), default="kill", help="The signal to kill it with."
)
@click.option("--daemons", type=click.IntRange(1, 5), show_default="2 with --kill-every or --shards, else 1")
@click.option("--lease-seconds", type=click.IntRange(1, 3600), default=15, help="Lease duration of several daemons.")
@click.option(
    "--shards",
    type=click.IntRange(1, 5),
    default=1,
    help="Divide the work into shards: several daemons act at a time, and are killed in turn.",
)
@click.option("--claims", is_flag=True, help="Every pod has a volume and a device, which are reserved with its gang.")
@click.option("--ask", "asked", is_flag=True, help="Query the daemons all the time: the page, explanations, dumps.")
@click.option(
    "--keep",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep the logs of the cluster, and of daemons that died, in this folder.",
)
@click.option("--virtual", is_flag=True, help="In one process, on virtual time: equal seeds give equal logs.")
@click.option("--hours", type=click.FloatRange(0, 10_000, min_open=True), help="With --virtual, instead of --minutes.")
@click.option("--until", type=Period(bounded=False), help="With --virtual: stop there, whatever is under way.")
@click.option("--trace", type=click.File("w", lazy=True), help="With --virtual or --order: write down all of it.")
@click.option("--shrink", is_flag=True, help="With --virtual: look for a smaller run in which the same goes wrong.")
@click.option("--policy", type=click.Path(path_type=Path), help="With --virtual: the policy file of the daemons.")
@click.option("--more-nodes", type=click.IntRange(0, 5_000), default=0, help="With --virtual: so many may be added.")
@click.option("--arbitrate", is_flag=True, help="With --virtual: the daemons arbitrate among namespaces, too.")
@click.option("--namesakes", is_flag=True, help="With --virtual: gangs whose names are used again at once, too.")
@click.option("--seeds", type=click.IntRange(1, 1_000_000), help="With --virtual: run so many, from --seed on.")
@click.option("--verify", type=SHARE, default="100%", help="With --virtual: the share of sessions that are checked.")
@click.option("--orders", type=click.Choice((*SCENES, ALL)), help="Run a scene in all orders of what happens in it.")
@click.option(
    "--deviations", type=click.IntRange(0, 9), default=1, help="With --orders: from the usual order, at most."
)
@click.option("--order", help="With --orders: run the scene in this order alone, as 17:late,40:kill.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    minutes: float,
    nodes: int,
    pods_per_minute: float,
    seed: int,
    faults: Path | None,
    kill_every: float | None,
    kills: int | None,
    signal_name: str,
    daemons: int | None,
    lease_seconds: int,
    shards: int,
    claims: bool,
    asked: bool,
    keep: Path | None,
    virtual: bool,
    hours: float | None,
    until: float | None,
    trace: TextIO | None,
    shrink: bool,
    policy: Path | None,
    more_nodes: int,
    arbitrate: bool,
    namesakes: bool,
    seeds: int | None,
    verify: float,
    orders: str | None,
    deviations: int,
    order: str | None,
    as_json: bool,
) -> None:
    """Run work for long while requests fail and daemons are killed, and check every guarantee."""
    if orders is not None:
        if order is not None:
            _refuse_others(bottle_words.WITH_ORDER, {"orders", "order", "trace"})
            _in_one_order(orders, order, trace, as_json=as_json)
        else:
            _refuse_others(bottle_words.WITH_ORDERS, {"orders", "deviations"})
            _in_all_orders(tuple(SCENES) if orders == ALL else (orders,), deviations, as_json=as_json)
        return
    if shards > 1 and daemons == 1:
        raise BadInput(words.ONE_DECIDES)
    if virtual:
        _refuse_others(bottle_words.WITH_VIRTUAL, VIRTUAL | BOTH)
        if seeds is not None:
            _refuse_others(bottle_words.WITH_SEEDS, (VIRTUAL | BOTH) - OF_ONE_SEED)
        wrong = BottleFaults() if faults is None else read_plan(faults, BottleFaults)
        asks = policy is not None and load_file(policy, registry()).policy.calls_out()
        if wrong.extender and not asks:
            raise BadInput(bottle_words.NO_EXTENDER)
        found = BottleSettings(
            seed=seed,
            seconds=60.0 * minutes if hours is None else 3600.0 * hours,
            until=until,
            trace=trace is not None,
            nodes=nodes,
            more_nodes=more_nodes,
            arbitrate=arbitrate,
            namesakes=namesakes,
            daemons=daemons or min(2, shards),
            shards=shards,
            lease_seconds=lease_seconds,
            policy=policy,
            verify=verify,
            pods_per_minute=pods_per_minute,
            claims=claims,
            asked=asked,
            faults=wrong,
        )
        if seeds is not None:
            _in_bottles(found, seeds, faults, as_json=as_json)
        else:
            _in_a_bottle(found, faults, trace, shrink=shrink, as_json=as_json)
        return
    _refuse_others(bottle_words.OTHERWISE, REAL | BOTH)
    if kills is not None and kill_every is None:
        raise BadInput(words.NOTHING_KILLED)
    used, room = cpus_used(pods_per_minute), FULLEST * nodes * NODE_CPUS
    if used > room:
        raise BadInput(words.too_few_nodes(pods_per_minute, used, nodes, room, int(used / FULLEST / NODE_CPUS) + 1))
    if faults is not None:
        read_faults(faults)
    if kills is not None and kill_every is not None:
        minutes = kills * (kill_every + FOLLOWED_SECONDS) / 60
    killing = None
    if kill_every is not None:
        killing = Killing(kill_every, kills, signal.SIGKILL if signal_name == "kill" else signal.SIGTERM)
    settings = SoakSettings(
        minutes=minutes,
        nodes=nodes,
        rate=Rate(pods_per_minute, seed),
        daemons=daemons or (1 if kill_every is None and shards == 1 else 2),
        faults=faults,
        killing=killing,
        lease_seconds=lease_seconds,
        claims=claims,
        shards=shards,
        asked=asked,
    )
    with _folder(keep) as folder:
        result = run_fast(soak(settings, folder, quiet=as_json))
    if as_json:
        click.echo(orjson.dumps(result, option=orjson.OPT_INDENT_2))
    else:
        Console().print(soak_table(result))
    _broken(result["violations"])


def _in_all_orders(scenes: Sequence[str], deviations: int, *, as_json: bool) -> None:
    """Explore scenes, and tell what went wrong in which order."""

    def told(one: Explored) -> None:
        click.echo(bottle_words.progress(one.scene, one.orders, one.seconds), err=True)

    found = [explored(scene, deviations, told) for scene in scenes]
    if as_json:
        click.echo(orjson.dumps(msgspec.to_builtins(found), option=orjson.OPT_INDENT_2))
    else:
        Console().print(orders_table(found))
    _broken(sum((one.violations for one in found), Counter[str]()))


def _in_one_order(scene: str, order: str, trace: TextIO | None, *, as_json: bool) -> None:
    """Run one scene in one order, and tell what happened."""
    if scene == ALL:
        raise BadInput(bottle_words.ONE_SCENE)
    stage = run_scene(scene, parsed(order), trace=trace is not None)
    result = stage.to_dict()
    if trace is not None:
        trace.write(as_log(stage.lines))
    if as_json:
        click.echo(orjson.dumps(result, option=orjson.OPT_INDENT_2))
    else:
        Console().print(order_table(result))
    _broken(result["violations"])


def _broken(violations: Mapping[str, int]) -> None:
    """Raise Unavailable if promises were broken."""
    if violations:
        broken = ", ".join(f"{count} x {promise}" for promise, count in violations.items())
        raise Unavailable(words.promises_broken(broken))


def _in_bottles(settings: BottleSettings, count: int, faults: Path | None, *, as_json: bool) -> None:
    """Run many seeds, and tell what went wrong with which."""

    def told(result: Mapping[str, Any]) -> None:
        click.echo(bottle_words.seed_done(result["seed"], sum(result["violations"].values())), err=True)

    found = run_seeds(settings, count, told)
    if as_json:
        click.echo(orjson.dumps(found, option=orjson.OPT_INDENT_2))
    else:
        Console().print(as_seeds_table(found, settings, faults))
    _broken(sum((Counter(one["violations"]) for one in found), Counter[str]()))


def _in_a_bottle(
    settings: BottleSettings, faults: Path | None, trace: TextIO | None, *, shrink: bool, as_json: bool
) -> None:
    """Run on virtual time, and tell what happened."""
    bottle = Bottle(settings)
    result = bottle.run()
    if trace is not None:
        trace.write(as_log(bottle.lines))
    if as_json:
        click.echo(orjson.dumps(result, option=orjson.OPT_INDENT_2))
    else:
        Console().print(as_table(result, settings, faults))
    if shrink:
        if not result["violations"]:
            raise BadInput(bottle_words.NOTHING_TO_SHRINK)
        found = shrunk(settings, next(iter(result["violations"])), lambda smaller: click.echo(smaller, err=True))
        click.echo(msgspec.yaml.encode(found.faults).decode())
        click.echo(bottle_words.smaller(command_of(found, faults, found.seconds)))
    _broken(result["violations"])
