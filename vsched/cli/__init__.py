"""The command line: a folder for each command, imported only when the command is called."""

from __future__ import annotations

import gc
import sys
from errno import ENOSPC
from importlib import import_module

import click
from click.shell_completion import CompletionItem

from vsched.cli import words
from vsched.cli.flags.strict import strict
from vsched.cli.flags.suggesting import SuggestingGroup
from vsched.cli.kubectl import AS_PLUGIN, COMPLETER, PLAIN, PLUGIN, as_plugin, called_as, completions, reordered
from vsched.cli.wings import is_installed, load
from vsched.errors import VschedError
from vsched.printable import printable

COMMANDS_HELP = {
    "run": "run the scheduler against a cluster",
    "demo": "show the scheduler at work on an embedded cluster",
    "cluster": "run the embedded cluster alone: a Kubernetes API on loopback",
    "plan": "what would be bound from manifests or a live cluster, and why the rest waits",
    "top": "live view of queues, jobs and nodes",
    "queue": "list, inspect, open and close queues",
    "explain": "why a pod, a job or a queue waits, and what would let it start",
    "job": "list and inspect jobs, and why they wait; run, suspend and resume vcjobs",
    "allocations": "what namespaces and buckets deserve and hold",
    "autoscaling": "nodes requested from autoscalers, and CapacityBuffers",
    "usage": "what each node has allocated and what it really uses",
    "devices": "devices of nodes: how much of each is in use, and by which pods",
    "dump": "record a session of a running daemon in a file",
    "record": "record the work of a cluster over days, whoever schedules it",
    "replay": "replay a recorded session, or a workload trace under several policies",
    "tune": "search the arguments of a policy for an objective, on replays of a workload trace",
    "verify": "check the decisions of recorded sessions against the rules",
    "shadow": "what a shadow has found beside the scheduler in charge",
    "profile": "where a running daemon spends its time",
    "check": "validate a policy file",
    "rollout": "the rollout of a policy: where it is, promote it, take it back",
    "migrate": "migrate from another scheduler: check a cluster, convert queues",
    "rbac": "print the roles that a daemon with these flags needs",
    "completion": "print a completion script for bash, zsh or fish",
    "version": "print version, commit, Python and libraries",
    "soak": "run for long with failing requests and killed daemons, and check every guarantee",
    "bench": "measure the decision core on this machine",
    "bench-arbitrate": "measure arbitration on this machine: rounds, and answers to kube-scheduler",
    "bench-live": "measure from pod creation to binding on an embedded cluster, and the daemon's CPU time",
    "bench-restart": "measure a restart in a big cluster: process start to first binding, and a relist",
    "bench-usage": "measure how evenly nodes are loaded with and without the usage plugin",
}
"""Commands and their short help. The command ``NAME`` is ``command`` in ``vsched.cli.NAME.command`` or, of a wing, in
the module that WINGS says."""
WINGS = {
    "cluster": "vsched.sim.command.command",
    "demo": "vsched.lab.demo.command",
    "soak": "vsched.lab.soak.command",
    "tune": "vsched.lab.tune.command",
    "bench": "vsched.lab.bench.core",
    "bench-arbitrate": "vsched.lab.bench.arbitrate",
    "bench-live": "vsched.lab.bench.live.command",
    "bench-restart": "vsched.lab.bench.restart",
    "bench-usage": "vsched.lab.bench.usage",
}
"""Commands that are not the scheduler's own, with their modules; those that are installed are listed."""
EXTENDED = {"replay": "vsched.lab.replay.command"}
"""Commands of the scheduler that have more flags where a wing is installed, with the module that has them all."""


class LazyGroup(SuggestingGroup):
    """A group that imports a command when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_installed())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS_HELP:
            return None
        module, extended = WINGS.get(cmd_name), EXTENDED.get(cmd_name)
        if extended and is_installed(extended):
            module = extended
        loaded = load(module, cmd_name) if module else import_module(f"vsched.cli.{cmd_name}.command")
        command = loaded.command
        assert isinstance(command, click.Command)
        strict(command)
        return as_plugin(command) if ctx.find_root().info_name == AS_PLUGIN else command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """Complete the names of commands without importing any of them."""
        named = [CompletionItem(name, help=says) for name, says in _installed().items() if name.startswith(incomplete)]
        return [*named, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_installed().items()))


def _installed() -> dict[str, str]:
    """The commands that there are, with their short help."""
    return {name: says for name, says in COMMANDS_HELP.items() if name not in WINGS or is_installed(WINGS[name])}


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "VSCHED"},
    epilog="Example:  vsched plan -f cluster.yaml",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    allow_from_autoenv=False,  # other programs may use VSCHED_VERSION for something else
    callback=lambda ctx, param, asked: import_module("vsched.cli.version.command").show(ctx, param, asked),
    help="print version, commit, Python and libraries",
)
def cli() -> None:
    """A batch scheduler for Kubernetes: gangs, queues and fair shares, decided on arrays."""


ALLOCATIONS = 200_000
"""Between two garbage collections: with those of Python (700), loading a command takes a sixth longer."""


def main() -> None:
    """Run the command line; a VschedError becomes one line on standard error and exit code 1."""
    program = called_as(sys.argv[0])
    gc.set_threshold(ALLOCATIONS, *gc.get_threshold()[1:])
    try:
        if program == COMPLETER:
            click.echo(printable("\n".join(completions(cli, sys.argv[1:]))))
            code = 0
        elif program == PLUGIN:
            code = cli.main(reordered(sys.argv[1:]), prog_name=AS_PLUGIN, standalone_mode=False)
        else:
            code = cli.main(prog_name=PLAIN, standalone_mode=False)
    except click.exceptions.Abort:
        code = 130
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except VschedError as error:
        for line in str(error).splitlines():
            click.echo(f"vsched: {printable(line)}", err=True)
        code = 1
    except BrokenPipeError:
        code = 141
    except OSError as error:
        if error.errno != ENOSPC:
            raise
        click.echo(words.no_room(error.strerror), err=True)
        code = 1
    gc.freeze()  # Python would look for garbage once more in all there is, which takes longer than most commands
    sys.exit(code if isinstance(code, int) else 0)
