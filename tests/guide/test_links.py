"""Every link of the guide leads somewhere, every file that it names exists, and every page can be found."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.guide.examples import FILES
from tests.support.pages import FOLDERS, TOP, Page, page, pages, rows, words_in

EACH = pytest.mark.parametrize("found", pages(), ids=lambda found: found.name)
_PATH = re.compile(rf"(?<![\w/-])(?:{'|'.join(FOLDERS)})/[\w./*-]+")
_FILE = re.compile(r"[\w./*-]+\.(?:py|yaml|json|md|js|conf|csv|gz|toml)")
OF_OTHERS = {
    *("comparison.json", "big.json.gz", "openb_node_list_all_node.csv", "openb_pod_list_default.csv"),
    *("krew.yaml", "provenance.intoto.json", "NOTES.md"),
    *("generator.yaml", "rangespec.yaml", "performance-config.yaml", "device-config.yaml"),
    *("vsched/vsched-policy", "vsched/vsched-policy/volcano-scheduler.conf"),
}
"""Files that commands write, files that sentences only speak of, and a ConfigMap with a key of it."""


@EACH
def test_links_lead_somewhere(found: Page) -> None:
    broken = []
    for link in found.links:
        parts = urlsplit(link)
        if parts.scheme:
            assert parts.scheme == "https", link
            assert parts.hostname, link
            continue
        target = (found.folder / parts.path).resolve() if parts.path else found.path
        if not target.exists():
            broken.append(link)
        elif parts.fragment:
            there = next((one for one in pages() if one.path == target), None)
            if there is None or parts.fragment not in there.anchors:
                broken.append(link)
    assert broken == []


@EACH
def test_files_that_are_named_exist(found: Page) -> None:
    texts = [*found.code, *(block.text for block in found.blocks)]
    named = {word.rstrip(".") for text in texts for word in _PATH.findall(text)}
    named |= {word for text in found.code for word in text.split() if _FILE.fullmatch(word) and word[0] not in "/~"}
    named |= {f"{module.replace('.', '/')}.py" for text in texts for module in re.findall(r"python -m ([\w.]+)", text)}
    missing = {word for word in named - set(FILES) - OF_OTHERS if not _exists(word, found.folder)}
    assert missing == set()


def _exists(word: str, folder: Path) -> bool:
    if word.startswith("."):
        return True  # an ending, such as .png
    places = (TOP, TOP / "vsched", folder, *(each for each in folder.iterdir() if each.is_dir()))
    return any(next(place.glob(word), None) is not None for place in places)


def test_the_way_of_a_pod_leads_through_modules_that_exist() -> None:
    found = page("vsched/README.md")
    (way,) = (block.text for block in found.blocks if "watch line" in block.text)
    modules = re.findall(r"\b([a-z]+)\.([a-z]+)\b", way)
    assert len(modules) > 6
    missing = [name for name in modules if not list((found.folder / name[0]).glob(f"{name[1]}*"))]
    assert missing == []


@EACH
def test_a_page_about_its_folder_names_every_folder_in_it(found: Page) -> None:
    if "in-this-folder" not in found.anchors:
        return
    named = {word.strip("/") for row in rows(found.section("In this folder")) for word in words_in(row[0])}
    assert {word for word in named if not (found.folder / word).exists()} == set()
    inside = {path.parent.name for path in found.folder.glob("*/*.py")}
    assert inside - named == set()


def test_every_page_can_be_reached_from_the_first() -> None:
    by_path = {found.path: found for found in pages()}
    reached, ahead = set[Path](), [TOP / "README.md"]
    while ahead:
        path = ahead.pop()
        path = path / "README.md" if path.is_dir() else path
        if path in by_path and path not in reached:
            reached.add(path)
            ahead += [(path.parent / urlsplit(link).path).resolve() for link in by_path[path].links]
    assert {found.name for found in pages() if found.path not in reached} == set()


def test_a_long_page_begins_with_a_list_of_what_is_on_it() -> None:
    for found in pages():
        titles = [line[3:] for line in found.prose.splitlines() if line.startswith("## ")]
        if len(found.prose.splitlines()) > 150 and found.name not in ("README.md", "CHANGELOG.md"):
            assert found.prose.count("](#") >= len(titles), found.name


def test_the_first_page_is_short() -> None:
    assert len(page("README.md").path.read_text(encoding="utf-8").splitlines()) <= 220
