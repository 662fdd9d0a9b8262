"""Identifiers: 1-255 UTF-16 units of Unicode without U+0000, one rule for all."""

from enum import StrEnum

import pytest

from tenure.errors import CallerError, InvalidInputError
from tenure.model.identifier import check_identifier


class Name(StrEnum):
    A = "a"


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize(
    "value", ["a", " ", "x" * 255, "é" * 255, "😀" * 127, "😀" * 127 + "a", "a/b:c\n", "\x01"]
)
def test_an_identifier_comes_back_as_it_is(value: str) -> None:
    assert check_identifier(value, field="execution_id") is value


@pytest.mark.parametrize(
    "value",
    ["", "x" * 256, "é" * 256, "😀" * 128, "a\0b", "\0", "a\ud800", None, 1, b"a", ["a"]],
)
def test_anything_else_is_refused(value: object) -> None:
    with pytest.raises(InvalidInputError) as caught:
        check_identifier(value, field="execution_id")
    assert caught.value.field == "execution_id"
    assert "255 UTF-16 units" in str(caught.value)


@pytest.mark.parametrize("value", [Name.A, Text("b")])
def test_a_subclass_of_text_is_refused(value: str) -> None:
    with pytest.raises(InvalidInputError):
        check_identifier(value, field="owner_id")


def test_the_message_names_the_size() -> None:
    with pytest.raises(InvalidInputError, match=r"\(256 units\)"):
        check_identifier("😀" * 128, field="provider_id")


def test_a_refusal_is_a_value_error_and_the_callers() -> None:
    with pytest.raises(ValueError, match="invalid owner_id") as caught:
        check_identifier("", field="owner_id")
    assert isinstance(caught.value, CallerError)
