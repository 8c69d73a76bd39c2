from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from komlm.names import pick, unknown
from komlm.recipes import find_recipe, known_recipes


@pytest.mark.parametrize("name", ["morphem", "morphemes", "mopheme", "Morpheme"])
def test_the_nearest_name_is_told(name: str) -> None:
    with pytest.raises(ValueError, match=f"unknown unit '{name}'; did you mean 'morpheme'?"):
        pick("unit", name, {"piece": 1, "morpheme": 2, "eojeol": 3})


def test_a_name_near_to_none_has_the_known_ones() -> None:
    assert unknown("unit", "xyz", ["b", "a"]) == "unknown unit 'xyz'. Known: a, b"
    assert unknown("unit", "xyz", []) == "unknown unit 'xyz'. Known: none"


@given(name=st.text(), known=st.dictionaries(st.text(), st.integers()))
def test_a_known_name_is_found_and_another_refused(name: str, known: dict[str, int]) -> None:
    if name in known:
        assert pick("unit", name, known) == known[name]
    else:
        with pytest.raises(ValueError, match="unknown unit"):
            pick("unit", name, known)


def test_recipes_are_found_by_name_or_path(tmp_path: pytest.TempPathFactory) -> None:
    assert known_recipes() == ["kobert-base", "large", "mini", "small", "tiny"]
    assert all(find_recipe(name).is_file() for name in known_recipes())
    path = f"{tmp_path}/a.toml"
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        find_recipe(path)
    with pytest.raises(ValueError, match="did you mean 'kobert-base'"):
        find_recipe("kobert")
