# tests/model/local.mk - models for Spin, and of C11's memory model
#
# SPDX-License-Identifier: MIT

EXTRA_DIST += %D%/depot.pml %D%/detach.pml %D%/fork.pml \
	%D%/litmus.py %D%/parked.pml
check_scripts += %D%/litmus.sh %D%/models.sh
