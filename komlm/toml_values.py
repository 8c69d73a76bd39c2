"""Dataclasses from TOML values and --set settings, and values as TOML."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Mapping
from typing import Any, get_args, get_origin, get_type_hints

from komlm.names import unknown


class _Given(str):
    """A value of --set: what it means depends on the type of its key."""

    def read(self, hint: Any) -> Any:
        try:
            values = tomllib.loads(f"value = {self}")
        except tomllib.TOMLDecodeError:
            values = {}
        # A line end would let a value bring further keys.
        if set(values) != {"value"} or (hint is str and not isinstance(values["value"], str)):
            return str(self)
        return values["value"]


def put(values: dict[str, Any], setting: str) -> None:
    """Put a setting of the command line on top of what TOML gave.

    Raises:
        ValueError: no key=value, or a key below one that holds a value.

    Example: ``put(values, "masking.ratio=0.3")`` sets ``values["masking"]["ratio"]``.
    """
    key, equals, text = setting.partition("=")
    *sections, name = [part.strip() for part in key.split(".")]
    if not equals or not name or not all(sections):
        raise ValueError(f"--set {setting!r}: wanted key=value, such as masking.ratio=0.3")
    for section in sections:
        values = values.setdefault(section, {})
        if not isinstance(values, dict):
            raise ValueError(f"--set {setting!r}: '{section}' holds a value, not a section")
    values[name] = _Given(text.strip())


def from_dict(kind: Any, values: Mapping[str, Any], prefix: str = "") -> Any:
    """A dataclass from what TOML gave, sections being dataclasses too.

    Raises:
        ValueError: an unknown key or a value of another type; the message names the key, with
            ``prefix`` in front, and the nearest known one.

    Example: ``from_dict(Config, {"masking": {"ratio": 0.3}}).masking.ratio`` -> ``0.3``.
    """
    hints = get_type_hints(kind)
    arguments = {}
    for name, value in values.items():
        key = prefix + name
        if name not in hints:
            raise ValueError(_unknown_key(key, hints, prefix))
        arguments[name] = _checked(hints[name], value, key)
    return kind(**arguments)


def _unknown_key(key: str, hints: Mapping[str, Any], prefix: str) -> str:
    for section, hint in hints.items():
        # `ratio` for `masking.ratio`: the section was forgotten.
        if dataclasses.is_dataclass(hint) and key in get_type_hints(hint):
            return f"unknown key '{key}'; did you mean '{section}.{key}'?"
    return unknown("key", key, [prefix + known for known in hints])


def _checked(hint: Any, value: Any, key: str) -> Any:
    if isinstance(value, _Given):
        value = value.read(hint)
    if dataclasses.is_dataclass(hint):
        if not isinstance(value, Mapping):
            raise ValueError(f"{key} = {value!r}: wanted a section with keys")
        return from_dict(hint, value, key + ".")
    origin = get_origin(hint)
    if origin is dict and isinstance(value, Mapping):
        item_hint = get_args(hint)[1]
        return {name: _checked(item_hint, item, f"{key}.{name}") for name, item in value.items()}
    if origin is list and isinstance(value, list):
        return [_checked(get_args(hint)[0], item, key) for item in value]
    if hint is float and type(value) is int:
        return _as_float(value, key)
    # bool is an int in Python; `steps = true` is a mistake all the same.
    if type(value) is not (origin or hint):
        raise ValueError(f"{key} = {value!r}: wanted {_NAMES[origin or hint]}")
    if isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value):
        raise ValueError(f"{key} = {value!r}: wanted text, and this has a lone surrogate")
    return value


_NAMES = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    list: 'a list, such as ["..."]',
    dict: "a table, such as {noun = 2.0}",
}


def _as_float(value: int, key: str) -> float:
    try:
        return float(value)
    except OverflowError as error:
        raise ValueError(f"{key}: a whole number too large for a float") from error


def to_toml_value(value: Any) -> str:
    """A value as TOML. Example: ``{"noun": 2.0}`` -> ``{"noun" = 2.0}``."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return _toml_string(value)
    if isinstance(value, list):
        return "[" + ", ".join(to_toml_value(item) for item in value) + "]"
    return (
        "{" + ", ".join(f"{_toml_string(k)} = {to_toml_value(v)}" for k, v in value.items()) + "}"
    )


def _toml_string(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped) + '"'
