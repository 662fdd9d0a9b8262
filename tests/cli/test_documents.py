"""``docs/cli.md`` describes what the commands offer, and their documents are as shown."""

import json
import re
from importlib.metadata import version
from pathlib import Path

import pytest
from tests.cli.calling import Tenure
from tests.tidy.source import ROOT

DOCUMENT = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
COMMANDS = [
    "run",
    "wait",
    "ls",
    "show",
    "owed",
    "recover",
    "cancel",
    "supersede",
    "ledger init",
    "ledger upgrade",
    "ledger check",
    "version",
]
OPTION = re.compile(r"--[a-z][a-z-]*")
SHARED = {"--ledger", "--json", "--debug"}


def read_section(title: str) -> str:
    """Return the text below a heading of the second level."""
    return DOCUMENT.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def read_options(section: str) -> set[str]:
    """List the options of a section's table."""
    return set(re.findall(r"^\| `(--[a-z-]+)[^`]*` \|", section, re.MULTILINE))


def read_example(title: str) -> dict[str, object]:
    """Parse the first JSON example of a section."""
    example = json.loads(read_section(title).split("```json\n", 1)[1].split("\n", 1)[0])
    assert isinstance(example, dict)
    return example


@pytest.mark.parametrize("command", COMMANDS)
def test_help_and_document_name_the_same_options(tenure: Tenure, command: str) -> None:
    done = tenure.call(*command.split(), "--help", COLUMNS="200")
    assert done.code == 0
    offered = set(OPTION.findall(done.text.split("Parameters", 1)[1]))
    assert offered >= SHARED
    assert read_options(read_section(f"tenure {command}")) == offered - SHARED
    assert not tenure.state.exists()


def test_shared_options_are_documented() -> None:
    assert read_options(read_section("Every command")) == SHARED | {"--help"}


def test_the_list_names_every_command(tenure: Tenure) -> None:
    listed = tenure.call().text + tenure.call("ledger").text
    assert all(command.split()[-1] in listed for command in COMMANDS)


def test_documents_have_the_members_that_are_shown(tenure: Tenure) -> None:
    def check(title: str, document: dict[str, object]) -> None:
        assert set(document) == set(read_example(f"tenure {title}"))

    check("ledger init", tenure.call("ledger", "init", "--json").document)
    check("run", tenure.call("run", "--json", "--id", "x", "--", "true").document)
    check("run", tenure.call("wait", "x", "--json").document)
    check("run", tenure.call("cancel", "x", "--json").document)
    check("ls", tenure.call("ls", "--json").document)
    check("show", tenure.call("show", "x", "--json").document)
    check("owed", tenure.call("owed", "--json").document)
    check("ledger check", tenure.call("ledger", "check", "--json").document)
    check("ledger init", tenure.call("ledger", "upgrade", "--json").document)
    check("version", tenure.call("version", "--json").document)


def test_nested_documents_have_the_members_that_are_shown(tenure: Tenure) -> None:
    execution_id = tenure.detach("sleep", "300")
    (entry,) = tenure.call("owed", "--all", "--json").document["owed"]
    blocks = re.findall(r"```json\n(.*)\n```", read_section("tenure owed"))
    shown = json.loads(blocks[1])
    assert set(entry) == set(shown)
    assert set(entry["work"]) == set(shown["work"])
    recovered = tenure.call("recover", "--json").document
    example = read_example("tenure recover")
    assert set(recovered) == set(example)
    attempts = example["attempts"]
    assert isinstance(attempts, list)
    assert set(recovered["attempts"][0]) == set(attempts[0])
    tenure.call("cancel", execution_id)


def test_version_is_that_of_the_distribution(tenure: Tenure) -> None:
    told = f"tenure {version('tenure')}\n"
    assert tenure.call("version").text == tenure.call("--version").text == told


def test_bad_usage_has_its_own_code(tenure: Tenure) -> None:
    for arguments in (["bogus"], ["ls", "--bogus"], ["ledger", "bogus"], ["show"], ["owed", "x"]):
        done = tenure.call(*arguments)
        assert done.code == 2
        assert len(done.errors.splitlines()) == 1
    assert json.loads(tenure.call("bogus", "--json").errors)["error"]["code"] == "usage"


def test_debug_shows_where_an_error_came_from(tenure: Tenure) -> None:
    assert "Traceback" not in tenure.call("ls").errors
    assert "Traceback" in tenure.call("ls", "--debug").errors
    assert "Traceback" in tenure.call("ls", TENURE_DEBUG="1").errors


def test_option_before_the_command_is_put_right(tenure: Tenure) -> None:
    assert "tenure ls --json" in tenure.call("--json", "ls").errors


def test_full_standard_output_is_told_plainly(tenure: Tenure) -> None:
    tenure.call("ledger", "init")
    tenure.call("run", "--", "true")
    with Path("/dev/full").open("wb") as full:
        done = tenure.finish(tenure.start("ls", stdout=full.fileno()))
    assert "internal error" not in done.errors
