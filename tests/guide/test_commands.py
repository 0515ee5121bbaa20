"""Every command of the guide is understood by the program it names, and is run where that takes a moment."""

from __future__ import annotations

import re
import time
from contextlib import chdir, suppress
from typing import Any

import click
import jsonschema
import pytest
import yaml

from tests.guide.conftest import Guided
from tests.guide.examples import FILES
from tests.guide.shell import Command, command_of, commands, every_command, parse, run, story
from tests.support.kubectl import KUBECTL
from tests.support.pages import TOP, Block, Page, blocks, page, pages, rows, words_in
from tests.support.waiting import until_now

SHELL = blocks("sh")
CONSOLE = blocks("console")
AT_ONCE = {
    *(
        "allocations",
        "check",
        "completion",
        "dump",
        "explain",
        "job",
        "migrate",
        "plan",
        "queue",
        "rbac",
        "replay",
        "top",
    ),
    *("usage", "version"),
}
"""Commands of ours that end by themselves, soon."""
GO_ON = {"--watch", "--trace", "--probe", "--seconds", "--clusters", "https://west.example.com:8443"}
"""Flags with which they do not, and with which they contact somebody who is not there."""
ELSEWHERE = {
    *("cd", "grep", "install", "kind", "pip", "pytest", "systemctl", "systemd-sysusers", "systemd-tmpfiles", "jq"),
    *("zcat", "uv", "sha256sum", "gpg", "cosign"),
}
"""Programs that are not run: they would change this machine, or run these tests again."""
OF_OTHERS = {
    *(
        "--as",
        "--previous",
        "--reset-then-reuse-values",
        "--reuse-values",
        "--server-side",
        "--set",
        "--set-file",
        "--show-managed-fields",
    ),
    *("--namespace", "--help", "--disable-network-policy"),
}
"""Flags of kubectl, Helm and Volcano's plugins that sentences speak of, and those that every command has."""


