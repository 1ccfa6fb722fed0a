# slice-config-version.cmake - which versions serve find_package (slice VERSION)
#
# Before 1.0 a minor version may change names, so it must be the same; from then
# on a major version.

set (PACKAGE_VERSION "0.1.0")
if (PACKAGE_VERSION VERSION_EQUAL PACKAGE_FIND_VERSION)
  set (PACKAGE_VERSION_EXACT TRUE)
endif ()
set (_slice_wanted "${PACKAGE_FIND_VERSION_MAJOR}")
set (_slice_given "0")
if (_slice_given EQUAL 0 AND PACKAGE_FIND_VERSION_COUNT GREATER 1)
  string (APPEND _slice_wanted ".${PACKAGE_FIND_VERSION_MINOR}")
  string (APPEND _slice_given ".1")
endif ()
if (NOT PACKAGE_FIND_VERSION
    OR (PACKAGE_VERSION VERSION_GREATER_EQUAL PACKAGE_FIND_VERSION
        AND _slice_wanted STREQUAL _slice_given))
  set (PACKAGE_VERSION_COMPATIBLE TRUE)
else ()
  set (PACKAGE_VERSION_COMPATIBLE FALSE)
endif ()
# A library of other pointers can't be linked.
if (CMAKE_SIZEOF_VOID_P
    AND NOT CMAKE_SIZEOF_VOID_P EQUAL 8)
  set (PACKAGE_VERSION_UNSUITABLE TRUE)
endif ()
unset (_slice_wanted)
unset (_slice_given)
