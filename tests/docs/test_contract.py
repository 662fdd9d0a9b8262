"""The documents describe what the code offers: operations, answers, values, errors, layers."""

import inspect
import json
import re
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeGuard, get_args, get_type_hints

import msgspec
import pytest
from tests.tidy.source import ROOT, read_pyproject

from tenure import errors
from tenure.errors import InvalidInputError
from tenure.model import (
    allocation,
    attempt,
    decision,
    evidence,
    execution,
    journal,
    open_work,
    operation,
)
from tenure.model.decision import Decision
from tenure.model.instant import format_instant, parse_instant, to_datetime
from tenure.model.json_value import decode_json, same_json
from tenure.model.result import WorkflowRunResult, result_from_json
from tenure.ports import extension, repository
from tenure.wire.codec import from_json, to_json
from tenure.wire.form import tag_of

CONTRACT = (ROOT / "docs" / "contract.md").read_text(encoding="utf-8")
DOCUMENTS = [
    path
    for path in [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted(ROOT.glob("docs/**/*.md"))]
    if path.is_file()
]

HEADING = re.compile(r"^#+ (?P<title>.*)$", re.MULTILINE)
FENCE = re.compile(r"^```(?P<info>[a-z]+[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
PARAGRAPH = re.compile(r"^(?:\*\*|#+ )§(?P<number>\d+(?:\.\d+)*)\b", re.MULTILINE)
REFERENCE = re.compile(r"§(?P<number>\d+(?:\.\d+)*)")
LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
PLACEHOLDER = re.compile(r'"<(\w+)>"')

CODE = re.compile(r"`([^`]*)`")

RECORDS: Mapping[str, type[msgspec.Struct]] = {
    record.__name__: record
    for module in (allocation, attempt, evidence, execution, journal, open_work, operation)
    for record in vars(module).values()
    if isinstance(record, type) and issubclass(record, msgspec.Struct)
}


def to_camel_case(name: str) -> str:
    """Turn a Python name into the name of a JSON member."""
    head, *rest = name.split("_")
    return head + "".join(part.title() for part in rest)


def find_operations() -> dict[str, object]:
    """Map each public member of the port's and the extensions' protocols to its function."""
    return {
        name: member.fget if isinstance(member, property) else member
        for module in (repository, extension)
        for protocol in vars(module).values()
        if getattr(protocol, "_is_protocol", False) and protocol.__module__ == module.__name__
        for name, member in vars(protocol).items()
        if not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, property))
    }


def is_decision(found: object) -> TypeGuard[type[Decision]]:
    """Tell whether this is one of the decision types."""
    return isinstance(found, type) and issubclass(found, Decision) and found is not Decision


def find_answers(function: object) -> set[type[Decision]]:
    """Collect the decision types that an operation may return; empty for reads."""
    returned = get_type_hints(function)["return"]
    members = get_args(returned) if isinstance(returned, types.UnionType) else (returned,)
    return {member for member in members if is_decision(member)}


def describe_answer(answer: type[Decision]) -> tuple[str, frozenset[str]]:
    """Name a decision by its kind and its JSON members."""
    return answer.kind, frozenset(map(to_camel_case, answer.__struct_fields__))


def find_decision_types() -> list[type[Decision]]:
    """List the leaves of the decision module."""
    return [found for found in vars(decision).values() if is_decision(found)]


def find_error_codes() -> list[str]:
    """List the codes of all error classes."""
    found = vars(errors).values()
    return [e.code for e in found if isinstance(e, type) and issubclass(e, errors.TenureError)]


def find_sections() -> dict[str, str]:
    """Map each name that stands as code in a heading to the text below that heading."""
    headings = list(HEADING.finditer(FENCE.sub(lambda m: m[0].replace("\n#", "\n "), CONTRACT)))
    ends = [heading.start() for heading in headings[1:]] + [len(CONTRACT)]
    return {
        name: CONTRACT[heading.end() : end]
        for heading, end in zip(headings, ends, strict=True)
        for name in re.findall(r"`(\w+)`", heading["title"])
    }


