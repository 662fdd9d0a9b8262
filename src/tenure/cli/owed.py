"""``tenure owed``: list what may still be running, and why that is not known for sure."""

from datetime import datetime
from typing import Annotated

import msgspec
from cyclopts import Parameter

from tenure.cli.debt import Debt, Holder, describe_holder, describe_moment, judge, list_entries
from tenure.cli.duration import render_relative
from tenure.cli.exit_code import OK
from tenure.cli.opening import hint, open_existing
from tenure.cli.options import Common, Flag
from tenure.cli.table import render_facts, render_title
from tenure.cli.writing import formed, put, put_json
from tenure.errors import CorruptRecordError
from tenure.ledger.ledger import Ledger
from tenure.model.open_work import UnreadableWork
from tenure.wiring.providers import open_providers
from tenure.wiring.witness import HostWitness


class Unreadable(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of the owed list that cannot be read, and what one may do."""

    work: UnreadableWork
    reason: str
    advice: str
    holder: Holder = "unknown"
    is_healthy: bool = False
    is_reachable: bool = True


async def owed(
    *,
    all_: Annotated[Flag, Parameter(name="--all")] = False,
    common: Common = Common(),  # noqa: B008 - it is frozen
) -> int:
    """List what may still be running, since when, who answers for it, and what one may do.

    Attempts that run as they should are only counted, and so are those that have ended well and
    only have to be cleared up. Nothing is looked at but the ledger.

    Args:
        all_: Show those too.
        common: Options of every command.
    """
    async with open_existing(common) as ledger:
        now = await ledger.now()
        debts = await _judge_all(ledger, now)
        shown = [debt for debt in debts if all_ or not debt.is_healthy]
        hidden = len(debts) - len(shown)
        if common.json:
            put_json(
                {
                    "ledgerUrl": ledger.url,
                    "now": now,
                    "owed": [formed(_document(debt)) for debt in shown],
                    "hiddenCount": hidden,
                }
            )
            return OK
        finished = [] if all_ else [debt for debt in shown if _is_finished(debt)]
        for debt in shown:
            if debt not in finished:
                put(_render(debt, now) + "\n")
        if finished:
            them = "it" if len(finished) == 1 else "them"
            recover = hint("recover", None, url=ledger.url)
            put(f"{len(finished)} finished; `{recover}` clears {them} up\n")
        put(_summary(len(shown), hidden, ledger.url))
    return OK


async def _judge_all(ledger: Ledger, now: datetime) -> list[Debt | Unreadable]:
    witness, check = HostWitness(), f"`{hint('ledger check', None, url=ledger.url)}`"
    providers = frozenset(open_providers(ledger))
    debts: list[Debt | Unreadable] = []
    for work in await list_entries(ledger):
        if isinstance(work, UnreadableWork):
            seen = f"its record is unreadable: {work.seen}"
            debts.append(Unreadable(work=work, reason=seen, advice=check))
            continue
        is_submitted = await _is_submitted(ledger, work.execution_id)
        debts.append(
            judge(
                work,
                witness,
                now,
                ledger.url,
                is_submitted=is_submitted,
                providers=providers,
            )
        )
    return debts


async def _is_submitted(ledger: Ledger, execution_id: str) -> bool:
    try:
        execution = await ledger.get_execution(execution_id=execution_id)
    except CorruptRecordError:  # a submission that cannot be read is one
        return True
    return execution is not None and execution.submitted_at is not None


def _is_finished(debt: Debt | Unreadable) -> bool:
    """Tell whether its answer is in and nothing speaks against clearing it up."""
    return (
        isinstance(debt, Debt)
        and debt.work.kind == "reclamation"
        and debt.work.failure_count == 0
        and debt.work.active
        and debt.holder in ("nobody", "lapsed")
        and debt.is_reachable
    )


def _document(debt: Debt | Unreadable) -> dict[str, object]:
    return {
        "work": debt.work,
        "holder": debt.holder,
        "isHealthy": debt.is_healthy,
        "isReachable": debt.is_reachable,
        "reason": debt.reason,
        "advice": debt.advice,
    }


def _render(debt: Debt | Unreadable, now: datetime) -> str:
    facts = _facts_of_unreadable(debt, now) if isinstance(debt, Unreadable) else _facts(debt, now)
    indented = "\n".join(f"  {line}" for line in render_facts(facts).split("\n"))
    return f"{render_title(debt.work.execution_id)}\n{indented}"


def _facts_of_unreadable(debt: Unreadable, now: datetime) -> list[tuple[str, str]]:
    return [
        ("why", debt.reason),
        ("since", _since(debt.work.opened_at, now)),
        ("attempt", debt.work.execution_attempt_id),
        ("do", debt.advice),
    ]


def _facts(debt: Debt, now: datetime) -> list[tuple[str, str]]:
    work = debt.work
    doubt = ""
    if work.last_failure is not None:
        times = f" ({work.failure_count} doubts)" if work.failure_count > 1 else ""
        doubt = f"{work.last_failure.summary}{times}"
    return [
        ("why", debt.reason),
        ("last seen", doubt),
        ("since", _since(work.opened_at, now)),
        ("held by", describe_holder(work, debt.holder, now)),
        ("next look", render_relative(work.next_look_at, now=now)),
        ("attempt", f"{work.execution_attempt_id} of provider {work.provider_id}"),
        ("mark", work.mark),
        ("do", debt.advice),
    ]


def _since(at: datetime, now: datetime) -> str:
    return f"{describe_moment(at, now)} ({render_relative(at, now=now)})"


def _summary(shown: int, hidden: int, url: str) -> str:
    owing = f"{shown} owed in {url}" if shown else f"nothing is owed in {url}"
    if not hidden:
        return owing
    verb = "attempt runs" if hidden == 1 else "attempts run"
    return f"{owing}; {hidden} {verb} as they should and are not shown (--all)".replace(
        "runs as they should and are", "runs as it should and is"
    )
