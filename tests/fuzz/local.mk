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

fuzz:
	@test -n '$(CLANG)' || { echo 'fuzz: install clang' >&2; exit 1; }
	$(CLANG) $(fuzz_flags) -fno-sanitize-recover=undefined \
	  $(srcdir)/%D%/fuzz-slice.c \
	  $(scheduled_sources:%=$(srcdir)/%) $(srcdir)/slice/port/tls.c \
	  -o %D%/fuzz-slice-libfuzzer
	@mkdir -p fuzz-corpus; for mode in $(FUZZ_MODES); do \
	  echo "fuzz: $$mode"; \
	  SLICE_OPTIONS=$$mode %D%/fuzz-slice-libfuzzer -max_len=1024 \
	    -max_total_time=$(FUZZ_SECONDS) -print_final_stats=1 fuzz-corpus \
	    > fuzz.log 2>&1 || { tail -30 fuzz.log; exit 1; }; \
	  grep 'stat::number_of_executed_units' fuzz.log; \
	done
CLEANFILES += %D%/fuzz-slice-libfuzzer fuzz.log

.PHONY: fuzz
