# tests/fuzz/local.mk - operations as bytes say, against a model
#
# SPDX-License-Identifier: MIT

if WITH_TESTS
check_PROGRAMS += %D%/fuzz-slice
TESTS += %D%/fuzz-slice
endif

%C%_fuzz_slice_SOURCES = %D%/fuzz-slice.c
%C%_fuzz_slice_LDADD = slice/libslice.la $(SLICE_THREAD_LIBS)

# libFuzzer: FUZZ_SECONDS in each mode, the corpus kept in fuzz-corpus/.
FUZZ_SECONDS = 60
FUZZ_MODES = force-pool force-pool:checked force-pool:hardened
fuzz_flags = -std=gnu11 -g -O1 -w -DWITH_LIBFUZZER -I. -I$(srcdir) \
	-iquote $(srcdir)/slice -pthread -fsanitize=fuzzer,undefined

# What the library is built of for them, as one with each program.
fuzz_targets = slice
fuzz_sources = $(scheduled_sources) slice/port/tls.c

fuzz-programs:
	@test -n '$(CLANG)' || { echo 'fuzz: install clang' >&2; exit 1; }
	@for target in $(fuzz_targets); do \
	  $(CLANG) $(fuzz_flags) -fno-sanitize-recover=undefined \
	    $(srcdir)/%D%/fuzz-$$target.c $(fuzz_sources:%=$(srcdir)/%) \
	    -o %D%/fuzz-$$target-libfuzzer -lm || exit 1; \
	done

fuzz: fuzz-programs
	@for target in $(fuzz_targets); do for mode in $(FUZZ_MODES); do \
	  mkdir -p fuzz-corpus/$$target; echo "fuzz: $$target, $$mode"; \
	  SLICE_OPTIONS=$$mode %D%/fuzz-$$target-libfuzzer -max_len=1024 \
	    -max_total_time=$(FUZZ_SECONDS) -print_final_stats=1 \
	    fuzz-corpus/$$target > fuzz.log 2>&1 \
	    || { tail -30 fuzz.log; exit 1; }; \
	  grep 'stat::number_of_executed_units' fuzz.log; \
	done; done
CLEANFILES += %D%/fuzz-*-libfuzzer fuzz.log

.PHONY: fuzz fuzz-programs
