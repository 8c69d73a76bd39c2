"""Small treebanks of our own sentences, in the formats that the readers know."""

from __future__ import annotations

CONLLU = """\
# sent_id = 1
# text = 나는 어제 "학교"에 갔다.
1	나는	나+는	PRON	NP+JX	_	6	nsubj	_	_
2	어제	어제	ADV	MAG	_	6	advmod	_	_
3	"	"	PUNCT	SS	_	4	punct	_	SpaceAfter=No
4	학교	학교	NOUN	NNG	_	6	obl	_	SpaceAfter=No
5	"	"	PUNCT	SS	_	4	punct	_	SpaceAfter=No
6	에	에	ADP	JKB	_	4	case	_	_
7	갔다	가+았+다	VERB	VV+EP+EF	_	0	root	_	SpaceAfter=No
8	.	.	PUNCT	SF	_	7	punct	_	_

# text = 날이 추워서 싶습니다
1-2	날이	_	_	_	_	_	_	_	_
1	날	날	NOUN	NNG	_	3	nsubj	_	_
2	이	이	ADP	JKS	_	1	case	_	_
3	추워서	춥+어서	ADJ	VA+EC	_	0	root	_	_
3.1	갔다	가+았+다	VERB	_	_	_	_	_	_
4	싶습니다	싶	AUX	VX+EF	_	3	aux	_	_

1	않고	않	AUX	VX+EC	_	0	root	_	OrigLemma=않+고
2	+	+	SYM	+SW	_	1	punct	_	_
"""

IN_MISC = """\
# 짐승도 순치될 수 있다 .
1	짐승도	짐승+도	ADV	_	4	advcl	_	_	짐승/ncn+도/jxc
2	순치될	순치+되+ㄹ	VERB	_	0	root	_	_	순치/ncpa+되/xsv+ㄹ/etm
3	수	수	NOUN	_	4	fixed	_	_	수/nbn
4	있다	있+다	ADJ	_	2	aux	_	_	있/paa+다/ef
5	.	.	PUNCT	_	4	punct	_	_	./sf
"""

WITHOUT_MORPHEMES = """\
1	공원은	공원	NOUN	NN+CM	_	3	nsubj	_	MSeg=공원-은
2	넓은	_	ADJ	JJ	_	3	amod	_	_
3	곳	_	NOUN	NN	_	0	root	_	SpaceAfter=No
4	이다	이	AUX	VC	_	3	cop	_	SpaceAfter=No
5	.	.	PUNCT	.	_	3	punct	_	_
"""

KLUE_DP = """\
## 주석 : ##
## 칼럼명 : INDEX	WORD_FORM	LEMMA	POS	HEAD	DEPREL
## 1	아이는 물을 마셨다.
1	아이는	아이 는	NNG+JX	3	NP_SBJ
2	물을	물 을	NNG+JKO	3	NP_OBJ
3	마셨다.	마시 었 다 .	VV+EP+EF+SF	0	VP

## 2	그 값은 20% 올랐다.
1	그	그	MMD	2	DP
2	값은	값 은	NNG+JX	4	NP_SBJ
3	20%	20%	SN+SW	4	NP_AJT
4	올랐다.	오르 았 다 .	VV+EP+EF+SF	0	VP
"""