def here(found: list[Block]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("block", found, ids=lambda block: block.where)


def is_run(command: Command) -> bool:
    """Whether a command ends soon, and leaves this machine as it is."""
    if command.program == "kubectl":
        return not {"port-forward", "top"} & set(command.words)
    if command.program != "vsched" or command.words[1] not in AT_ONCE or GO_ON & set(command.words):
        return False
    asks_a_source = command.words[1] == "usage" and "--config" in command.words
    is_live = command.words[1] == "top" and "--once" not in command.words
    return not (asks_a_source or is_live)


@here(SHELL)
def test_commands_are_understood(block: Block, guided: Guided) -> None:
    found = list(commands(block.text))
    assert found or "source" in block.text
    for command in found:
        match command.program:
            case "vsched":
                with chdir(guided.folder):
                    parse(command.words[1:])
            case "make":
                assert target_of(command) in targets(), command
            case "helm":
                _check_helm(command)
            case "kubectl":
                assert len(command.words) > 1
            case program:
                assert program in ELSEWHERE, command


@here([block for block in SHELL if block not in story()])  # which is run as a whole
def test_commands_that_end_soon_end_well(block: Block, guided: Guided) -> None:
    printed = b""
    for command in commands(block.text):
        if command.program == "pip" or (command.program == "kubectl" and not KUBECTL):
            break  # what comes next may need what is not installed here
        if is_run(command):
            code, printed, complaint = run(command, printed if command.piped else b"", guided)
            assert code == 0, f"{command}\n{complaint}"


@here(CONSOLE)
def test_what_is_printed_is_what_the_guide_shows(block: Block, guided: Guided) -> None:
    for line, shown in _told(block):
        first, *others = commands(line)
        with chdir(guided.folder):
            parse(first.words[1:])
        if not _is_of_files(first):
            continue
        _, out, err = run(first, b"", guided)
        text = err + out.decode()
        if others:
            assert others[0].program == "grep", line
            text = "".join(one for one in text.splitlines(keepends=True) if others[0].words[1] in one)
        assert _squeezed(shown) == _squeezed(text, shown), line


def _told(block: Block) -> list[tuple[str, str]]:
    """Command lines, each with what is shown below it."""
    parts = re.split(r"^\$ (.*)$", block.text, flags=re.MULTILINE)
    assert not parts[0].strip(), block.where
    return list(zip(parts[1::2], parts[2::2], strict=True))


def _is_of_files(command: Command) -> bool:
    """Whether what it prints follows from files that are here alone."""
    return command.words[1] == "check" or (command.words[1] == "plan" and "-f" in command.words)


def _squeezed(text: str, shown: str = "") -> list[str]:
    """Lines without blanks at their ends; of text that is shown in parts, those parts."""
    lines = [line.rstrip() for line in text.strip().splitlines()]
    wanted = [line.rstrip() for line in shown.strip().splitlines()]
    if "…" in wanted:
        lines = [line for line in lines if line in wanted]
        lines.insert(wanted.index("…"), "…")
    return lines


def _in_comments() -> list[tuple[str, str]]:
    """Commands of ours in the comments of files that people copy, each with its file."""
    paths = [*(TOP / "config").rglob("*.yaml"), *(TOP / "helm/vsched").glob("*.yaml"), *(TOP / "systemd").iterdir()]
    return [
        (str(path.relative_to(TOP)), line)
        for path in sorted(paths)
        if path.is_file() and path.suffix != ".md"
        for line in re.findall(r"^#\s+(vsched [a-z].*?)(?:\s{3,}.*)?$", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]


def test_commands_in_comments_are_understood(guided: Guided) -> None:
    found = _in_comments()
    assert {"config/faults.yaml", "config/webhook.yaml", "config/samples/usage.yaml"} <= {name for name, _ in found}
    with chdir(guided.folder):
        for _, line in found:
            for command in commands(line):
                parse(command.words[1:])


# -- other programs ----------------------------------------------------------------------------------------------------


def targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (TOP / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def target_of(command: Command) -> str:
    return next(word for word in command.words[1:] if "=" not in word and not word.startswith("-"))


def _check_helm(command: Command) -> None:
    """The chart is there, and takes the values."""
    if "helm/vsched" not in command.words:
        assert command.words[1] in ("uninstall", "test", "rollback")
        return
    values = yaml.safe_load((TOP / "helm/vsched/values.yaml").read_text(encoding="utf-8"))
    for flag, given in zip(command.words, command.words[1:], strict=False):
        if flag in ("--set", "--set-file"):
            for key, _, value in (one.partition("=") for one in re.split(r",(?![^{]*})", given)):
                _set(values, key, value)
    schema = yaml.safe_load((TOP / "helm/vsched/values.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(values, schema)


def _set(values: dict[str, Any], key: str, text: str) -> None:
    *path, last = key.split(".")
    for name in path:
        values = values[name]
    assert last in values, key
    values[last] = text.strip("{}").split(",") if text.startswith("{") else yaml.safe_load(text)


def test_targets_of_make_in_sentences_exist() -> None:
    named = {found for each in pages() for text in each.code for found in re.findall(r"\bmake ([a-z-]+)", text)}
    assert {"demo", "test", "check"} <= named
    assert named - targets() == set()


@pytest.mark.kubectl
def test_the_first_job_runs(guided: Guided) -> None:
    assert run(Command(("kubectl", "apply", "-f", "first-job.yaml")), b"", guided)[0] == 0
    wait = ("kubectl", "wait", "podgroup/train", "--for=jsonpath={.status.phase}=Running", "--timeout=60s")
    assert run(Command(wait), b"", guided)[0] == 0
    which = "jsonpath={range .items[*]}{.metadata.name}:{.spec.nodeName} {end}"
    listed = Command(("kubectl", "get", "pods", "-o", which))
    # The PodGroup may say so before the bindings of the last pods are written.
    until_now(lambda: len(re.findall(rb"\btrain-\S+:node-", run(listed, b"", guided)[1])) == 3)


@pytest.mark.kubectl
def test_the_larger_copy_of_the_first_job_is_explained(guided: Guided) -> None:
    text = re.sub(r": 3\b", ": 9", FILES["first-job.yaml"]).replace("train", "big")
    assert text.count(": 9\n") + text.count(": 9 ") == 3
    assert run(Command(("kubectl", "apply", "-f", "-")), text.encode(), guided)[0] == 0
    ends = time.monotonic() + 60
    told = b""
    while b"may hold" not in told and time.monotonic() < ends:
        told = run(Command(("vsched", "explain", "default/big")), b"", guided)[1]
    lines = told.decode().splitlines()
    assert lines[0] == "PodGroup default/big cannot start as things are"
    assert lines[1].startswith("queue research may hold 48 cpu at most: 72 asked")
    assert "would start with" in lines


# -- sentences and tables ----------------------------------------------------------------------------------------------


def _mentions(found: Page) -> list[list[str]]:
    return [text.split() for text in found.code if text.startswith("vsched ") and not text.startswith("vsched is")]


@pytest.mark.parametrize("found", pages(), ids=lambda found: found.name)
def test_commands_in_sentences_exist(found: Page, guided: Guided) -> None:
    for words in _mentions(found):
        asked = next((at for at, word in enumerate(words) if set("…|[") & set(word) or word.isupper()), len(words))
        command, path, _ = command_of([word for word in words[1:asked] if word != "|"])
        known = {flag for option in command.params for flag in (*option.opts, *option.secondary_opts)} | {"--version"}
        given = {flag for word in words for flag in re.findall(r"--[a-z][a-z-]+", word)}
        assert given - known - {"--help"} == set(), " ".join(path)
        if asked == len(words) and not isinstance(command, click.Group):
            # A sentence may name a command without what it needs.
            with suppress(click.MissingParameter, click.BadOptionUsage, click.exceptions.Exit), chdir(guided.folder):
                parse(words[1:])


def test_flags_in_sentences_exist() -> None:
    options = [option for _, command in every_command() for option in command.params]
    known = {flag for option in options for flag in (*option.opts, *option.secondary_opts)} | OF_OTHERS | {"--version"}
    for found in pages():
        for text in found.code:
            if text.startswith("--"):
                flag = re.match(r"--[a-z-]+", text)
                assert flag, text
                assert flag[0] in known, f"{found.name}: {text}"


def test_every_command_has_its_row_and_every_flag_its_place_in_the_help() -> None:
    listed = {word for row in rows(page("vsched/cli/README.md").section("All commands")) for word in words_in(row[0])}
    for path, command in every_command():
        assert any(word.startswith(f"vsched {path[0]}") for word in listed), path
        told = run_help(path)
        for option in command.params:
            if isinstance(option, click.Option) and option.hidden:
                continue  # for the command's own child processes
            assert all(flag in told for flag in option.opts if flag.startswith("-")), (path, option.name)


def run_help(path: tuple[str, ...]) -> str:
    found, words, _ = command_of(path)
    return found.get_help(found.make_context(" ".join(words), [], resilient_parsing=True))
