# slice/dropin/local.mk - drop-ins (floor 8): g_slice and Mesa's ralloc
#
# SPDX-License-Identifier: MIT
