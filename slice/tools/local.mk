# slice/tools/local.mk - tools (floor 8): the tracer
#
# SPDX-License-Identifier: MIT
