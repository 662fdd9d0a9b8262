"""What a provisioner and the keeper of a bound attempt say to each other.

They are tied by a pair of sockets. The keeper reports once, in one line, and nothing else is ever
sent: from then on the tie says only one thing, by its end, which is that the other end is gone.
"""

from typing import Final, Literal, TypeAlias, get_args

import msgspec

from tenure.model.json_value import JsonValue, decode_json, encode_json

TETHER_VARIABLE: Final = "TENURE_ATTEMPT_TETHER"
"""Only the keeper has it: isolation, number of the descriptor, number of the provisioner."""
KEEPER_FILE: Final = "keeper.json"
"""In the attempt folder: who the keeper is, written before there is an agent's identity."""
REPORT_BYTES_MAX: Final = 4096

Isolation: TypeAlias = Literal["namespace", "subreaper"]
"""How descendants are held: by a PID namespace of their own, or by adoption."""
ISOLATIONS: Final[tuple[Isolation, ...]] = get_args(Isolation)


class Tether(msgspec.Struct, frozen=True, kw_only=True):
    """What a keeper is told through its environment."""

    isolation: Isolation
    descriptor: int
    provisioner_pid: int


class KeeperRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Who keeps the agent of a folder, and how."""

    process: JsonValue
    """A process identity in its JSON form."""
    isolation: Isolation


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """The agent exists and is held; it runs its command from now on."""

    agent: JsonValue
    """A process identity in its JSON form, as seen from the keeper's PID namespace."""


class Unavailable(msgspec.Struct, frozen=True, kw_only=True):
    """The isolation cannot be had on this machine; there is no agent, and the keeper ends."""

    reason: str


Report: TypeAlias = Kept | Unavailable


def render_tether(tether: Tether) -> str:
    """Write the value of the variable."""
    return f"{tether.isolation}:{tether.descriptor}:{tether.provisioner_pid}"


def parse_tether(text: str) -> Tether:
    """Read what `render_tether` wrote.

    Raises:
        ValueError: anything else.
    """
    isolation, descriptor, pid = text.split(":")
    return Tether(
        isolation=parse_isolation(isolation), descriptor=int(descriptor), provisioner_pid=int(pid)
    )


def parse_isolation(value: object) -> Isolation:
    """Check the name of an isolation.

    Raises:
        ValueError: there is none of that name.
    """
    for isolation in ISOLATIONS:
        if value == isolation:
            return isolation
    message = f"no isolation {value!r}: allowed are {', '.join(ISOLATIONS)}"
    raise ValueError(message)


def encode_report(report: Report) -> bytes:
    """Write the one line of a keeper."""
    value: dict[str, JsonValue] = (
        {"agent": report.agent} if isinstance(report, Kept) else {"unavailable": report.reason}
    )
    text = encode_json(value, field="report", bytes_max=REPORT_BYTES_MAX - 1)
    return text.encode() + b"\n"


def decode_report(line: bytes) -> Report:
    """Read what `encode_report` wrote.

    Raises:
        ValueError: anything else.
    """
    match decode_json(line.decode()):
        case {"agent": agent, **rest} if not rest:
            return Kept(agent=agent)
        case {"unavailable": str(reason), **rest} if not rest:
            return Unavailable(reason=reason)
    message = "the keeper's report is malformed"
    raise ValueError(message)


def encode_keeper(record: KeeperRecord) -> bytes:
    """Write the keeper's file."""
    value: dict[str, JsonValue] = {
        "version": 1,
        "process": record.process,
        "isolation": record.isolation,
    }
    return encode_json(value, field="keeper", bytes_max=REPORT_BYTES_MAX).encode()


def decode_keeper(data: bytes) -> KeeperRecord:
    """Read what `encode_keeper` wrote.

    Raises:
        ValueError: anything else.
    """
    match decode_json(data.decode()):
        case {"version": 1, "process": process, "isolation": isolation, **rest} if not rest:
            return KeeperRecord(process=process, isolation=parse_isolation(isolation))
    message = "the keeper's file is malformed"
    raise ValueError(message)
