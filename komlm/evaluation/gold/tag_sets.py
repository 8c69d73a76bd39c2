"""Tag sets made comparable: Sejong's (Kiwi, GSD, KSL, KLUE-DP) and KAIST's.

Two ways, as far as a treebank allows: on the **Sejong** set, and on a **coarse** set of 21 classes
that both have. What they cut differently falls together: 와/과 is JKB or JC in Sejong's and jct or
jcj in KAIST's, a root is XR or ncps; 아니다 is VCN or paa.
"""

from __future__ import annotations

from functools import cache

_SEJONG_OF_OTHERS = {
    # Kiwi's own.
    "SSO": "SS",
    "SSC": "SS",
    "UN": "NA",
    "W_URL": "SL",
    "W_EMAIL": "SL",
    "W_HASHTAG": "SL",
    "W_MENTION": "SL",
    "W_SERIAL": "SN",
    "W_EMOJI": "SW",
    "SB": "SW",
    "Z_CODA": "SW",
    "Z_SIOT": "SW",
    **{f"USER{n}": "NNP" for n in range(5)},
    # Sejong's finer ones, which Kiwi does not tell apart.
    "MMA": "MM",
    "MMD": "MM",
    "MMN": "MM",
}

_COARSE: dict[str, str] = {
    # class: Sejong's tags, KAIST's tags
    "noun": "NNG NNP XR NF NA ncpa ncps ncn nq nqpa nqpb nqpc nqq",
    "bound noun": "NNB nbn nbs nbu",
    "pronoun": "NP npp npd",
    "number": "NR SN nnc nno",
    "verb": "VV NV pvg pvd",
    "adjective": "VA VCN paa pad",
    "auxiliary": "VX px",
    "copula": "VCP jp",
    "determiner": "MM mmd mma",
    "adverb": "MAG MAJ mag maj mad",
    "interjection": "IC ii",
    "case particle": "JKS JKC JKG JKO JKB JKV JKQ JC jcs jcc jcm jco jca jcv jcr jcj jct",
    "other particle": "JX jxc jxf jxt",
    "pre-final ending": "EP ep",
    "final ending": "EF ef",
    "connective ending": "EC ecc ecs ecx",
    "nominalising ending": "ETN etn",
    "adnominal ending": "ETM etm",
    "affix": "XPN XSN XSV XSA XSM xp xsn xsnu xsnp xsnca xsncc xsna xsns xsnx xsv xsvv xsva xsvn "
    "xsm xsmn xsms xsa",
    "foreign": "SL SH f",
    "symbol": "SF SP SS SE SO SW sp sf sl sr sd se su sy",
}

_COARSE_OF_TAG = {tag: name for name, tags in _COARSE.items() for tag in tags.split()}


@cache
def sejong(tag: str) -> str:
    """A tag of Kiwi's or Sejong's on the Sejong set that they share; any other tag as it is.

    Example: ``sejong("VV-I")`` -> ``"VV"``, ``sejong("MMD")`` -> ``"MM"``, ``sejong("SSO")`` ->
    ``"SS"``.
    """
    plain = tag.partition("-")[0]
    return _SEJONG_OF_OTHERS.get(plain, plain)


@cache
def coarse(tag: str) -> str:
    """A tag of any set as one of the classes that all have; an unknown tag as it is.

    Example: ``coarse("ncpa")`` and ``coarse("NNG")`` -> ``"noun"``.
    """
    plain = sejong(tag)
    return _COARSE_OF_TAG.get(plain, plain)


def is_sejong(tag: str) -> bool:
    """Whether a tag is not one of KAIST's, which are written small. Example: not ``"ncn"``."""
    return not tag.islower()
