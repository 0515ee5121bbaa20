"""Menus for people and for programs. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from msgspec import to_builtins
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from vsched.cli.plan.buy import words
from vsched.cli.plan.buy.answer import Bought
from vsched.cli.show.drawing import Look
from vsched.explain.menu.records import Menu, MenuAnswer, NodesOffer
from vsched.framework.times import length
from vsched.framework.words.lists import counted

OFFERS_MAX = 4
"""Offers, refusals and pools that are told in one menu; JSON has them all."""
MARKS = {MenuAnswer.ENOUGH: ("yes", "green"), MenuAnswer.NO: ("no", "red"), MenuAnswer.UNKNOWN: ("?", "yellow")}


def menus_document(found: Bought) -> dict[str, Any]:
    """The menus as data."""
    pools = [
        {
            "name": pool.name,
            "source": pool.source,
            "room": pool.room,
            "price": pool.price,
            "delay_seconds": pool.delay_seconds,
            "problem": pool.problem,
        }
        for pool in found.pools
    ]
    document: dict[str, Any] = to_builtins(
        {
            "session": found.session,
            "at": found.now,
            "edits": list(found.edits),
            "notes": list(found.notes),
            "pools": pools,
            "waiting": found.menus.waiting,
            "menus": list(found.menus.menus),
        }
    )
    return document


def menus_text(found: Bought, look: Look) -> RenderableType:
    """The menus, one after the other."""
    parts: list[RenderableType] = [_heading(found), *(Text(f"  {note}", style="dim") for note in found.notes)]
    for menu in found.menus.menus:
        parts += [Text(), _title(menu), Text(f"  {_why(menu)}"), _table(menu)]
    more = found.menus.waiting - len(found.menus.menus)
    if more:
        parts.append(Text(words.more_gangs(counted(more, "gang", "gangs")), style="dim"))
    return Group(*parts)


def _heading(found: Bought) -> Text:
    number = found.menus.waiting
    moment = datetime.fromtimestamp(found.now, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
    where = "" if found.session is None else f"session {found.session} of "
    asked = f" with {', '.join(found.edits)}" if found.edits else ""
    return Text.assemble((words.gangs_lack(number), "bold"), (asked, "bold cyan"), f"  ({where}{moment})")


def _title(menu: Menu) -> Text:
    has = f"{menu.ready} of {counted(menu.minimum, 'pod', 'pods')}"
    return Text.assemble(
        (menu.called or menu.job, "bold"), f"  queue {menu.queue}, priority {menu.priority}, has {has}"
    )


def _why(menu: Menu) -> str:
    why = menu.message or words.NOT_TRIED_YET
    return f"{why}; {menu.note}" if menu.note else why


def _table(menu: Menu) -> Table:
    table = Table(show_header=False, show_edge=False, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for _ in range(2):
        table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    rows = [
        ("nodes", menu.nodes.answer, list(_nodes(menu))),
        ("quota", menu.quota.answer, [f"{_would(menu.quota.answer)}{menu.quota.message}"]),
        ("waiting", menu.waiting.answer, [menu.waiting.message]),
        ("whose work", menu.work.answer, [menu.work.message]),
    ]
    if menu.other:
        rows.append(("otherwise", MenuAnswer.ENOUGH, [words.starts_with_message(one.message) for one in menu.other]))
    for name, answer, lines in rows:
        mark, style = MARKS[answer]
        for number, line in enumerate(lines):
            first = number == 0
            table.add_row(f"  {name}" if first else "", Text(mark if first else "", style=style), Text(line))
    return table


def _would(answer: MenuAnswer) -> str:
    return words.STARTS_WITH if answer is MenuAnswer.ENOUGH else ""


def _nodes(menu: Menu) -> Iterator[str]:
    """A line for each offer, then for each pool that would not do."""
    for offer in menu.nodes.offers[:OFFERS_MAX]:
        yield f"{offer.message}{_terms(offer)}"
    more = len(menu.nodes.offers) - OFFERS_MAX
    if more > 0:
        yield words.more_options(more)
    refused = list(menu.nodes.refused.values())
    yield from refused[:OFFERS_MAX]
    if len(refused) > OFFERS_MAX:
        yield words.more_pools(counted(len(refused) - OFFERS_MAX, "pool", "pools"))
    if not menu.nodes.offers and not refused:
        yield menu.nodes.message


def _terms(offer: NodesOffer) -> str:
    """The price, and how long it takes, where that is known."""
    told = []
    if offer.price is not None:
        parts = ((offer.count, offer.price_of_one), *((one.count, one.price_of_one) for one in offer.besides))
        told.append(f"price {offer.price:g} ({' + '.join(f'{count} x {price:g}' for count, price in parts)})")
    if offer.delay_seconds:
        told.append(words.there_in(length(offer.delay_seconds)))
    return f"; {', '.join(told)}" if told else ""
