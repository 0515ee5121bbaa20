"""The command line: a folder for each command, imported only when the command is called."""

from __future__ import annotations

import gc
import sys
from errno import ENOSPC
from importlib import import_module

import click
from click.shell_completion import CompletionItem

from vsched.cli.flags.strict import strict
from vsched.cli.flags.suggesting import SuggestingGroup
from vsched.cli.kubectl import AS_PLUGIN, COMPLETER, PLAIN, PLUGIN, as_plugin, called_as, completions, reordered
from vsched.errors import VschedError
from vsched.printable import printable

COMMANDS = {
    "run": "the scheduler daemon, against a cluster",
    "demo": "an embedded cluster, the daemon and a sample workload, live",
    "cluster": "the embedded cluster alone: a Kubernetes API on loopback",
    "plan": "what would be bound, and why the rest waits, from manifests",
    "top": "what a running daemon shares out, to whom, and who waits, live",
    "queue": "queues: what they hold, opening and closing them",
    "explain": "why a pod, a job or a queue waits, and what would let it start",
    "job": "jobs: where each stands in the order, and why those that wait do",
    "allocations": "who deserves and holds what of the cluster, by namespace and bucket",
    "autoscaling": "nodes that are asked for, and room that autoscalers keep ready",
    "usage": "what of each node is allocated, and what it really uses",
    "devices": "devices of nodes: what part of each is taken, and by which pods",
    "dump": "a cycle of a running daemon as a file, to be run again",
    "replay": "runs a cycle again from its file, or a trace of a cluster under several policies",
    "verify": "whether what recorded cycles decided keeps the rules",
    "check": "validates a policy file",
    "migrate": "what it takes to change from another scheduler: checks a cluster, converts queues",
    "rbac": "the roles that a daemon with given flags needs, as manifests",
    "completion": "a script that has bash, zsh or fish complete commands, flags and names",
    "version": "version, commit, Python and libraries",
    "soak": "work comes and goes for long, requests fail, daemons are killed: is every promise kept?",
    "bench": "measures the decision core on this machine",
    "bench-arbitrate": "measures arbitration on this machine: rounds, and answers to kube-scheduler",
    "bench-live": "measures the whole way on an embedded cluster: creation to binding, and what it costs the daemon",
    "bench-restart": "measures a restart in a big cluster: process start to first binding on one core, and a relist",
    "bench-usage": "how evenly nodes are loaded with and without the usage plugin, on an embedded cluster",
}
"""Commands and their short help. The command ``NAME`` is ``command`` in ``vsched.cli.NAME.command``, unless in LAB."""
LAB = {
    "demo": "vsched.lab.demo.command",
    "soak": "vsched.lab.soak.command",
    "bench": "vsched.lab.bench.core",
    "bench-arbitrate": "vsched.lab.bench.arbitrate",
    "bench-live": "vsched.lab.bench.live.command",
    "bench-restart": "vsched.lab.bench.restart",
    "bench-usage": "vsched.lab.bench.usage",
}
"""Commands that are not needed at run time, with their modules."""


class LazyGroup(SuggestingGroup):
    """A group that imports a command when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = import_module(LAB.get(cmd_name) or f"vsched.cli.{cmd_name}.command").command
        assert isinstance(command, click.Command)
        strict(command)
        return as_plugin(command) if ctx.find_root().info_name == AS_PLUGIN else command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """Complete the names of commands without importing any of them."""
        named = [CompletionItem(name, help=says) for name, says in COMMANDS.items() if name.startswith(incomplete)]
        return [*named, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "VSCHED"},
    epilog="Example:  vsched demo",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    allow_from_autoenv=False,  # other programs may use VSCHED_VERSION for something else
    callback=lambda ctx, param, asked: import_module("vsched.cli.version.command").show(ctx, param, asked),
    help="show version, commit, Python and libraries",
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
        click.echo(f"vsched: {error.strerror} (where the results go)", err=True)
        code = 1
    gc.freeze()  # Python would look for garbage once more in all there is, which takes longer than most commands
    sys.exit(code if isinstance(code, int) else 0)
