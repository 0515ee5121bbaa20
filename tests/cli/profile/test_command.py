"""``vsched profile``: a running daemon, and the files that are made of what it answers."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from tests.support.serving import serving
from vsched.cli import cli
from vsched.cli.profile import words
from vsched.cli.profile.flame import MARGIN, WIDTH, flame_graph
from vsched.cli.profile.formats import FunctionTime, collapsed, functions_of, speedscope
from vsched.client.daemon import DaemonClient
from vsched.client.target import DaemonTarget
from vsched.sim.cluster import Cluster
from vsched.web.pages.profile import ProfileShown
from vsched.web.words import answers

FOUND: ProfileShown = {
    "seconds": 1.0,
    "samples": 10,
    "idle": 4,
    "stacks": {"main;a (f.py:1);b (f.py:2)": 6, "main;a (f.py:1)": 1, "page;b (f.py:2);b (f.py:2)": 3},
}


def test_functions_are_counted_once_a_stack() -> None:
    assert functions_of(FOUND) == [FunctionTime("b (f.py:2)", 9, 9), FunctionTime("a (f.py:1)", 1, 7)]


def test_stacks_and_a_file_of_speedscope() -> None:
    assert collapsed(FOUND).splitlines()[0] == "main;a (f.py:1) 1"
    told = json.loads(speedscope(FOUND))
    names = [frame["name"] for frame in told["shared"]["frames"]]
    [main, page] = told["profiles"]
    assert (main["name"], main["endValue"], main["weights"]) == ("main", 7, [1, 6])
    assert [names[at] for at in page["samples"][0]] == ["b (f.py:2)", "b (f.py:2)"]


STACKS = st.dictionaries(st.lists(st.sampled_from("ab<&"), min_size=1, max_size=5).map(";".join), st.integers(1, 1000))


@given(STACKS)
def test_a_flame_graph_is_well_formed_and_no_wider_than_its_picture(stacks: dict[str, int]) -> None:
    root = ElementTree.fromstring(flame_graph(stacks))
    boxes = [each for each in root.iter("{http://www.w3.org/2000/svg}rect") if each.get("x")]
    assert boxes
    for box in boxes:
        assert float(box.get("x", "")) + float(box.get("width", "")) <= WIDTH - MARGIN + 0.2


@pytest.mark.real_time
async def test_a_running_daemon_is_sampled_for_one_at_a_time(tmp_path: Path) -> None:
    async with Cluster(1) as cluster, serving(cluster.url) as (_, url):

        def asked(*flags: str) -> str:
            found = CliRunner().invoke(cli, ["profile", "--daemon", url, "--seconds", "300ms", *flags])
            assert found.exit_code == 0, found.output
            return found.output

        assert "own" in (await asyncio.to_thread(asked)).splitlines()[0]
        written = tmp_path / "flame.svg"
        assert str(written) in await asyncio.to_thread(asked, "-O", str(written))
        assert ElementTree.parse(written).getroot().tag.endswith("svg")
        async with DaemonClient(DaemonTarget(url)) as daemon:
            both = [asyncio.create_task(daemon.profile(2.0)) for _ in range(2)]
            await asyncio.wait(both)
        [refused] = [str(error) for each in both if (error := each.exception()) is not None]
        assert refused == f"{url}: {answers.PROFILE_UNDER_WAY}"


def test_another_format_is_refused() -> None:
    refused = CliRunner().invoke(cli, ["profile", "-O", "profile.png"])
    assert str(refused.exception) == words.no_such_format("profile.png", ".svg, .txt, .json")
