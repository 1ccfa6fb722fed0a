#!/bin/sh
# test-answers.sh - small programs with one right answer each
#
# For each program every site that is not rare, its class and its name: the
# table at the end has what they must be.  A name is that of the function
# that could take the memory from elsewhere.
#
# Speaks TAP.  SPDX-License-Identifier: MIT

. "$(dirname "$0")/../trace-lib.sh"

clients=$source/tests/trace/clients
$CC -g -O1 -shared -fPIC "$clients/answers-lib.c" -o "$work/libanswers.so" \
  || exit 1
compile answers answers.c -L"$work" -lanswers -Wl,-rpath,"$work" -lpthread
$CXX -g -O1 "$clients/answers-cxx.cc" -o "$work/answers-cxx" || exit 1

# "class name" of the sites that are not rare, and what they belong to; without
# the arguments that C++ names have, and what libraries keep to themselves
sites_of () # patterns
{
  awk -F'":' '
    function site_end() { if (line != "" && !own) print line; line = "" }
    { gsub (/^ *"/, ""); value = $2; gsub (/^"|"?,?$/, "", value)
      if ($1 == "name" || $1 == "owner" || $1 == "scope") {
        while (match (value, /[^ ]\(([^()]|\([^()]*\))*\)/))
          value = substr (value, 1, RSTART) substr (value, RSTART + RLENGTH)
        gsub (/ /, "_", value) } }
    $1 == "key" { site_end(); own = 0 }
    $1 == "name" { name = value }
    $1 == "temporary" { own = 1 }
    $1 == "class" && value != "rare" { line = value " " name }
    ($1 == "owner" || $1 == "scope") && line != "" && value !~ /^unknown/ {
      line = line " " $1 "=" value }
    $1 == "series" { site_end() }
    END { site_end() }' "$1" | LC_ALL=C sort
}

answer () # program, behaviour, wanted lines
{
  record "$work/t" "$work/$1" "$2"
  "$trace" patterns "$work/t" -o "$work/p.json"
  # glibc and its headers reach these in other ways
  got=$(sites_of "$work/p.json" \
    | sed 's/(__vasprintf[a-z_]*)/(vasprintf)/; s/(__*getdelim)/(getline)/
      s/(getdelim)/(getline)/')
  equal "$2" "$got" "$(printf '%s\n' "$3" | LC_ALL=C sort)"
}

c () # behaviour, wanted
{
  answer answers "$@"
}

cxx ()
{
  answer answers-cxx "$@"
}

# --- one site ---
c linear_function "linear token_new"
c linear_phase "linear token_new"
c linear_at_end "linear token_new"
c long_lived "immortal entry_new"
c stack_strict "stack frame_push"
c stack_recursive "stack descend
stack descend"
c stack_lazy "stack-lazy frame_push"
c scratch "scratch buffer_new"
c pool "pool particle_new"
c queue_one_thread "pool particle_new"
c slice "slice particle_new"
c general "general text_new"
c huge "huge image_new"
c rare "scratch buffer_new"
c realloc_growth "general buffer_grow"
c tree_owner "owner child_new owner=tree_new
pool tree_new"

# --- threads ---
c stack_each_thread "stack frame_push"
c phase_each_thread "linear token_new"
c threads_come_and_go "linear token_new"
c scratch_each_thread "scratch buffer_new"
c pool_each_thread "pool particle_new"
c producer_consumer "slice message_new"
c producer_any_size "general message_new"
c pool_some_elsewhere "slice message_new"

# --- wrappers ---
c wrapper_three "linear grab_<_node_make
pool grab_<_record_make
stack grab_<_scope_make"
c wrapper_immortal "immortal grab_<_record_make
linear grab_<_node_make
stack grab_<_scope_make"
c wrapper_one_general "general grab_<_string_make
linear grab_<_node_make
stack grab_<_scope_make"
c wrapper_nested "linear pool_alloc_<_object_new_<_leaf_make
pool pool_alloc_<_object_new_<_symbol_make
stack pool_alloc_<_object_new_<_block_make"
c wrapper_one_size "linear grab_<_cell_make
stack grab_<_link_make"
c wrapper_owner "owner grab_<_owned_make owner=grab_<_owner_make
pool grab_<_owner_make"
c wrapper_alike "general grab"
c wrapper_library "linear text_format_(vasprintf)_<_row_make
stack text_format_(vasprintf)_<_path_make"
c tail_calls "linear piece_make
stack level_make"

# --- a function's own life ---
c life_recursive "scope operand_new scope=evaluate"
c life_survivors "scope operand_new scope=request"
c life_nested "scope operand_new scope=dispatch"
c life_each_thread "scope operand_new scope=evaluate"
c life_not "general operand_new"

# --- libraries ---
c library_asprintf "linear line_format_(asprintf)"
c library_strdup "immortal name_intern_(strdup)"
c library_getline "linear line_read_(getline)"
c library_object "pool widget_make_(foo_create)"
c library_two_users "linear request_part_(foo_context_alloc)
stack saved_part_(foo_context_alloc)"
c library_callback "linear visit"

# --- C++ ---
cxx cxx_pool "pool particle_new"
cxx cxx_list "linear list_fill"
cxx cxx_map "pool map_add"
cxx cxx_string "linear name_make
scratch cxx_string"
cxx cxx_stack "stack shape_make"
cxx cxx_template "linear Tree<Particle>::add
scratch cxx_template"
cxx cxx_sort "scratch weight_of"
cxx cxx_wrapper "linear row_make
pool cell_make"

# --- an arena for each thread, and for each activation, when replayed ---
# One for all would never be empty: it would grow to what was ever allocated.
for behaviour in phase_each_thread life_survivors life_each_thread
do
  record "$work/t" "$work/answers" $behaviour
  "$trace" replay --hot 3 --repeats 1 -o "$work/r.json" "$work/t" \
    2> "$work/err"
  equal "replayed-$behaviour" "$(json "$work/r.json" 'sites.*' new_rss name \
    | awk -v all="$(json "$work/r.json" bytes)" '/operand_new|token_new/ {
      print ($1 > 0 && $1 < all / 4) }')" 1
done

# --- how often an arena would be reset ---
resets () # behaviour, wanted
{
  record "$work/t" "$work/answers" "$1"
  "$trace" advise -o "$work/a.json" "$work/t"
  equal "resets-$1" "$(json "$work/a.json" 'sites.*.where' \
    | grep -c "$2")" 1
}
resets linear_phase 'reset at each of the 50 moments'
resets linear_at_end 'destroyed at the end, and never reset'

# --- a class without advice says so once ---
record "$work/t" "$work/answers" life_not
"$trace" advise --text "$work/t" > "$work/out"
equal stays "$(sed -n '/operand_new/{ n; p; }' "$work/out")" \
  "    Linear bad: stay with malloc"

# --- a library that is the program's own ---
record "$work/t" "$work/answers" library_object
"$trace" patterns --own libanswers "$work/t" -o "$work/p.json"
equal own-library "$(sites_of "$work/p.json")" "pool chunk_take"

finish
