"""JSON safety: what is refused before anything is encoded, and text that comes back exactly."""

import json
import time
from collections import OrderedDict, UserDict
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from types import MappingProxyType

import pytest
from hypothesis import given
from tests.unit.model.values import JSON_VALUES, nested, nested_list

from tenure.errors import InvalidInputError
from tenure.model.json_value import (
    ENVELOPE_DEPTH_MAX,
    JSON_DEPTH_MAX,
    JsonValue,
    check_member_names,
    decode_json,
    decode_written,
    encode_json,
)

SIZE = 64 * 1024


def encode(value: object, bytes_max: int = SIZE) -> str:
    return encode_json(value, field="data", bytes_max=bytes_max)


class Color(Enum):
    RED = 1


class Number(IntEnum):
    ONE = 1


class Name(StrEnum):
    A = "a"


class Text(str):
    __slots__ = ()


class Integer(int):
    pass


class Real(float):
    pass


class Table(dict[str, object]):
    pass


class Row(list[object]):
    pass


UNSAFE = [
    float("nan"),
    float("inf"),
    float("-inf"),
    datetime(2026, 1, 1, tzinfo=UTC),
    date(2026, 1, 1),
    b"bytes",
    bytearray(b"bytes"),
    {1, 2},
    frozenset(),
    (1, 2),
    (),
    Decimal(1),
    1j,
    object(),
    Color.RED,
    Number.ONE,
    Name.A,
    Text("a"),
    Integer(1),
    Real(1.0),
    Table(),
    Row(),
    OrderedDict(),
    UserDict(),
    MappingProxyType({}),
    range(3),
    {}.keys(),
    int,
    "\ud800",
    "ok\udfff",
]
UNSAFE_NAMES = [1, 1.5, True, None, (), b"a", Name.A, Text("a"), "\ud800"]


@pytest.mark.parametrize("place", range(len(UNSAFE)))
def test_what_is_not_json_is_refused_at_any_place(place: int) -> None:
    value = UNSAFE[place]
    for whole in (value, [value], {"a": value}, {"a": [{"b": [0, value]}]}):
        with pytest.raises(InvalidInputError) as caught:
            encode(whole)
        assert caught.value.field == "data"


@pytest.mark.parametrize("place", range(len(UNSAFE_NAMES)))
def test_a_member_name_is_plain_text(place: int) -> None:
    name = UNSAFE_NAMES[place]
    for whole in ({name: 1}, {"a": {name: None}}, [{"z": 1, name: 2}]):
        with pytest.raises(InvalidInputError):
            encode(whole)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (1, "1"),
        (1.0, "1.0"),
        (-0.0, "-0.0"),
        (2**53 + 1, "9007199254740993"),
        (2**70, "1180591620717411303424"),
        (-(2**70), "-1180591620717411303424"),
        (5e-324, "5e-324"),
        ("é😀", '"é😀"'),
        ("a\0b", '"a\\u0000b"'),
        ('"\\\n', '"\\"\\\\\\n"'),
        ({"b": 1, "a": [2, {}]}, '{"b":1,"a":[2,{}]}'),
        ({"": {"\0": []}}, '{"":{"\\u0000":[]}}'),
    ],
)
def test_json_is_encoded_compactly_and_in_order(value: object, text: str) -> None:
    assert encode(value) == text
    assert decode_json(text) == value


@given(JSON_VALUES)
def test_what_was_encoded_comes_back_exactly(value: JsonValue) -> None:
    text = encode(value, bytes_max=1 << 20)
    back = decode_json(text)
    assert repr(back) == repr(value)  # repr tells 1 from 1.0 and from True, and -0.0 from 0.0
    assert repr(json.loads(text)) == repr(value)


def test_depth_64_is_the_last_that_is_accepted() -> None:
    for make in (nested, nested_list):
        assert decode_json(encode(make(JSON_DEPTH_MAX))) == make(JSON_DEPTH_MAX)
        with pytest.raises(InvalidInputError, match=r"65 levels.*at most 64"):
            encode(make(JSON_DEPTH_MAX + 1))


