# docs/local.mk - manuals, and HTML from the headers' comments
#
# SPDX-License-Identifier: MIT

dist_doc_DATA += %D%/HACKING

# `make docs' where Doxygen is installed: HTML and man(3) in docs/api/.
docs: docs/Doxyfile $(pkginclude_HEADERS)
	@test -n '$(DOXYGEN)' || { echo 'docs: install doxygen' >&2; exit 1; }
	$(AM_V_GEN)$(DOXYGEN) docs/Doxyfile

clean-local-docs:
	rm -rf docs/api

.PHONY: docs clean-local-docs
