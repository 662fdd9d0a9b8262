"""Another process of the same user, which finds an attempt by its mark and looks at it.

Run as `observer.py FOLDER MARK ACT`, where `ACT` is `inspect`, `terminate` or `conclude`: look as
often as it takes. Prints what is seen, and how many bear the mark by then.
"""

import sys
from pathlib import Path

import anyio
from tests.providers.bound import conclude
from tests.providers.conftest import BEGUN_AT, World

from tenure.ports.provider import Found


async def main(folder: str, mark: str, act: str) -> None:
    world = World(Path(folder), isolation="auto")
    if act == "conclude":
        seen: object = await conclude(world, mark)
    else:
        found = await world.recovery.discover(mark=mark, begun_at=BEGUN_AT)
        assert isinstance(found, Found), found
        look = world.recovery.inspect if act == "inspect" else world.recovery.terminate
        seen = await look(mark=mark, allocation_ref=found.allocation_ref)
    sys.stdout.write(f"{type(seen).__name__} {len(world.bearers(mark))}")


if __name__ == "__main__":
    _, *words = sys.argv
    anyio.run(main, words[0], words[1], words[2])
