"""Groups of commands that say what may have been meant by a name that is unknown."""

from __future__ import annotations

from difflib import get_close_matches

import click

from vsched.cli.flags import words


class SuggestingGroup(click.Group):
    """A group that names the command closest to one that there is not."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-") and not ctx.resilient_parsing:
            close = get_close_matches(name, self.list_commands(ctx), n=1)
            meant = words.did_you_mean(close[0]) if close else words.help_lists(ctx.command_path)
            ctx.fail(words.no_command(name, meant))
        return super().resolve_command(ctx, args)
