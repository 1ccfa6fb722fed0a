# tests/stress/local.mk - the stress program
#
# SPDX-License-Identifier: MIT