def test_a_scalar_at_the_deepest_level_is_accepted() -> None:
    deepest = nested_list(JSON_DEPTH_MAX)
    inner = deepest
    while inner:
        assert isinstance(inner[0], list)
        inner = inner[0]
    inner.append("x")
    encode(deepest)
    inner[0] = []
    with pytest.raises(InvalidInputError):
        encode(deepest)


def test_great_depth_is_an_answer_and_no_recursion_error() -> None:
    with pytest.raises(InvalidInputError, match="levels"):
        encode(nested_list(100_000))
    with pytest.raises(InvalidInputError, match="levels"):
        encode(nested(100_000))


def test_a_cycle_is_refused() -> None:
    array: list[object] = []
    array.append(array)
    table: dict[str, object] = {}
    table["a"] = [table, table]
    for value in (array, table):
        with pytest.raises(InvalidInputError):
            encode(value)


def test_shared_parts_cannot_blow_up() -> None:
    value: list[object] = [0]
    for _ in range(JSON_DEPTH_MAX - 1):
        value = [value, value]  # 2**63 leaves
    wide: list[object] = [0] * 60_000
    for _ in range(20):
        wide = [wide] * 60_000  # each level 60,000 times the one before
    began = time.perf_counter()
    for bomb in (value, wide):
        with pytest.raises(InvalidInputError, match="bytes"):
            encode(bomb)
    assert time.perf_counter() - began < 5


def test_shared_large_scalars_cannot_blow_up() -> None:
    number = 10**3999
    text = "é" * 1000
    for part in (number, text, {text: 0}):
        with pytest.raises(InvalidInputError, match="bytes"):
            encode([part] * 1000)


def test_a_shared_part_is_no_cycle() -> None:
    part = {"a": 1}
    assert encode([part, part]) == '[{"a":1},{"a":1}]'


@pytest.mark.parametrize("sign", ["", "-"])
def test_4000_digits_are_the_most(sign: str) -> None:
    most = sign + "9" * 4000
    assert encode(int(most)) == most
    assert decode_json(most) == int(most)
    more = sign + "1" + "0" * 4000
    with pytest.raises(ValueError, match="4000 digits"):
        decode_json(more)
    with pytest.raises(InvalidInputError, match="4000 digits"):
        encode(int(more))
    with pytest.raises(InvalidInputError, match="4000 digits"):
        encode(10**100_000)


def test_the_limit_of_size_is_exact_and_counts_bytes() -> None:
    for text in ("a" * 98, "é" * 49, "\0" * 16 + "ab"):
        assert len(encode(text, bytes_max=100).encode()) == 100
        with pytest.raises(InvalidInputError, match=r"100 bytes of JSON or more.*at most 99 bytes"):
            encode(text, bytes_max=99)
    assert encode([1, 2, 3], bytes_max=7) == "[1,2,3]"
    with pytest.raises(InvalidInputError, match="at most 6 bytes"):
        encode([1, 2, 3], bytes_max=6)
    assert encode({"a": 1}, bytes_max=7) == '{"a":1}'
    assert encode(1, bytes_max=1) == "1"


@given(JSON_VALUES)
def test_the_walk_never_refuses_what_would_fit(value: JsonValue) -> None:
    text = encode(value, bytes_max=1 << 20)
    size = len(text.encode())
    assert encode(value, bytes_max=size) == text
    with pytest.raises(InvalidInputError):
        encode(value, bytes_max=size - 1)


def test_what_is_not_json_text_is_refused() -> None:
    for text in ("", " ", "{", "[1,]", "{'a':1}", "nul", "01", "1.", ".5", "+1", "\ufeff1", "1 2",
                 '"\n"', '"\\x"', "[1}", "//", "NaN", "Infinity", "-Infinity", "[NaN]", "1e999",
                 "-1e999"):  # fmt: skip
        with pytest.raises(ValueError, match=r"."):
            decode_json(text)


def test_a_member_that_comes_twice_is_refused() -> None:
    for text in ('{"a":1,"a":1}', '[{"x":{"b":1,"c":2,"b":3}}]', '{"a":1,"\\u0061":2}'):
        with pytest.raises(ValueError, match="twice"):
            decode_json(text)


