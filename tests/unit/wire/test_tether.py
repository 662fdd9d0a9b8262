"""What keeper and provisioner say to each other comes back as it went, and nothing else does."""

import pytest

from tenure.wire.tether import (
    KeeperRecord,
    Kept,
    Report,
    Tether,
    Unavailable,
    decode_keeper,
    decode_report,
    encode_keeper,
    encode_report,
    parse_tether,
    render_tether,
)


def test_a_tether_comes_back() -> None:
    tether = Tether(isolation="subreaper", descriptor=7, provisioner_pid=4242)
    assert parse_tether(render_tether(tether)) == tether


@pytest.mark.parametrize(
    "text", ["", "namespace:7", "jail:7:8", "namespace:7:8:9", "namespace:x:8"]
)
def test_another_text_is_no_tether(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_tether(text)


@pytest.mark.parametrize("report", [Kept(agent={"pid": 7}), Unavailable(reason="Operation: ä\n")])
def test_a_report_is_one_line_and_comes_back(report: Report) -> None:
    line = encode_report(report)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert decode_report(line) == report


@pytest.mark.parametrize("line", [b"", b"{}", b"[]", b'{"agent":1,"x":2}', b'{"unavailable":1}'])
def test_another_line_is_no_report(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode_report(line)


def test_a_keepers_file_comes_back() -> None:
    record = KeeperRecord(process={"pid": 7}, isolation="namespace")
    assert decode_keeper(encode_keeper(record)) == record


@pytest.mark.parametrize(
    "data",
    [
        b"{}",
        b'{"version":2,"process":{},"isolation":"namespace"}',
        b'{"version":1,"process":{},"isolation":"jail"}',
        b'{"version":1,"process":{},"isolation":"namespace","more":1}',
    ],
)
def test_another_file_is_no_keepers(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode_keeper(data)
