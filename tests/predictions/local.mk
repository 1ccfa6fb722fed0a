# tests/predictions/local.mk - programs whose change was predicted
#
# Not run by make check: row.sh measures times.
#
# SPDX-License-Identifier: MIT

EXTRA_DIST += \
	%D%/changes/anagrams.diff \
	%D%/changes/cjson.diff \
	%D%/changes/events.diff \
	%D%/changes/formulas.diff \
	%D%/changes/groups.diff \
	%D%/changes/huffman.diff \
	%D%/changes/lisp.diff \
	%D%/changes/lru.diff \
	%D%/changes/nfa.diff \
	%D%/changes/outline.diff \
	%D%/changes/particles.diff \
	%D%/changes/polynomials.diff \
	%D%/changes/quadtree.diff \
	%D%/changes/requests.diff \
	%D%/changes/tokens.diff \
	%D%/list \
	%D%/measured/anagrams.txt \
	%D%/measured/cjson.txt \
	%D%/measured/events.txt \
	%D%/measured/formulas.txt \
	%D%/measured/groups.txt \
	%D%/measured/huffman.txt \
	%D%/measured/lisp.txt \
	%D%/measured/lru.txt \
	%D%/measured/nfa.txt \
	%D%/measured/outline.txt \
	%D%/measured/particles.txt \
	%D%/measured/polynomials.txt \
	%D%/measured/quadtree.txt \
	%D%/measured/requests.txt \
	%D%/measured/tokens.txt \
	%D%/packages \
	%D%/predicted/anagrams.txt \
	%D%/predicted/cjson.txt \
	%D%/predicted/events.txt \
	%D%/predicted/formulas.txt \
	%D%/predicted/groups.txt \
	%D%/predicted/huffman.txt \
	%D%/predicted/lisp.txt \
	%D%/predicted/lru.txt \
	%D%/predicted/nfa.txt \
	%D%/predicted/outline.txt \
	%D%/predicted/particles.txt \
	%D%/predicted/polynomials.txt \
	%D%/predicted/quadtree.txt \
	%D%/predicted/requests.txt \
	%D%/predicted/tokens.txt \
	%D%/programs/anagrams.c \
	%D%/programs/cjson.c \
	%D%/programs/events.c \
	%D%/programs/formulas.c \
	%D%/programs/groups.c \
	%D%/programs/huffman.c \
	%D%/programs/lisp.c \
	%D%/programs/lru.c \
	%D%/programs/nfa.c \
	%D%/programs/outline.c \
	%D%/programs/particles.c \
	%D%/programs/polynomials.cc \
	%D%/programs/quadtree.c \
	%D%/programs/requests.c \
	%D%/programs/tokens.c \
	%D%/row.sh \
	%D%/table.sh