def test_a_lone_surrogate_in_text_is_refused() -> None:
    for text in ('"\\ud800"', '["\\uDFFF"]', '{"\\ud83d":1}', '"\ud800"', '"\\ud83dx\\ude00"'):
        with pytest.raises(ValueError, match="surrogate"):
            decode_json(text)


def test_a_surrogate_pair_in_text_is_a_character() -> None:
    assert decode_json('"\\ud83d\\ude00"') == "😀"
    assert decode_json('"\\\\ud800"') == "\\ud800"


def test_decoding_is_bounded_in_depth_and_never_recurses() -> None:
    depth_max = JSON_DEPTH_MAX + ENVELOPE_DEPTH_MAX
    decode_json("[" * depth_max + "]" * depth_max)
    for text in (
        "[" * (depth_max + 1) + "]" * (depth_max + 1),
        "[" * 1_000_000,
        '{"a":' * 1_000_000,
        '[{"a":' * 100_000 + '"]]}}',
        '"]]]]"' + "[" * 1_000_000,
        '"\\' + "[" * 1_000_000,
    ):
        with pytest.raises(ValueError, match=r"."):
            decode_json(text)


def test_brackets_in_strings_are_no_nesting() -> None:
    value = {"a": "[" * 1000 + '"\\{' * 1000, "[{" * 100: ["}" * 100]}
    assert decode_json(json.dumps(value)) == value
    many = [[], {}] * 1000
    assert decode_json(json.dumps(many)) == many


STRANGE = [
    "",
    "-0",
    "1E5",
    "1e400",
    "NaN",
    " 1",
    '{"a":1,"a":1}',
    '{"b":1,"a":{"c":1,"c":2}}',
    '"\\ud800"',
    '"\ud800"',
    '"\\u0041"',
    "[" * 65 + "]" * 65,
    "[" * 73 + "]" * 73,
    "[" * 100_000,
    "9" * 4000,
    "9" * 4001,
    "[" + "9" * 4001 + "]",
    "18446744073709551616",
    '{"a":1}{"b":2}',
]


def judged(decode: Callable[[str], JsonValue], text: str) -> str:
    try:
        return repr(decode(text))
    except ValueError as exc:
        return f"refused: {exc}"


@pytest.mark.parametrize("place", range(len(STRANGE)))
def test_the_fast_way_is_as_strict_as_the_strict_one(place: int) -> None:
    assert judged(decode_written, STRANGE[place]) == judged(decode_json, STRANGE[place])


@given(JSON_VALUES)
def test_the_fast_way_reads_what_was_written(value: JsonValue) -> None:
    for text in (encode(value, bytes_max=1 << 20), json.dumps(value), json.dumps(value, indent=1)):
        assert repr(decode_written(text)) == repr(value)


def test_hostile_text_is_judged_in_linear_time() -> None:
    began = time.perf_counter()
    for text in ('"' + '\\"' * 500_000 + "[" * 100, '"' * 1_000_001 + "[" * 100, "\\" * 1_000_000):
        with pytest.raises(ValueError, match=r"."):
            decode_json(text)
    assert time.perf_counter() - began < 5


def test_member_names_say_what_is_missing_and_what_is_unknown() -> None:
    required, optional = frozenset({"a", "b"}), frozenset({"c"})

    def check(value: object) -> dict[str, JsonValue]:
        return check_member_names(value, required=required, optional=optional, field="body")

    assert check({"a": 1, "b": None}) == {"a": 1, "b": None}
    assert check({"a": 1, "b": 2, "c": 3}) == {"a": 1, "b": 2, "c": 3}
    with pytest.raises(InvalidInputError, match="lacking b and with unknown x"):
        check({"a": 1, "x": 2})
    with pytest.raises(InvalidInputError, match="a JSON object"):
        check([("a", 1)])
    with pytest.raises(InvalidInputError) as caught:
        check({"x\ny" * 1000: 1, **{str(number): 1 for number in range(10_000)}})
    assert len(str(caught.value)) < 1000
    assert "\n" not in str(caught.value)
