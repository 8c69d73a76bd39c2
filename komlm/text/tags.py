"""Kiwi's part-of-speech tags, each with a number for the shards and a class.

The tag set is Sejong's with Kiwi's own additions (W_ for web words, Z_ for a lone final consonant,
USER for a user's own tags, UN for a word it cannot tell); source: Kiwi's table of tags. The numbers
are written into shards: append new tags at the end, never reorder.
"""

from __future__ import annotations

import numpy as np

CLASSES: tuple[str, ...] = (
    "noun",
    "predicate",
    "root",
    "modifier",
    "foreign",
    "bound",
    "josa",
    "eomi",
    "symbol",
)
"""From the most to the least contentful; the head of a unit is its most contentful morpheme."""

NO_CLASS = len(CLASSES)
"""The class number of tag code 0: a unit in which Kiwi found no morpheme."""

_TAGS_OF_CLASS: dict[str, str] = {
    "noun": "NNG NNP NR NP USER0 USER1 USER2 USER3 USER4 UN",
    "bound": "NNB VX VCP VCN XPN XSN XSV XSA XSM",
    "predicate": "VV VA",
    "modifier": "MM MAG MAJ IC",
    "root": "XR",
    "josa": "JKS JKC JKG JKO JKB JKV JKQ JX JC",
    "eomi": "EP EF EC ETN ETM",
    "foreign": "SL SH SN W_URL W_EMAIL W_HASHTAG W_MENTION W_SERIAL W_EMOJI",
    "symbol": "SF SP SS SSO SSC SE SO SW SB Z_CODA Z_SIOT",
}

CLASS_OF_TAG: dict[str, str] = {
    tag: name for name, tags in _TAGS_OF_CLASS.items() for tag in tags.split()
}
"""Tag -> class. Example: ``CLASS_OF_TAG["JKB"]`` -> ``"josa"``."""

TAGS: tuple[str, ...] = ("", *CLASS_OF_TAG)
"""Tag code -> tag. Code 0 is "no morpheme"."""

TAG_CODE: dict[str, int] = {tag: code for code, tag in enumerate(TAGS)}

CLASS_OF_CODE: np.ndarray = np.array(
    [NO_CLASS] + [CLASSES.index(CLASS_OF_TAG[tag]) for tag in TAGS[1:]], dtype=np.uint8
)
"""Tag code -> class number, an index into CLASSES or NO_CLASS. *Shape:* (number of tags,)"""


def plain_tag(tag: str) -> str:
    """Kiwi's tag without the suffix that tells a (ir)regular verb.

    Example: ``plain_tag("VA-I")`` -> ``"VA"``.
    """
    return tag.partition("-")[0]
