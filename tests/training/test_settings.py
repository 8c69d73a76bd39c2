from __future__ import annotations

import tomllib

from komlm.config import Config, to_toml
from komlm.training.settings import FREE_KEYS, fixed_settings


def test_every_key_is_fixed_or_free() -> None:
    """Against the file that a run writes, section by section."""
    keys = set()
    for name, value in tomllib.loads(to_toml(Config())).items():
        is_section = name in ("data", "masking", "model", "rows", "training")
        keys |= {f"{name}.{key}" for key in value} if is_section else {name}
    free = {key for key in keys if key in FREE_KEYS or key.partition(".")[0] in FREE_KEYS}
    assert set(fixed_settings(Config())) == keys - free
    assert {"data.shards", "examples", "training.device"} <= free
    assert fixed_settings(Config())["masking.weights"] == {}
