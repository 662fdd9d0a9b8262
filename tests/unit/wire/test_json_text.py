"""JSON text at the edge: hostile input is the caller's mistake and never a crash."""

import pytest
from tests.unit.model.values import nested
from tests.unit.wire import samples

from tenure.errors import InvalidInputError
from tenure.model.allocation import ProviderAllocationRef
from tenure.model.decision import AllocatedReference
from tenure.model.json_value import JSON_DEPTH_MAX
from tenure.wire.codec import from_json
from tenure.wire.json_text import PARSED_BYTES_MAX, dump_json, parse_json_text

HOSTILE = {
    "empty": "",
    "no JSON": "hello",
    "cut off": '{"a":',
    "twice": '{"a":1,"a":2}',
    "twice by escape": '{"a":1,"\\u0061":2}',
    "NaN": "[NaN]",
    "Infinity": '{"a":-Infinity}',
    "beyond a double": "1e400",
    "digits": "1" * 4001,
    "a lone surrogate": '"\\ud800"',
    "deep arrays": "[" * 1_000_000,
    "deep objects": '{"a":' * 500_000,
    "deep and closed": "[" * 1000 + "]" * 1000,
    "a byte order mark": "\ufeff{}",
    "two values": "{} {}",
    "a raw newline": '"\n"',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_refused(name: str) -> None:
    text = HOSTILE[name]
    for given in (text, text.encode()):
        with pytest.raises(InvalidInputError) as caught:
            parse_json_text(given, field="body")
        assert caught.value.field == "body"
        assert len(str(caught.value)) < 1000


def test_text_is_utf8() -> None:
    assert parse_json_text('{"é":"😀"}'.encode(), field="body") == {"é": "😀"}
    for data in (b'"\xff"', '"é"'.encode("latin-1"), "{}".encode("utf-16"), b'"\xed\xa0\x80"'):
        with pytest.raises(InvalidInputError, match="UTF-8"):
            parse_json_text(data, field="body")
    with pytest.raises(InvalidInputError):
        parse_json_text('"\ud800"', field="body")


def test_size_is_bounded_in_bytes() -> None:
    assert parse_json_text('"é"', field="body", bytes_max=4) == "é"
    for text in ('"é"', '"é"'.encode()):
        with pytest.raises(InvalidInputError, match=r"4 bytes of JSON or more.*at most 3 bytes"):
            parse_json_text(text, field="body", bytes_max=3)
    with pytest.raises(InvalidInputError, match=f"at most {PARSED_BYTES_MAX} bytes"):
        parse_json_text(" " * (PARSED_BYTES_MAX + 1), field="body")


def test_the_deepest_reference_crosses_in_its_envelope() -> None:
    ref = ProviderAllocationRef(provider_id="p", provider_data=nested(JSON_DEPTH_MAX))
    text = dump_json([AllocatedReference(allocation_ref=ref)])
    back = parse_json_text(text, field="body")
    assert from_json(tuple[AllocatedReference, ...], back)[0].allocation_ref == ref


def test_what_is_not_json_safe_is_not_written() -> None:
    for data in ({"a": float("nan")}, {"a": b"x"}, {1: 2}, {"a": (1,)}, nested(1000)):
        with pytest.raises(InvalidInputError):
            dump_json(ProviderAllocationRef(provider_id="p", provider_data=data))
    with pytest.raises(InvalidInputError, match="at most 10 bytes"):
        dump_json(samples.ATTEMPT, bytes_max=10)


def test_plain_values_are_written_too() -> None:
    assert dump_json(None) == "null"
    assert dump_json({"a": [1, "é"]}) == '{"a":[1,"é"]}'
    assert dump_json([samples.AT]) == f'["{samples.AT_TEXT}"]'
