"""Lengths in UTF-16 units, shortening, and descriptions that never hurt."""

import pytest
from hypothesis import given, strategies as st

from tenure.model.text import describe, is_unicode, shorten, utf16_length


@pytest.mark.parametrize(
    ("text", "units"),
    [("", 0), ("abc", 3), ("é", 1), ("\uffff", 1), ("\U00010000", 2), ("a😀b", 4), ("\ud800", 1)],
)
def test_astral_characters_count_two_units(text: str, units: int) -> None:
    assert utf16_length(text) == units


@pytest.mark.parametrize("text", ["\ud800", "a\udfff", "😀\udc00", "\ude00\ud83d"])
def test_a_lone_surrogate_is_no_unicode(text: str) -> None:
    assert not is_unicode(text)


@pytest.mark.parametrize("text", ["", "abc", "\0", "é\u0301", "😀", "\uffff"])
def test_everything_else_is_unicode(text: str) -> None:
    assert is_unicode(text)


def test_what_fits_is_not_touched() -> None:
    assert shorten("a" * 512, 512) == "a" * 512
    assert shorten("😀" * 256, 512) == "😀" * 256
    assert shorten("", 0) == ""


def test_what_does_not_fit_ends_with_an_ellipsis() -> None:
    assert shorten("a" * 513, 512) == "a" * 511 + "…"


def test_no_surrogate_pair_is_split() -> None:
    assert shorten("😀" * 257, 512) == "😀" * 255 + "…"
    assert shorten("a" + "😀" * 256, 512) == "a" + "😀" * 255 + "…"


@given(st.text(max_size=40), st.integers(min_value=1, max_value=30))
def test_a_shortened_text_is_bounded_valid_and_a_prefix(text: str, units_max: int) -> None:
    short = shorten(text, units_max)
    assert utf16_length(short) <= units_max
    if utf16_length(text) <= units_max:
        assert short == text
    else:
        assert short.endswith("…")
        assert text.startswith(short[:-1])
        assert utf16_length(short) >= units_max - 1


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("abc", "'abc'"),
        ("a\nb", "'a\\nb'"),
        ("\ud800", "'\\ud800'"),
        (None, "None"),
        (True, "True"),
        (1.5, "1.5"),
        (12, "12"),
        (10**4000, "an integer of 13288 bits"),
        ({"password": "x"}, "a value of type dict"),
        (b"secret", "a value of type bytes"),
    ],
)
def test_scalars_are_shown_and_contents_are_not(value: object, shown: str) -> None:
    assert describe(value) == shown


def test_a_description_is_bounded_and_one_line() -> None:
    shown = describe("x\n" * 10_000)
    assert len(shown) < 200
    assert "\n" not in shown
    assert len(describe(type("T" * 1000, (), {})())) < 100


def test_a_description_never_calls_the_value() -> None:
    class Hostile:
        def __repr__(self) -> str:
            raise RuntimeError

    class HostileText(str):
        __slots__ = ()

        def __repr__(self) -> str:
            raise RuntimeError

    assert describe(Hostile()) == "a value of type Hostile"
    assert describe(HostileText("x")) == "a value of type HostileText"
