# slice-config.cmake - for find_package (slice CONFIG)
#
#   slice::slice   libslice, shared where that is installed
#   slice::static  libslice.a, where it is installed
#   slice::ralloc  Mesa's ralloc on libslice, where it is installed; its header
#                  is util/ralloc.h of Mesa 26.1 (slice_ralloc_mesa_22_3 is the
#                  folder of the older one)
#
# Paths are relative to this file, so an installation can be moved.

# A link such as /lib to /usr/lib leads here by another path, from which the
# headers are not found; then the path of the installation counts.
get_filename_component (_slice_here "${CMAKE_CURRENT_LIST_DIR}/../.." REALPATH)
get_filename_component (_slice_libdir "/usr/local/lib" REALPATH)
if (_slice_here STREQUAL _slice_libdir)
  set (_slice_here "/usr/local/lib")
endif ()
file (RELATIVE_PATH _slice_relative "/usr/local/lib" "/usr/local/include")
get_filename_component (_slice_includedir "${_slice_here}/${_slice_relative}"
                        ABSOLUTE)

include (CMakeFindDependencyMacro)
find_dependency (Threads)

# _slice_target (NAME KIND FILE INCLUDEDIR DEPENDENCY)
function (_slice_target name kind file includedir dependency)
  if (TARGET slice::${name} OR NOT EXISTS "${file}")
    return ()
  endif ()
  add_library (slice::${name} ${kind} IMPORTED)
  set_target_properties (slice::${name} PROPERTIES
    IMPORTED_LOCATION "${file}"
    INTERFACE_INCLUDE_DIRECTORIES "${includedir}"
    INTERFACE_LINK_LIBRARIES "${dependency}")
endfunction ()

_slice_target (static STATIC "${_slice_here}/libslice.a"
               "${_slice_includedir}" Threads::Threads)
_slice_target (slice SHARED "${_slice_here}/libslice.so"
               "${_slice_includedir}" "")
_slice_target (slice STATIC "${_slice_here}/libslice.a"
               "${_slice_includedir}" Threads::Threads)
set (slice_ralloc_mesa_22_3 "${_slice_includedir}/slice/mesa-22.3")
_slice_target (ralloc SHARED "${_slice_here}/libslice-ralloc.so"
               "${_slice_includedir}/slice/mesa-26.1" slice::slice)

if (NOT TARGET slice::slice)
  set (slice_FOUND FALSE)
  set (slice_NOT_FOUND_MESSAGE "there is no libslice in ${_slice_here}")
endif ()
foreach (_slice_part IN LISTS slice_FIND_COMPONENTS)
  if (TARGET slice::${_slice_part})
    set (slice_${_slice_part}_FOUND TRUE)
  elseif (slice_FIND_REQUIRED_${_slice_part})
    set (slice_FOUND FALSE)
    set (slice_NOT_FOUND_MESSAGE "slice::${_slice_part} is not installed")
  endif ()
endforeach ()

unset (_slice_here)
unset (_slice_libdir)
unset (_slice_relative)
unset (_slice_includedir)
unset (_slice_part)