def read_json_lines(body: str) -> Iterator[object]:
    """Yield each value of a block; a line that is an array stands for several."""
    for line in body.splitlines():
        value = json.loads(line)
        yield from value if isinstance(value, list) else [value]


def find_blocks(text: str, language: str) -> list[tuple[str, str]]:
    """List the fenced blocks of one language as (rest of the info string, body)."""
    blocks = [(match["info"].split(maxsplit=1), match["body"]) for match in FENCE.finditer(text)]
    return [("".join(info[1:]), body) for info, body in blocks if info[0] == language]


def read_table(title: str) -> list[list[str]]:
    """List the rows of the table whose first column has this title, each as its cells."""
    table = re.search(rf"^\| {title} \|.*\n\|[- |]+\n((?:\|.*\n)+)", CONTRACT, re.MULTILINE)
    assert table is not None
    return [[cell.strip() for cell in row.split("|")[1:-1]] for row in table[1].splitlines()]


def code(cell: str) -> str:
    """Return the first piece of code of a table's cell."""
    return CODE.findall(cell)[0]


def read_results() -> list[object]:
    """List the example results, which stand in the first block of answers."""
    return list(read_json_lines(find_blocks(CONTRACT, "jsonl")[0][1]))


OPERATIONS = find_operations()
SECTIONS = find_sections()


def test_the_protocols_were_found() -> None:
    expected = {"create_attempt", "recovery", "evolve_allocation_ref", "list_open", "mark_of"}
    assert expected <= set(OPERATIONS)


@pytest.mark.parametrize("name", OPERATIONS)
def test_operation_has_a_section(name: str) -> None:
    assert name in SECTIONS


@pytest.mark.parametrize("name", [name for name in OPERATIONS if find_answers(OPERATIONS[name])])
def test_section_shows_exactly_the_answers_that_the_operation_gives(name: str) -> None:
    blocks = find_blocks(SECTIONS[name], "jsonl")
    assert len(blocks) == 1
    shown = [dict(answer) for answer in read_json_lines(blocks[0][1]) if isinstance(answer, dict)]
    described = [(str(answer.pop("kind")), frozenset(answer)) for answer in shown]
    assert sorted(described, key=str) == sorted(
        map(describe_answer, find_answers(OPERATIONS[name])), key=str
    )


@pytest.mark.parametrize("answer", find_decision_types(), ids=lambda answer: answer.__name__)
def test_decision_kind_appears(answer: type[Decision]) -> None:
    assert f'{{"kind": "{answer.kind}"' in CONTRACT
    assert f"`{answer.kind}`" in CONTRACT


@pytest.mark.parametrize("code", find_error_codes())
def test_error_code_has_a_section(code: str) -> None:
    text = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    assert code in HEADING.findall(text)


