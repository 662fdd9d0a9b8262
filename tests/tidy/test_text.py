"""What must not stand in the tree. Forbidden words are spelled in pieces, so as not to be found."""

import re
from pathlib import Path

import pytest
from tests.tidy.source import ROOT, find_python_files, find_tracked_files

VAGUE_NAME = re.compile(
    r"(^|_)(base|common|helpers?|managers?|misc|utils?|utility|utilities)(_|$)", re.IGNORECASE
)

UNFINISHED = re.compile("|".join(["TO" + "DO", "FIX" + "ME", "NotImplemented" + "Error"]))

TYPE_IGNORE = re.compile(r"#\s*type:\s*" + "ignore")
TYPE_IGNORE_WITH_REASON = re.compile(TYPE_IGNORE.pattern + r"\[[a-z, -]+\]\s+#\s+\w+")

# Private folders, and where a machine gets its packages: both are settings of one machine.
PRIVATE = re.compile(
    "|".join(
        [
            r"(?<![\w.])/wo" + "rk/",
            r"\bindex" + r"[-_]url\b",
            "find-" + "links",
            r"\bpypi" + r"\.",
            "pythonhos" + "ted",
            r"\bregistry\.npm" + "js",
        ]
    )
)
PRIVATE_FILES = frozenset({"uv." + "lock", "pip." + "conf", ".npm" + "rc", ".py" + "pirc"})


def find_lines(pattern: re.Pattern[str], paths: list[Path]) -> list[str]:
    """List `path:line: text` of every line in these files that the pattern is found in."""
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in paths
        for number, line in enumerate(
            path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1
        )
        if pattern.search(line)
    ]


def test_nothing_is_left_unfinished() -> None:
    assert find_lines(UNFINISHED, find_python_files("src", "tests")) == []


def test_every_ignored_type_error_names_its_code_and_reason() -> None:
    ignored = find_lines(TYPE_IGNORE, find_python_files("src", "tests"))
    assert [line for line in ignored if not TYPE_IGNORE_WITH_REASON.search(line)] == []


@pytest.mark.parametrize(
    ("comment", "allowed"),
    [
        ("", False),
        ("[arg-type]", False),
        ("[arg-type]  # the stub lacks this overload", True),
        ("[arg-type, misc]  # the stub lacks this overload", True),
        ("  # a reason but no code", False),
    ],
)
def test_a_reason_is_told_from_none(comment: str, *, allowed: bool) -> None:
    line = "x = f(1)  # type: " + "ignore" + comment
    assert TYPE_IGNORE.search(line)
    assert bool(TYPE_IGNORE_WITH_REASON.search(line)) is allowed


def test_module_names_say_something() -> None:
    vague = [
        str(path.relative_to(ROOT))
        for path in find_python_files("src", "tests")
        if VAGUE_NAME.search(path.stem) or VAGUE_NAME.search(path.parent.name)
    ]
    assert vague == []


def test_no_file_tells_where_a_machine_keeps_its_things() -> None:
    tracked = find_tracked_files()
    assert find_lines(PRIVATE, tracked) == []
    assert [path.name for path in tracked if path.name in PRIVATE_FILES] == []


@pytest.mark.parametrize(
    "line",
    [
        "cd /wo" + "rk/main",
        "--extra-index" + "-url https://example.org/simple",
        "index" + '_url = "https://example.org"',
        "see https://pypi" + ".org/project/tenure",
    ],
)
def test_a_private_setting_would_be_found(line: str) -> None:
    assert PRIVATE.search(line)


def test_a_public_address_is_no_private_setting() -> None:
    assert not PRIVATE.search("https://example.org/framework/ and ./network/work/x")
