# tests/fuzz/local.mk - operations as bytes say, against models
#
# SPDX-License-Identifier: MIT

fuzz_targets = arena context slice

if WITH_TESTS
check_PROGRAMS += %D%/fuzz-arena %D%/fuzz-context %D%/fuzz-slice
TESTS += %D%/fuzz-arena %D%/fuzz-context %D%/fuzz-slice
endif

%C%_fuzz_arena_SOURCES = %D%/fuzz-arena.c %D%/fuzz.c %D%/fuzz.h
%C%_fuzz_arena_LDADD = slice/libslice.la $(SLICE_THREAD_LIBS)
%C%_fuzz_context_SOURCES = %D%/fuzz-context.c %D%/fuzz.c %D%/fuzz.h
%C%_fuzz_context_LDADD = slice/libslice.la $(SLICE_THREAD_LIBS)
%C%_fuzz_slice_SOURCES = %D%/fuzz-slice.c %D%/fuzz.c %D%/fuzz.h
%C%_fuzz_slice_LDADD = slice/libslice.la $(SLICE_THREAD_LIBS)

# libFuzzer: FUZZ_SECONDS in each mode, the corpus kept in fuzz-corpus/.  The
# library is built in, so that the fuzzer sees its branches.
FUZZ_SECONDS = 60
FUZZ_MODES = force-pool force-pool:checked force-pool:hardened
fuzz_flags = -std=gnu11 -g -O1 -w -DWITH_LIBFUZZER -I. -I$(srcdir) \
	-iquote $(srcdir)/slice -pthread -fsanitize=undefined \
	-fno-sanitize-recover=undefined
fuzz_sources = $(scheduled_sources) slice/port/thread/tls.c \
	$(filter %.c, $(slice_context_libcontext_la_SOURCES)) \
	$(filter %.c, $(slice_arena_libarena_la_SOURCES))

fuzz-programs: all
	@test -n '$(CLANG)' || { echo 'fuzz: install clang' >&2; exit 1; }
	$(MKDIR_P) %D%/objects
	@for source in $(fuzz_sources); do \
	  $(CLANG) $(fuzz_flags) -fsanitize=fuzzer-no-link -c \
	    $(srcdir)/$$source \
	    -o %D%/objects/$$(echo $$source | tr / -).o || exit 1; \
	done
	@for target in $(fuzz_targets); do \
	  $(CLANG) $(fuzz_flags) -fsanitize=fuzzer \
	    $(srcdir)/%D%/fuzz-$$target.c \
	    $(srcdir)/%D%/fuzz.c %D%/objects/*.o \
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
CLEANFILES += %D%/fuzz-*-libfuzzer %D%/objects/* fuzz.log

.PHONY: fuzz fuzz-programs
