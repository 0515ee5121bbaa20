"""The flags of ``vsched run`` about who may ask, and what they come to."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import click

from vsched.cli.options import options
from vsched.daemon.access_options import AccessOptions, Authentication, PortName

_DEFAULTS = AccessOptions()
_FILE = click.Path(path_type=Path)
access_flags = options(
    click.option(
        "--tls-on",
        type=click.Choice(get_args(PortName)),
        multiple=True,
        default=_DEFAULTS.tls_on,
        help="ports that are served over TLS where there is a certificate; repeatable. The webhook's is in any case",
    ),
    click.option(
        "--authentication",
        type=click.Choice(get_args(Authentication)),
        default=_DEFAULTS.authentication,
        help="how those who ask at --listen-address are known, which needs TLS; health checks are for everybody",
    ),
    click.option(
        "--token-file", type=_FILE, help='tokens, one a line as Kubernetes has it: token,user,uid,"group,group"'
    ),
    click.option(
        "--token-audience",
        "token_audiences",
        multiple=True,
        help="what tokens have to be meant for, with tokenreview; repeatable  [default: the API server]",
    ),
    click.option(
        "--client-ca-file", type=_FILE, help="authorities whose certificates say who a client is (CN user, O groups)"
    ),
    click.option(
        "--webhook-client-ca-file", type=_FILE, help="authorities of which the API server has to show a certificate"
    ),
    click.option(
        "--allow-user",
        "allow_users",
        multiple=True,
        help="who may ask; repeatable. Where nobody is named: all who are known, or with tokenreview whoever RBAC says",
    ),
    click.option("--allow-group", "allow_groups", multiple=True, help="whose members may ask; repeatable"),
)


def access_of(flags: dict[str, Any]) -> dict[str, Any]:
    """The fields of ``AccessOptions``, taken out of parsed flags."""
    return {name: flags.pop(name) for name in AccessOptions.__struct_fields__}
