# slice/tools/local.mk - tools (floor 8): the tracer
#
# SPDX-License-Identifier: MIT
#
# An installed program sets its own `..._LDFLAGS =': the root's AM_LDFLAGS
# are for the tests.
