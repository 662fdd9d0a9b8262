"""Sameness: equal as JSON values, and nothing else."""

import json
from fractions import Fraction
from types import MappingProxyType

import pytest
from hypothesis import given, strategies as st
from tests.unit.model.values import JSON_VALUES

from tenure.model.json_value import JsonValue, decode_json, same_json

SAME = [
    (1, 1.0),
    (0, -0.0),
    (0.0, -0.0),
    (2**53, 2.0**53),
    (10**22, 1e22),
    (2**1000, float(2**1000)),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ({"a": {"x": [1], "y": None}}, {"a": {"y": None, "x": [1.0]}}),
    ([], []),
    ({}, {}),
    ("é", "\u00e9"),
    ("😀", "\U0001f600"),
    ((1, [2]), [1, (2,)]),
    (MappingProxyType({"a": 1}), {"a": 1}),
]
DIFFERENT = [
    (1, True),
    (0, False),
    (1.0, True),
    (1, "1"),
    (True, "true"),
    (None, False),
    (None, 0),
    (None, ""),
    (None, {}),
    ([], {}),
    ([], ""),
    ({}, ""),
    (1, [1]),
    ("ab", ["a", "b"]),
    ({"a": None}, {}),
    ({"a": 1}, {"a": 1, "b": None}),
    ({"a": 1}, {"A": 1}),
    ([1, 2], [2, 1]),
    ([1], [1, 1]),
    ([1, 1], [1]),
    (2**53, 2**53 + 1),
    (2**53 + 1, 2.0**53),
    (2**63, 2**63 + 1),
    (10**23, 1e23),
    (2**1000 + 1, float(2**1000)),
    (0.1 + 0.2, 0.3),
    ("é", "e\u0301"),
    ("a", "a\0"),
    ("ﬀ", "ff"),
    ("Å", "\u212b"),
    ("a", "A"),
    ([{"a": [1]}], [{"a": [True]}]),
]


@pytest.mark.parametrize(("left", "right"), SAME)
def test_these_are_the_same(left: JsonValue, right: JsonValue) -> None:
    assert same_json(left, right)
    assert same_json(right, left)
    assert same_json({"a": [left]}, {"a": [right]})


@pytest.mark.parametrize(("left", "right"), DIFFERENT)
def test_these_are_not(left: JsonValue, right: JsonValue) -> None:
    assert not same_json(left, right)
    assert not same_json(right, left)
    assert not same_json({"a": [0, left]}, {"a": [0, right]})


def canonical(value: JsonValue) -> object:
    """Map a value to a key that is equal for the same values only: slow, and plainly right."""
    if isinstance(value, bool) or value is None:
        return ("constant", repr(value))
    if isinstance(value, int | float):
        return ("number", Fraction(value))
    if isinstance(value, str):
        return ("string", [ord(char) for char in value])
    if isinstance(value, dict):
        return ("object", sorted((name, canonical(member)) for name, member in value.items()))
    return ("array", [canonical(member) for member in value])


def twisted(value: JsonValue) -> JsonValue:
    """Write the same value in another way."""
    if isinstance(value, dict):
        return {name: twisted(member) for name, member in reversed(value.items())}
    if isinstance(value, list):
        return [twisted(member) for member in value]
    if type(value) is int and abs(value) <= 2**53:
        return float(value)
    if type(value) is float and value.is_integer():
        return int(value)
    return value


@given(JSON_VALUES, JSON_VALUES)
def test_sameness_agrees_with_a_slow_oracle(left: JsonValue, right: JsonValue) -> None:
    assert same_json(left, right) == (canonical(left) == canonical(right))


@given(JSON_VALUES)
def test_a_value_is_the_same_in_any_writing(value: JsonValue) -> None:
    assert same_json(value, value)
    assert same_json(value, twisted(value))
    assert same_json(twisted(value), value)
    assert same_json(decode_json(json.dumps(value)), value)


_FEW = st.sampled_from([0, 1, 1.0, True, False, -0.0, None, "1", "", [], {}, [1], [True], {"a": 1}])


@given(_FEW, _FEW, _FEW)
def test_sameness_is_an_equivalence(a: JsonValue, b: JsonValue, c: JsonValue) -> None:
    assert same_json(a, a)
    assert same_json(a, b) == same_json(b, a)
    if same_json(a, b) and same_json(b, c):
        assert same_json(a, c)


def test_depth_cycles_and_shared_parts_end() -> None:
    def deep() -> list[JsonValue]:
        value: list[JsonValue] = []
        for _ in range(100_000):
            value = [value]
        return value

    def shared() -> list[JsonValue]:
        value: list[JsonValue] = [1]
        for _ in range(64):
            value = [value, value]
        return value

    def cyclic() -> list[JsonValue]:
        value: list[JsonValue] = []
        value.append(value)
        return value

    assert same_json(deep(), deep())
    assert same_json(shared(), shared())
    assert same_json(cyclic(), cyclic())