def test_every_section_of_an_error_names_a_code() -> None:
    text = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    titles = [title for title in HEADING.findall(text) if re.fullmatch(r"[a-z]+(-[a-z]+)*", title)]
    assert sorted(titles) == sorted(find_error_codes())


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_json_examples_parse(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    for _, body in [*find_blocks(text, "json"), *find_blocks(text, "jsonl")]:
        assert all(isinstance(value, dict) for value in read_json_lines(body))


def test_every_variant_of_a_result_is_shown_and_valid() -> None:
    shown = [result_from_json(value, field="result") for value in read_results()]
    assert {type(result) for result in shown} == set(get_args(WorkflowRunResult))


def test_accepted_instants_are_accepted_and_mean_what_is_said() -> None:
    rows = read_table("accepted")
    assert rows
    for text, meaning in rows:
        assert format_instant(to_datetime(parse_instant(code(text), field="x"))) == code(meaning)


def test_refused_instants_are_refused() -> None:
    texts = [text for spans, _ in read_table("refused") for text in CODE.findall(spans)]
    assert texts
    for text in texts:
        with pytest.raises(InvalidInputError):
            parse_instant(text, field="x")


@pytest.mark.parametrize(("column", "expected"), [(0, True), (1, False)])
def test_sameness_is_as_the_table_says(column: int, *, expected: bool) -> None:
    pairs = [CODE.findall(row[column]) for row in read_table("the same")]
    assert pairs
    for left, right in pairs:
        assert same_json(decode_json(left), decode_json(right)) is expected


@pytest.mark.parametrize(
    ("name", "body"), [block for block in find_blocks(CONTRACT, "json") if block[0]]
)
def test_example_of_a_record_has_exactly_its_members(name: str, body: str) -> None:
    tag = tag_of(RECORDS[name])
    fields = {*map(to_camel_case, RECORDS[name].__struct_fields__), *(tag or ())[:1]}
    assert set(json.loads(body)) - {"code"} == fields - {"code"}


@pytest.mark.parametrize(
    ("name", "body"), [block for block in find_blocks(CONTRACT, "json") if block[0]]
)
def test_example_of_a_record_is_read_and_written_as_shown(name: str, body: str) -> None:
    assert to_json(from_json(RECORDS[name], json.loads(body))) == json.loads(body)


@pytest.mark.parametrize("name", [name for name in OPERATIONS if find_answers(OPERATIONS[name])])
def test_answer_without_placeholder_is_read_and_written_as_shown(name: str) -> None:
    kinds = {answer.kind: answer for answer in find_answers(OPERATIONS[name])}
    for answer in read_json_lines(find_blocks(SECTIONS[name], "jsonl")[0][1]):
        assert isinstance(answer, dict)
        if not PLACEHOLDER.search(json.dumps(answer)):
            assert to_json(from_json(kinds[answer["kind"]], answer)) == answer


def test_placeholders_name_records_that_are_shown() -> None:
    shown = {name for name, _ in find_blocks(CONTRACT, "json")}
    assert set(PLACEHOLDER.findall(CONTRACT)) <= shown


def test_paragraphs_are_numbered_upwards_and_only_once() -> None:
    numbers = [tuple(map(int, n.split("."))) for n in PARAGRAPH.findall(CONTRACT)]
    assert numbers == sorted(set(numbers))


def test_every_reference_meets_a_paragraph() -> None:
    known = set(PARAGRAPH.findall(CONTRACT))
    assert {number for number in REFERENCE.findall(CONTRACT) if number not in known} == set()


def to_anchor(title: str) -> str:
    """Turn a heading into the anchor that renderers give it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_relative_links_resolve(document: Path) -> None:
    broken = []
    for target in LINK.findall(document.read_text(encoding="utf-8")):
        path, _, anchor = target.partition("#")
        if "://" in target or path.startswith("mailto:"):
            continue
        file = document.parent / path if path else document
        titles = HEADING.findall(file.read_text(encoding="utf-8")) if file.suffix == ".md" else []
        if not file.exists() or (anchor and anchor not in map(to_anchor, titles)):
            broken.append(target)
    assert broken == []


def read_drawn_layers() -> list[set[str]]:
    """List the layers that the architecture's page draws, the highest first."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    drawing = text.split("## Layers")[1].split("```")[1]
    return [set(re.findall(r"\w+", layer)) for layer in drawing.split(">")]


def test_drawn_layers_are_those_that_the_linter_holds() -> None:
    contracts = read_pyproject()["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["id"] == "layers")
    drawn = read_drawn_layers()
    names = set().union(*drawn)
    held = [set(re.findall(r"\w+", layer)) & names for layer in layers]
    assert [layer for layer in held if layer] == drawn


def test_every_package_is_drawn() -> None:
    source = ROOT / "src" / "tenure"
    packages = {path.parent.relative_to(source).parts[0] for path in source.glob("*/**/*.py")}
    assert packages <= set().union(*read_drawn_layers())
