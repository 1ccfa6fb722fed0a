# mandoc.sh - mandoc shows a long manual
package=mdocml
version=1.14.6-1
sources="man.c man_macro.c man_validate.c att.c lib.c mdoc.c mdoc_argv.c
  mdoc_macro.c mdoc_state.c mdoc_validate.c st.c eqn.c roff.c roff_validate.c
  tbl.c tbl_data.c tbl_layout.c tbl_opts.c arch.c chars.c mandoc.c mandoc_aux.c
  mandoc_msg.c mandoc_ohash.c mandoc_xr.c msec.c preconv.c read.c tag.c
  compat_fts.c compat_ohash.c
  compat_progname.c compat_recallocarray.c compat_stringlist.c compat_strlcat.c
  compat_strlcpy.c compat_strtonum.c eqn_html.c html.c man_html.c mdoc_html.c roff_html.c tbl_html.c
  eqn_term.c man_term.c mdoc_term.c roff_term.c term.c term_ascii.c term_ps.c
  term_tab.c term_tag.c tbl_term.c dbm.c dbm_map.c mansearch.c dba.c
  dba_array.c dba_read.c dba_write.c mandocdb.c main.c manpath.c mdoc_man.c
  mdoc_markdown.c out.c tree.c"
libraries=-lz
arguments="-T tree page.1"
prepare ()
{
  ./configure
}
input ()
{
  awk 'BEGIN { print ".Dd May 1, 2026\n.Dt PAGE 1\n.Os\n.Sh NAME\n.Nm page\n"\
      ".Nd many items\n.Sh DESCRIPTION"
    for (i = 0; i < 20000; i++)
      print "Words of line " i " with\n.Em some ,\n.Xr other 3\nand a\n"\
        ".Ar file" i "\nat the end.\n.Pp" }' > "$work/page.1"
}
