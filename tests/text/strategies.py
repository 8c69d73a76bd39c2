"""Text of all the kinds that Korean corpora hold, for hypothesis."""

from __future__ import annotations

import unicodedata

from hypothesis import strategies as st

_WORDS = [
    "학교에", "갔다", "나는", "건네줄게", "추워서", "그건", "뭐야", "안됔ㅋㅋ", "저흰", "친구",
    "여자다.", "100%를", "㎏을", "５㎞", "㈜한국", "ㅋㅋㅠㅠ", "ㅎㅏ", "뷁",
    "https://a.kr/위키", "#해시태그", "10. 11. 9", "a@b.kr", "[MASK]", "[UNK]", "<unk>", "▁",
    "…", "“말”", "漢字", "ABC", "ﷺ", "½", "①②", "가\u200b나", "👨\u200d👩\u200d👧", "🇰🇷",
    "e\u0301", "\ufeff", "\u0301", "\u1100\u1161\u11a8", "\u119e", "ﾡ", "\U0010fffd", "\u0000",
]  # fmt: skip
_SPACES = [" ", " ", " ", "  ", "\n", "\t", "\u3000", "\xa0", "\u2028", "\x1c", ""]

characters = st.one_of(
    st.characters(exclude_categories=["Cs"]),
    st.characters(min_codepoint=0xAC00, max_codepoint=0xD7A3),
    st.characters(min_codepoint=0x1100, max_codepoint=0x11FF),
    st.characters(min_codepoint=0x3130, max_codepoint=0x318F),
    st.characters(categories=["Mn", "Mc", "Me", "Zs", "Cf", "Cc"]),
    st.characters(min_codepoint=0x1F300, max_codepoint=0x1FAFF),
)

texts = st.one_of(
    st.lists(
        st.one_of(st.sampled_from(_WORDS), st.sampled_from(_SPACES), characters), max_size=24
    ).map("".join),
    st.lists(st.sampled_from(_WORDS), max_size=12).map(" ".join),
    st.text(characters, max_size=30),
    st.text(characters, max_size=30).map(lambda text: unicodedata.normalize("NFD", text)),
)
"""Any text without lone surrogates."""
