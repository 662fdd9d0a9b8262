"""Evidence: bounded, checked, and kept word for word."""

from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given, strategies as st

from tenure.errors import CorruptRecordError, InvalidInputError
from tenure.model.evidence import (
    BoundedRecoveryEvidence,
    check_evidence,
    decode_evidence,
    encode_evidence,
    evidence_from_json,
    make_evidence,
)
from tenure.model.text import utf16_length

AT = "2026-02-03T04:05:06Z"
PLAIN = BoundedRecoveryEvidence(source="s", summary="w", observed_at=AT)
BOUNDS = {"source": 128, "summary": 512, "code": 64}


def altered(**members: object) -> BoundedRecoveryEvidence:
    return msgspec.structs.replace(PLAIN, **members)


@pytest.mark.parametrize(("name", "units_max"), BOUNDS.items())
def test_texts_are_bounded_in_utf16_units(name: str, units_max: int) -> None:
    for good in ("x", "x" * units_max, "😀" * (units_max // 2), "\0", " \n", "é" * units_max):
        evidence = altered(**{name: good})
        assert check_evidence(evidence, field="evidence") is evidence
    for bad in ("", "x" * (units_max + 1), "😀" * (units_max // 2) + "x", "\ud800", 1, b"x", []):
        with pytest.raises(InvalidInputError) as caught:
            check_evidence(altered(**{name: bad}), field="evidence")
        assert caught.value.field == f"evidence.{name}"
        assert f"1 to {units_max} UTF-16 units" in caught.value.allowed


def test_only_the_code_may_be_absent() -> None:
    assert check_evidence(altered(code=None), field="e").code is None
    for name in ("source", "summary", "observed_at"):
        with pytest.raises(InvalidInputError):
            check_evidence(altered(**{name: None}), field="e")


@pytest.mark.parametrize(
    "at", [AT, "2026-02-03T04:05Z", "2026-02-03T04:05:06.123456789+02:00", "0001-01-01T00:00-00:00"]
)
def test_observed_at_is_kept_verbatim(at: str) -> None:
    evidence = altered(observed_at=at)
    check_evidence(evidence, field="e")
    assert decode_evidence(encode_evidence(evidence), record="r").observed_at == at


@pytest.mark.parametrize(
    "at",
    [
        "",
        "now",
        "2026-02-03",
        "2026-02-03T04:05",
        f" {AT}",
        "2026-02-30T00:00Z",
        datetime(2026, 1, 1, tzinfo=UTC),
        "2026-02-03T04:05:06." + "0" * 44 + "Z",
        "0001-01-01T00:00+00:01",
    ],
    ids=str,
)
def test_observed_at_is_text_of_the_grammar_and_bounded(at: object) -> None:
    with pytest.raises(InvalidInputError, match=r"e\.observed_at"):
        check_evidence(altered(observed_at=at), field="e")


def test_observed_at_may_have_64_units() -> None:
    at = "2026-02-03T04:05:06." + "0" * 43 + "Z"
    assert len(at) == 64
    check_evidence(altered(observed_at=at), field="e")


def test_another_type_is_no_evidence() -> None:
    for value in (None, {}, "x", {"source": "s", "summary": "w", "observedAt": AT}):
        with pytest.raises(InvalidInputError, match="BoundedRecoveryEvidence"):
            check_evidence(value, field="evidence")


def test_an_absent_code_has_no_member() -> None:
    assert encode_evidence(PLAIN) == f'{{"source":"s","summary":"w","observedAt":"{AT}"}}'
    assert '"code":"c"' in encode_evidence(altered(code="c"))


@given(
    st.builds(
        BoundedRecoveryEvidence,
        source=st.text(min_size=1, max_size=64),
        summary=st.text(min_size=1, max_size=256),
        observed_at=st.sampled_from([AT, "2026-02-03T04:05+02:00"]),
        code=st.none() | st.text(min_size=1, max_size=32),
    )
)
def test_evidence_comes_back_word_for_word(evidence: BoundedRecoveryEvidence) -> None:
    check_evidence(evidence, field="e")
    assert decode_evidence(encode_evidence(evidence), record="r") == evidence


@pytest.mark.parametrize(
    ("value", "field"),
    [
        (None, "e"),
        ([], "e"),
        ({}, "e"),
        ({"source": "s", "summary": "w"}, "e"),
        ({"source": "s", "summary": "w", "observed_at": AT}, "e"),
        ({"source": "s", "summary": "w", "observedAt": AT, "more": 1}, "e"),
        ({"source": "s", "summary": "w", "observedAt": AT, "code": None}, "e.code"),
        ({"source": "s", "summary": "w", "observedAt": AT, "code": ""}, "e.code"),
        ({"source": "", "summary": "w", "observedAt": AT}, "e.source"),
        ({"source": "s", "summary": 1, "observedAt": AT}, "e.summary"),
        ({"source": "s", "summary": "w", "observedAt": "now"}, "e.observedAt"),
    ],
)
def test_a_malformed_json_form_is_refused_by_name(value: object, field: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        evidence_from_json(value, field="e")
    assert caught.value.field == field


@pytest.mark.parametrize(
    "text",
    ["", "{", "null", "[]", "{}", '{"source":"s","summary":"","observedAt":"now"}', "[" * 999],
)
def test_stored_evidence_that_breaks_the_contract_is_corrupt(text: str) -> None:
    with pytest.raises(CorruptRecordError, match="operation of 'a'"):
        decode_evidence(text, record="operation of 'a'")


def test_a_builder_keeps_what_fits() -> None:
    evidence = make_evidence(source="s", summary="w" * 512, observed_at=AT, code="c")
    assert evidence == BoundedRecoveryEvidence(
        source="s", summary="w" * 512, observed_at=AT, code="c"
    )


def test_a_builder_shortens_an_over_long_summary() -> None:
    short = make_evidence(source="s", summary="w" * 9999, observed_at=AT).summary
    assert short == "w" * 511 + "…"
    assert utf16_length(short) == 512
    astral = make_evidence(source="s", summary="w" + "😀" * 9999, observed_at=AT).summary
    assert astral == "w" + "😀" * 255 + "…"
    assert utf16_length(astral) == 512
    whole = make_evidence(source="s", summary="😀" * 9999, observed_at=AT).summary
    assert whole == "😀" * 255 + "…"  # a half character is dropped, never kept


def test_a_builder_refuses_the_rest() -> None:
    for members in (
        {"source": "s" * 129},
        {"source": ""},
        {"code": "c" * 65},
        {"code": ""},
        {"summary": ""},
        {"summary": "\ud800" * 600},
        {"summary": 5},
        {"observed_at": "yesterday"},
        {"observed_at": datetime(2026, 1, 1)},  # noqa: DTZ001
        {"observed_at": 5},
    ):
        with pytest.raises(InvalidInputError):
            make_evidence(**{"source": "s", "summary": "w", "observed_at": AT, **members})


def test_a_builder_writes_a_datetime_canonically() -> None:
    at = datetime(2026, 2, 3, 4, 5, 6, 7999, tzinfo=UTC)
    assert make_evidence(source="s", summary="w", observed_at=at).observed_at == (
        "2026-02-03T04:05:06.007Z"
    )
