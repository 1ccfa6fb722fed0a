# tests/model/local.mk - models for Spin
#
# SPDX-License-Identifier: MIT

EXTRA_DIST += %D%/depot.pml %D%/detach.pml %D%/fork.pml
check_scripts += %D%/models.sh
