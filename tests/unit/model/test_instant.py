"""The grammar of instants: what is accepted, what it means, what is refused."""

from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, strategies as st

from tenure.errors import InvalidInputError
from tenure.model.instant import (
    EPOCH,
    InstantMs,
    format_instant,
    parse_instant,
    to_datetime,
    to_optional_datetime,
)

ACCEPTED = {
    "1970-01-01T00:00Z": "1970-01-01T00:00:00.000Z",
    "1970-01-01T00:00:00Z": "1970-01-01T00:00:00.000Z",
    "2026-02-03T04:05:06Z": "2026-02-03T04:05:06.000Z",
    "2026-02-03T04:05:06.7Z": "2026-02-03T04:05:06.700Z",
    "2026-02-03T04:05:06.78Z": "2026-02-03T04:05:06.780Z",
    "2026-02-03T04:05:06.789Z": "2026-02-03T04:05:06.789Z",
    "2026-02-03T04:05:06.7899Z": "2026-02-03T04:05:06.789Z",
    "2026-02-03T04:05:06.999999999999999999999Z": "2026-02-03T04:05:06.999Z",
    "2026-02-03T04:05:06.0009Z": "2026-02-03T04:05:06.000Z",
    "1969-12-31T23:59:59.9999Z": "1969-12-31T23:59:59.999Z",
    "1969-12-31T23:59:59.0001Z": "1969-12-31T23:59:59.000Z",
    "2026-02-03T04:05+00:00": "2026-02-03T04:05:00.000Z",
    "2026-02-03T04:05-00:00": "2026-02-03T04:05:00.000Z",
    "2026-02-03T04:05:06+02:00": "2026-02-03T02:05:06.000Z",
    "2026-02-03T04:05:06-02:30": "2026-02-03T06:35:06.000Z",
    "2026-02-03T04:05:06.5+23:59": "2026-02-02T04:06:06.500Z",
    "2026-02-03T04:05:06.5-23:59": "2026-02-04T04:04:06.500Z",
    "2024-02-29T00:00Z": "2024-02-29T00:00:00.000Z",
    "2000-02-29T00:00Z": "2000-02-29T00:00:00.000Z",
    "0001-01-01T00:00Z": "0001-01-01T00:00:00.000Z",
    "0001-01-01T23:59:00+23:59": "0001-01-01T00:00:00.000Z",
    "9999-12-31T23:59:59.9999Z": "9999-12-31T23:59:59.999Z",
    "9999-12-31T00:00:59.999-23:59": "9999-12-31T23:59:59.999Z",
}

REFUSED = [
    "",
    "now",
    "2026-02-03",  # date only
    "2026-02-03T04",
    "2026-02-03T04Z",
    "2026-02-03T04:05",  # no zone
    "2026-02-03T04:05:06",
    "2026-02-03T04:05:06.789",
    "2026-02-03t04:05:06Z",  # lower case
    "2026-02-03T04:05:06z",
    "2026-02-03 04:05:06Z",  # a space for T
    "2026-02-03T04:05:06+0200",
    "2026-02-03T04:05:06+02",
    "2026-02-03T04:05:06+2:00",
    "2026-02-03T04:05:06+24:00",
    "2026-02-03T04:05:06-24:00",
    "2026-02-03T04:05:06+23:60",
    "2026-02-03T04:05:06\u221202:00",  # a typographic minus
    "2026-02-03T04:05:06 +02:00",
    "2026-02-03T04:05:06+02:00:00",
    "2026-02-03T04:05:06Z+02:00",
    "2026-02-30T00:00Z",
    "2026-02-29T00:00Z",
    "1900-02-29T00:00Z",
    "2026-04-31T00:00Z",
    "2026-00-01T00:00Z",
    "2026-13-01T00:00Z",
    "2026-01-00T00:00Z",
    "2026-01-32T00:00Z",
    "2026-01-01T24:00:00Z",
    "2026-01-01T24:00Z",
    "2026-01-01T23:60Z",
    "2026-01-01T23:59:60Z",
    "2026-01-01T23:59:60.5+00:00",
    " 2026-02-03T04:05:06Z",  # blanks
    "2026-02-03T04:05:06Z ",
    "2026-02-03T04:05:06Z\n",
    "\t2026-02-03T04:05:06Z",
    "2026-02-03T04:05:06Z\0",
    "2026-02-03T04:05:06.Z",
    "2026-02-03T04:05:06,789Z",
    "2026-02-03T04:05.5Z",
    "26-02-03T04:05:06Z",
    "02026-02-03T04:05:06Z",
    "+002026-02-03T04:05:06Z",
    "-2026-02-03T04:05:06Z",
    "2026-2-3T4:5:6Z",
    "20260203T040506Z",
    "2026-W06-2T04:05:06Z",
    "2026-034T04:05:06Z",
    "２０２６-02-03T04:05:06Z",  # noqa: RUF001 - digits, but not ASCII
    "2026-02-03T04:05:0٦Z",
    "0000-01-01T00:00Z",
    "0000-12-31T23:59-23:59",
    "0001-01-01T00:00+00:01",
    "0001-01-01T00:00:59.999+00:01",
    "9999-12-31T23:59-00:01",
    "10000-01-01T00:00Z",
    "1e3",
    "0",
]


