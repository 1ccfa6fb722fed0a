/* lua-states.c - Lua by slices
 *
 * Lua says the size of a block with each call, so that a hook of ten lines does:
 * most of what a state holds (tables, strings, closures) becomes a slice
 * without a header.
 *
 * SPDX-License-Identifier: MIT
 */
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <string.h>

#include <slice/slice.h>
#include <slice/stats.h>

/* A block gets another size: NULL has none, and no block has size 0.  (Without
 * a block `old` is the kind of what is allocated.)  Lua relies on it that a
 * smaller size never fails. */
static void *
lua_by_slices (void *data, void *block, size_t old, size_t size)
{
  void *moved = block != NULL && size <= old ? slice_alloc (size)
                                             : slice_try_alloc (size);

  (void) data;
  if (block == NULL || (moved == NULL && size != 0))
    return moved;
  if (size != 0)
    memcpy (moved, block, size < old ? size : old);
  slice_free1 (old, block);
  return moved;
}

static const char program[]
    = "local words = {}\n"
      "for i = 1, 20000 do words[i] = { name = 'word ' .. i, length = i } end\n"
      "local sum = 0\n"
      "for _, word in ipairs (words) do sum = sum + word.length end\n"
      "return sum\n";

int
main (void)
{
  static SliceStats during, after;
  lua_State *lua = lua_newstate (lua_by_slices, NULL);

  if (lua == NULL)
    return 1;
  luaL_openlibs (lua);
  if (luaL_dostring (lua, program) != LUA_OK)
    {
      fprintf (stderr, "%s\n", lua_tostring (lua, -1));
      return 1;
    }
  printf ("sum %.0f\n", lua_tonumber (lua, -1));
  slice_get_stats (&during);
  lua_close (lua);
  slice_get_stats (&after);
  printf ("slices: more than 40000 %s, %.0f at the end\n",
          during.live_blocks > 40000 ? "in use" : "expected",
          (double) after.live_blocks);
  return 0;
}
