dnl slice.m4 - the checks that configure.ac makes and Autoconf does not bring
dnl
dnl SPDX-License-Identifier: MIT

dnl SLICE_APPEND_CFLAGS (VARIABLE, FLAGS)
dnl Appends to VARIABLE each flag that the C compiler takes without a word.
AC_DEFUN([SLICE_APPEND_CFLAGS],
[for slice_flag in m4_normalize([$2]); do
  AS_VAR_PUSHDEF([slice_var], [slice_cv_cflag_$slice_flag])dnl
  AC_CACHE_CHECK([whether $CC takes $slice_flag], [slice_var],
    [slice_save_CFLAGS=$CFLAGS
     CFLAGS="$CFLAGS $slice_flag -Werror"
     AC_COMPILE_IFELSE([AC_LANG_SOURCE([int slice_unit;])],
       [AS_VAR_SET([slice_var], [yes])], [AS_VAR_SET([slice_var], [no])])
     CFLAGS=$slice_save_CFLAGS])
  AS_VAR_IF([slice_var], [yes], [$1="${$1:+$$1 }$slice_flag"])
  AS_VAR_POPDEF([slice_var])dnl
done])

dnl SLICE_APPEND_LDFLAGS (VARIABLE, FLAGS)
dnl The same for flags of a link of a shared library.
AC_DEFUN([SLICE_APPEND_LDFLAGS],
[for slice_flag in m4_normalize([$2]); do
  AS_VAR_PUSHDEF([slice_var], [slice_cv_ldflag_$slice_flag])dnl
  AC_CACHE_CHECK([whether the linker takes $slice_flag], [slice_var],
    [slice_save_CFLAGS=$CFLAGS
     slice_save_LDFLAGS=$LDFLAGS
     CFLAGS="$CFLAGS -fPIC -shared"
     LDFLAGS="$LDFLAGS $slice_flag"
     AC_LINK_IFELSE([AC_LANG_SOURCE([int slice_unit;])],
       [AS_VAR_SET([slice_var], [yes])], [AS_VAR_SET([slice_var], [no])])
     CFLAGS=$slice_save_CFLAGS
     LDFLAGS=$slice_save_LDFLAGS])
  AS_VAR_IF([slice_var], [yes], [$1="${$1:+$$1 }$slice_flag"])
  AS_VAR_POPDEF([slice_var])dnl
done])

dnl SLICE_CHECK_VERSION_SCRIPT
dnl Sets the conditional HAVE_VERSION_SCRIPT.
AC_DEFUN([SLICE_CHECK_VERSION_SCRIPT],
[AC_CACHE_CHECK([whether the linker takes a version script],
  [slice_cv_version_script],
  [echo 'SLICE_0 { global: slice_*; local: *; };' > conftest.map
   slice_save_CFLAGS=$CFLAGS
   slice_save_LDFLAGS=$LDFLAGS
   CFLAGS="$CFLAGS -fPIC -shared"
   LDFLAGS="$LDFLAGS -Wl,--version-script=conftest.map"
   AC_LINK_IFELSE([AC_LANG_SOURCE([int slice_unit;])],
     [slice_cv_version_script=yes], [slice_cv_version_script=no])
   CFLAGS=$slice_save_CFLAGS
   LDFLAGS=$slice_save_LDFLAGS
   rm -f conftest.map])
AM_CONDITIONAL([HAVE_VERSION_SCRIPT],
  [test "x$slice_cv_version_script" = xyes])])

dnl SLICE_CHECK_LAYOUT_SCRIPT (FILE)
dnl Sets the conditional HAVE_LAYOUT_SCRIPT: the linker can add FILE to its own
dnl script.
AC_DEFUN([SLICE_CHECK_LAYOUT_SCRIPT],
[AC_CACHE_CHECK([whether the linker takes a layout script],
  [slice_cv_layout_script],
  [slice_save_CFLAGS=$CFLAGS
   slice_save_LDFLAGS=$LDFLAGS
   CFLAGS="$CFLAGS -fPIC -shared"
   LDFLAGS="$LDFLAGS -Wl,-T,$1"
   AC_LINK_IFELSE([AC_LANG_SOURCE([int slice_unit;])],
     [slice_cv_layout_script=yes], [slice_cv_layout_script=no])
   CFLAGS=$slice_save_CFLAGS
   LDFLAGS=$slice_save_LDFLAGS])
AM_CONDITIONAL([HAVE_LAYOUT_SCRIPT],
  [test "x$slice_cv_layout_script" = xyes])])

dnl SLICE_CHECK_CXX
dnl Sets the conditional HAVE_CXX: AC_PROG_CXX names a compiler even where
dnl there is none.
AC_DEFUN([SLICE_CHECK_CXX],
[AC_CACHE_CHECK([whether the C++ compiler $CXX works], [slice_cv_cxx_works],
  [AC_LANG_PUSH([C++])
   AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <cstddef>]], [[]])],
     [slice_cv_cxx_works=yes], [slice_cv_cxx_works=no])
   AC_LANG_POP([C++])])
AM_CONDITIONAL([HAVE_CXX], [test "x$slice_cv_cxx_works" = xyes])])

dnl SLICE_CHECK_INITIAL_EXEC
dnl The fast path's variable is thread-local and initial-exec: without that
dnl there is no library.
AC_DEFUN([SLICE_CHECK_INITIAL_EXEC],
[AC_CACHE_CHECK([for initial-exec thread-local storage],
  [slice_cv_initial_exec],
  [AC_LINK_IFELSE([AC_LANG_PROGRAM(
    [[extern __thread void *slice_unit
        __attribute__ ((tls_model ("initial-exec")));
      __thread void *slice_unit
        __attribute__ ((tls_model ("initial-exec")));]],
    [[return slice_unit != (void *) 0;]])],
    [slice_cv_initial_exec=yes], [slice_cv_initial_exec=no])])
AS_IF([test "x$slice_cv_initial_exec" = xno],
  [AC_MSG_ERROR([__thread with the model initial-exec is needed])])])

dnl SLICE_CHECK_RSEQ
dnl Does the C library register an area for restartable sequences for each
dnl thread (glibc 2.35), and does the compiler find it?  The kernel keeps the
dnl number of the processor there.
AC_DEFUN([SLICE_CHECK_RSEQ],
[AC_CACHE_CHECK([for the area of restartable sequences], [slice_cv_rseq],
  [AC_LINK_IFELSE([AC_LANG_PROGRAM(
    [[#include <sys/rseq.h>]],
    [[const char *thread = __builtin_thread_pointer ();
      return (int) ((const struct rseq *) (thread + __rseq_offset))->cpu_id;]])],
    [slice_cv_rseq=yes], [slice_cv_rseq=no])])
AS_IF([test "x$slice_cv_rseq" = xyes],
  [AC_DEFINE([HAVE_RSEQ], [1],
    [Define to 1 if each thread has an area of restartable sequences.])])])
