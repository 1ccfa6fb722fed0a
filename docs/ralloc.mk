# docs/ralloc.mk - the example of the contexts
#
# SPDX-License-Identifier: MIT

examplesdir = $(docdir)/examples
dist_examples_DATA = \
	docs/examples/pl0c.c \
	docs/examples/pl0/gcd.pl0 \
	docs/examples/pl0/nested.pl0 \
	docs/examples/pl0/primes.pl0 \
	docs/examples/pl0/wrong.pl0

if WITH_TESTS
check_PROGRAMS += docs/examples/pl0c
endif
docs_examples_pl0c_SOURCES = docs/examples/pl0c.c
docs_examples_pl0c_LDADD = slice/libslice.la
