"""Seeded damage to files, and what a consumer may make of it: say it, mend it, or be unharmed."""

from __future__ import annotations

import random
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from komlm.files import DamagedError

_KINDS = {ValueError, DamagedError, OSError, FileNotFoundError, IsADirectoryError}
"""Errors that we raise ourselves. UnicodeDecodeError, JSONDecodeError and ArrowInvalid are
ValueErrors too, and tell a user nothing."""
_REMEDY = re.compile(
    r"(?i)run (its|the|.komlm|the same)|use another|restore|move it away|choose another|train again"
)
_SIBLINGS = ("cut short", "empty", "a folder in its place")


@dataclass(frozen=True)
class Damage:
    """What happens to one file.

    Example: ``Damage("plan.json", "bit 3 of byte 17")``.
    """

    name: str
    kind: str

    def do(self, folder: Path) -> None:
        """Damage the file below ``folder``."""
        path = folder / self.name
        content = path.read_bytes()
        if self.kind == "a folder in its place":
            path.unlink()
            path.mkdir()
        elif self.kind == "empty":
            path.write_bytes(b"")
        elif self.kind.startswith("cut short"):
            path.write_bytes(content[: int(self.kind.split()[-1])])
        else:
            bit, byte = (int(digits) for digits in re.findall(r"\d+", self.kind))
            flipped = bytearray(content)
            flipped[byte] ^= 1 << bit
            path.write_bytes(flipped)


def flips(folder: Path, names: Sequence[str], number: int, seed: int) -> Iterator[Damage]:
    """Single bits at random places, the files in turn."""
    dice = random.Random(seed)
    names = [name for name in names if (folder / name).stat().st_size]
    for n in range(number):
        name = names[n % len(names)]
        byte = dice.randrange((folder / name).stat().st_size)
        yield Damage(name, f"bit {dice.randrange(8)} of byte {byte}")


def siblings(folder: Path, names: Sequence[str], number: int, seed: int) -> list[Damage]:
    """Files cut at a random place, emptied, or replaced by a folder: ``number`` of them."""
    dice = random.Random(seed)
    damages = []
    for name in names:
        cut = dice.randrange((folder / name).stat().st_size or 1)
        damages += [
            Damage(name, f"{kind} to {cut}" if kind == "cut short" else kind) for kind in _SIBLINGS
        ]
    return dice.sample(damages, min(number, len(damages)))


def files_of(folder: Path) -> list[str]:
    """All files below a folder."""
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def outcome(consume: Callable[[], Any], whole: Any, damage: Damage) -> str:
    """``found``: a sentence that names the file and what to do. ``unharmed``: the same result.

    Raises:
        AssertionError: damaged data was used, or the error is none of ours.
        Whatever else ``consume`` raises.
    """
    try:
        result = consume()
    except (ValueError, OSError) as error:
        told = error
    else:
        assert result == whole, damage
        return "unharmed"
    assert type(told) in _KINDS, (damage, repr(told))
    assert Path(damage.name).name in str(told), (damage, str(told))
    assert _REMEDY.search(str(told)), (damage, str(told))
    return "found"


@dataclass
class Tally:
    """Counts outcomes, and prints them where pytest is called with ``-s``."""

    what: str

    def __post_init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def add(self, outcome: str) -> None:
        self.counts[outcome] += 1

    def show(self) -> None:
        told = ", ".join(f"{number} {name}" for name, number in sorted(self.counts.items()))
        print(f"\n{self.what}: {self.counts.total()} damages, 0 wrong ({told})", flush=True)


def fresh_copy(folder: Path, target: Path) -> Path:
    """A copy to be damaged, in place of an earlier one."""
    shutil.rmtree(target, ignore_errors=True)
    return Path(shutil.copytree(folder, target))