@pytest.mark.parametrize(("text", "canonical"), ACCEPTED.items())
def test_an_accepted_text_means_this_instant(text: str, canonical: str) -> None:
    instant = parse_instant(text, field="x")
    assert format_instant(to_datetime(instant)) == canonical
    assert parse_instant(canonical, field="x") == instant


@pytest.mark.parametrize("text", REFUSED)
def test_a_refused_text_is_the_callers_mistake(text: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse_instant(text, field="lease_expires_at")
    assert caught.value.field == "lease_expires_at"
    assert "YYYY-MM-DDTHH:mm" in caught.value.allowed


@pytest.mark.parametrize(
    "value", [None, 0, 1.5, True, b"2026-02-03T04:05:06Z", date(2026, 2, 3), time(1), [], {}]
)
def test_another_type_is_refused(value: object) -> None:
    with pytest.raises(InvalidInputError):
        parse_instant(value, field="x")


def test_a_subclass_of_text_is_refused() -> None:
    class Text(str):
        __slots__ = ()

    with pytest.raises(InvalidInputError):
        parse_instant(Text("2026-02-03T04:05:06Z"), field="x")


def test_a_naive_datetime_is_refused_everywhere() -> None:
    class Zoneless(tzinfo):
        def utcoffset(self, _: datetime | None) -> None:
            return None

    for naive in (datetime(2026, 2, 3), datetime(2026, 2, 3, tzinfo=Zoneless())):  # noqa: DTZ001
        with pytest.raises(InvalidInputError, match="naive"):
            parse_instant(naive, field="x")
        with pytest.raises(InvalidInputError, match="naive"):
            format_instant(naive)


@pytest.mark.parametrize(
    ("value", "canonical"),
    [
        (datetime(2026, 2, 3, 4, 5, 6, 789999, tzinfo=UTC), "2026-02-03T04:05:06.789Z"),
        (datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC), "1969-12-31T23:59:59.999Z"),
        (datetime(1960, 1, 1, 0, 0, 0, 1, tzinfo=UTC), "1960-01-01T00:00:00.000Z"),
        (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00.000Z"),
        (datetime(99, 1, 1, tzinfo=UTC), "0099-01-01T00:00:00.000Z"),
        (datetime.max.replace(tzinfo=UTC), "9999-12-31T23:59:59.999Z"),
        (
            datetime(2026, 7, 1, 12, tzinfo=timezone(timedelta(hours=5, minutes=45))),
            "2026-07-01T06:15:00.000Z",
        ),
        (datetime(2026, 10, 25, 2, 30, fold=0, tzinfo=ZoneInfo("Europe/Berlin")), None),
        (datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Berlin")), None),
    ],
)
def test_an_aware_datetime_is_cut_to_milliseconds(value: datetime, canonical: str | None) -> None:
    if canonical is None:  # the hour that comes twice: fold says which one is meant
        canonical = f"2026-10-25T0{value.fold}:30:00.000Z"
    instant = parse_instant(value, field="x")
    assert format_instant(to_datetime(instant)) == canonical
    assert format_instant(value) == canonical


@pytest.mark.parametrize(
    "value",
    [
        datetime(1, 1, 1, tzinfo=timezone(timedelta(minutes=1))),
        datetime.max.replace(tzinfo=timezone(timedelta(minutes=-1))),
    ],
)
def test_a_datetime_outside_the_years_is_refused(value: datetime) -> None:
    with pytest.raises(InvalidInputError, match="0001 to 9999"):
        parse_instant(value, field="x")
    with pytest.raises(InvalidInputError):
        format_instant(value)


def test_instants_count_milliseconds_since_1970() -> None:
    assert parse_instant("1970-01-01T00:00:00.001Z", field="x") == 1
    assert parse_instant("1969-12-31T23:59:59.999Z", field="x") == -1
    assert parse_instant(EPOCH, field="x") == 0


def test_an_absent_instant_stays_absent() -> None:
    assert to_optional_datetime(None) is None
    assert to_optional_datetime(InstantMs(0)) == EPOCH


@given(
    st.datetimes(
        min_value=datetime(1, 1, 2),  # noqa: DTZ001
        max_value=datetime(9999, 12, 30),  # noqa: DTZ001
        timezones=st.integers(-1439, 1439).map(lambda m: timezone(timedelta(minutes=m))),
    )
)
def test_text_and_datetime_agree_on_every_instant(value: datetime) -> None:
    instant = parse_instant(value, field="x")
    assert parse_instant(value.isoformat(), field="x") == instant
    assert parse_instant(format_instant(value), field="x") == instant
    assert timedelta(0) <= value - to_datetime(instant) < timedelta(milliseconds=1)


@given(st.integers(-62135596800000, 253402300799999))
def test_canonical_texts_order_as_their_instants(instant: int) -> None:
    text = format_instant(to_datetime(InstantMs(instant)))
    assert parse_instant(text, field="x") == instant
    assert len(text) == 24
    later = InstantMs(min(instant + 1, 253402300799999))
    assert text <= format_instant(to_datetime(later))
