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
	%D%/changes/lisp.diff \
	%D%/changes/lru.diff \
	%D%/changes/particles.diff \
	%D%/changes/polynomials.diff \
	%D%/changes/quadtree.diff \
	%D%/changes/requests.diff \
	%D%/list \
	%D%/measured/anagrams.txt \
	%D%/measured/cjson.txt \
	%D%/measured/events.txt \
	%D%/measured/formulas.txt \
	%D%/measured/lisp.txt \
	%D%/measured/lru.txt \
	%D%/measured/quadtree.txt \
	%D%/measured/requests.txt \
	%D%/packages \
	%D%/predicted/anagrams.txt \
	%D%/predicted/cjson.txt \
	%D%/predicted/events.txt \
	%D%/predicted/formulas.txt \
	%D%/predicted/lisp.txt \
	%D%/predicted/lru.txt \
	%D%/predicted/particles.txt \
	%D%/predicted/polynomials.txt \
	%D%/predicted/quadtree.txt \
	%D%/predicted/requests.txt \
	%D%/predicted/treap.txt \
	%D%/programs/anagrams.c \
	%D%/programs/cjson.c \
	%D%/programs/events.c \
	%D%/programs/formulas.c \
	%D%/programs/lisp.c \
	%D%/programs/lru.c \
	%D%/programs/particles.c \
	%D%/programs/polynomials.cc \
	%D%/programs/quadtree.c \
	%D%/programs/requests.c \
	%D%/programs/routes.c \
	%D%/programs/treap.c \
	%D%/row.sh \
	%D%/table.sh
