# ruff: noqa: INP001 - scripts beside each other, not a package
"""Measure the five-transition life of an attempt, next to what it could cost at best and at worst.

Each round measures every contender with every number of callers, one after the other, so that the
machine's moods hit all of them alike; ratios are taken inside a round, and their median is shown.

    python benchmarks/lifecycle.py            # one to two minutes
    python benchmarks/lifecycle.py --profile  # where the time of the ledger goes
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from contenders import BARE, CONTENDERS, MEMORY, PER_TRANSITION, SQLITE, Cell
from facts import is_in_memory, machine_facts
from profiling import profile_ledger
from rich.console import Console
from rich.table import Table

CALLERS = (1, 16, 256)
_DISK = Path("/var/tmp")  # noqa: S108 - a folder of its own is made in it
AIMS = {
    (SQLITE, PER_TRANSITION, 1): 0.9,
    (SQLITE, BARE, 256): 0.5,
    (SQLITE, PER_TRANSITION, 256): 10.0,
}
"""Ratios of rates that we want to reach: ours, theirs, callers."""
RATIOS = ((SQLITE, PER_TRANSITION), (SQLITE, BARE), (BARE, PER_TRANSITION), (SQLITE, MEMORY))

Round = dict[tuple[str, int], Cell]


def main() -> int:
    """Run the benchmark; return 0."""
    options = _options()
    console = Console(width=110)
    with tempfile.TemporaryDirectory(prefix="tenure-bench-", dir=options.dir) as name:
        folder = Path(name)
        if is_in_memory(folder):
            console.print("[bold red]this folder has no disk: use --dir")
            return 2
        if options.profile:
            return profile_ledger(folder, callers=options.profile_callers, seconds=options.seconds)
        facts = machine_facts(folder)
        rounds = [_round(folder, options.seconds, console) for _ in range(options.rounds)]
    _show(console, facts, rounds)
    if options.json is not None:
        options.json.write_text(json.dumps(_report(facts, rounds), indent=2) + "\n", "utf-8")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=10, help="how often (default: %(default)s)")
    parser.add_argument(
        "--seconds", type=float, default=0.6, help="duration of one cell (default: %(default)s)"
    )
    parser.add_argument(
        "--dir", type=Path, default=_DISK, help="folder on a disk (default: %(default)s)"
    )
    parser.add_argument("--json", type=Path, help="file for all figures")
    parser.add_argument("--profile", action="store_true", help="profile the ledger instead")
    parser.add_argument("--profile-callers", type=int, default=256)
    return parser.parse_args()


def _round(folder: Path, seconds: float, console: Console) -> Round:
    cells: Round = {}
    for callers in CALLERS:
        for name, measure in CONTENDERS.items():
            with tempfile.TemporaryDirectory(dir=folder) as empty:
                cells[name, callers] = asyncio.run(measure(Path(empty), callers, seconds))
    shown = ", ".join(f"{cells[SQLITE, callers].rate:,.0f}" for callers in CALLERS)
    console.print(f"round done: SQLite at {CALLERS} callers: {shown} transitions/s")
    return cells


def _show(console: Console, facts: dict[str, str], rounds: Sequence[Round]) -> None:
    for name, value in facts.items():
        console.print(f"{name}: {value}")
    rates = Table("transitions/s (CPU us each)", title="median of rounds, lowest to highest")
    ratios = Table("ratio of rates", title="median of ratios inside a round, lowest to highest")
    steady = Table("ratio of CPU, turned round", title="median inside a round: the steadier number")
    for callers in CALLERS:
        rates.add_column(f"{callers} callers", justify="right")
        ratios.add_column(f"{callers} callers", justify="right")
        steady.add_column(f"{callers} callers", justify="right")
    for name in CONTENDERS:
        rates.add_row(name, *(_rate_text(name, callers, rounds) for callers in CALLERS))
    for ours, theirs in RATIOS:
        texts = (_ratio_text(ours, theirs, callers, rounds) for callers in CALLERS)
        ratios.add_row(f"{ours} / {theirs}", *texts)
        cpu = (_cpu_ratio(ours, theirs, callers, rounds) for callers in CALLERS)
        steady.add_row(f"{ours} / {theirs}", *(f"{ratio:.2f}" for ratio in cpu))
    console.print(rates, ratios, steady)


def _rate_text(name: str, callers: int, rounds: Sequence[Round]) -> str:
    rates = [cells[name, callers].rate for cells in rounds]
    cpu = statistics.median(cells[name, callers].cpu_us for cells in rounds)
    low, high = min(rates), max(rates)
    return f"{statistics.median(rates):,.0f} ({cpu:.0f})\n{low:,.0f} to {high:,.0f}"


def _ratio_text(ours: str, theirs: str, callers: int, rounds: Sequence[Round]) -> str:
    ratios = _ratios(ours, theirs, callers, rounds)
    aim = AIMS.get((ours, theirs, callers))
    text = f"{statistics.median(ratios):.2f}\n{min(ratios):.2f} to {max(ratios):.2f}"
    if aim is None:
        return text
    colour = "green" if statistics.median(ratios) >= aim else "red"
    return f"[{colour}]{text}\naim {aim:g}"


def _ratios(ours: str, theirs: str, callers: int, rounds: Sequence[Round]) -> list[float]:
    return [cells[ours, callers].rate / cells[theirs, callers].rate for cells in rounds]


def _cpu_ratio(ours: str, theirs: str, callers: int, rounds: Sequence[Round]) -> float:
    return statistics.median(
        cells[theirs, callers].cpu_us / cells[ours, callers].cpu_us for cells in rounds
    )


def _report(facts: dict[str, str], rounds: Sequence[Round]) -> dict[str, object]:
    return {
        "facts": facts,
        "rounds": [
            [
                {"contender": name, "callers": callers, "rate": cell.rate, "cpuUs": cell.cpu_us}
                for (name, callers), cell in cells.items()
            ]
            for cells in rounds
        ],
        "ratios": [
            {
                "ours": ours,
                "theirs": theirs,
                "callers": callers,
                "median": statistics.median(_ratios(ours, theirs, callers, rounds)),
                "cpuMedian": _cpu_ratio(ours, theirs, callers, rounds),
                "aim": AIMS.get((ours, theirs, callers)),
            }
            for ours, theirs in RATIOS
            for callers in CALLERS
        ],
    }


if __name__ == "__main__":
    sys.exit(main())
