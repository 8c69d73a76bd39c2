"""Whole runs by name: a TOML a recipe."""

from __future__ import annotations

from pathlib import Path

from komlm.names import unknown


def known_recipes() -> list[str]:
    """The names that `komlm pretrain` knows. Example: ``["kobert-base", "large", "mini", ...]``."""
    return sorted(path.stem for path in Path(__file__).parent.glob("*.toml"))


def find_recipe(name: str) -> Path:
    """The TOML of a recipe: one of ours by name, or a file of the user's.

    Raises:
        ValueError: an unknown name; the message names the nearest known one.
        FileNotFoundError: a .toml that is not there.
    """
    if name.endswith(".toml"):
        path = Path(name)
        if not path.is_file():
            raise FileNotFoundError(f"recipe {name}: there is no such file")
        return path
    if name not in known_recipes():
        raise ValueError(f"{unknown('recipe', name, known_recipes())} (or a file ending in .toml)")
    return Path(__file__).parent / f"{name}.toml"
