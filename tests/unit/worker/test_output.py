"""The tail is small and valid, and holds the end, whatever was printed."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from tenure.worker.output import TAIL_BYTES_MAX, TAIL_LINES_MAX, read_tail

LINE = st.characters(codec="utf-8", exclude_characters="\r\n")


def tail_of(data: bytes) -> list[str]:
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        return read_tail(Path(file.name))


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", []),
        (b"\n", []),
        (b"a", ["a"]),
        (b"a\n", ["a"]),
        (b"a\n\n", ["a", ""]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"\xff\xfe\n", ["\ufffd\ufffd"]),
        (b"a\0b", ["a\0b"]),
        (b"1\n" * 100, ["1"] * 20),
        (b"x" * 10_000, ["x" * 4096]),
        ("ä".encode() * 10_000, ["ä" * 2048]),
        (("x" + "ä" * 10_000).encode(), ["ä" * 2048]),
        (b"\xff" * 10_000, ["\ufffd" * 1365]),
    ],
)
def test_the_tail_is(data: bytes, lines: list[str]) -> None:
    assert tail_of(data) == lines


@given(st.lists(st.binary(min_size=1, max_size=700), max_size=30))
def test_the_tail_is_bounded_and_valid(pieces: list[bytes]) -> None:
    lines = tail_of(b"".join(pieces * 3))
    assert len(lines) <= TAIL_LINES_MAX
    assert len("\n".join(lines).encode()) <= TAIL_BYTES_MAX


@given(st.lists(st.text(LINE, max_size=40), max_size=20))
def test_short_output_is_kept_whole(lines: list[str]) -> None:
    if any(lines):
        assert tail_of("".join(f"{line}\n" for line in lines).encode()) == lines


def test_a_missing_file_has_no_tail(tmp_path: Path) -> None:
    assert read_tail(tmp_path / "none") == []
    assert read_tail(tmp_path) == []
