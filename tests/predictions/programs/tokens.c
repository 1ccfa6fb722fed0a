/* tokens.c - a lexer that makes a list of tokens, and a parser that reads it
 *
 * SPDX-License-Identifier: MIT
 */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Token
{
  struct Token *next;
  const char *text;
  unsigned n, line;
  int kind; /* a letter, '0', or the character itself */
} Token;

static char source[200000];

static void
source_make (unsigned seed)
{
  char *out = source;

  for (unsigned i = 0; i < 3000; i++)
    {
      seed = seed * 1664525 + 1013904223;
      out += sprintf (out, "let v%u = (v%u + %u) * v%u;\n", i, seed >> 20,
                      seed >> 22, seed >> 24);
    }
}

static Token *
tokens_make (void)
{
  Token *first = NULL, **end = &first;
  unsigned line = 1;

  for (const char *at = source; *at != '\0';)
    {
      Token *token;
      const char *start;

      if (isspace ((unsigned char) *at))
        {
          line += *at++ == '\n';
          continue;
        }
      token = malloc (sizeof *token);
      if (token == NULL)
        abort ();
      start = at++;
      if (isalnum ((unsigned char) *start))
        while (isalnum ((unsigned char) *at))
          at++;
      *token = (Token){ NULL, start, (unsigned) (at - start), line,
                        isdigit ((unsigned char) *start) ? '0'
                        : isalpha ((unsigned char) *start)
                            ? 'a'
                            : (unsigned char) *start };
      *end = token;
      end = &token->next;
    }
  return first;
}

static uint64_t
tokens_read (const Token *token)
{
  uint64_t sum = 0;
  int depth = 0;

  for (; token != NULL; token = token->next)
    {
      depth += (token->kind == '(') - (token->kind == ')');
      if (token->kind == '0')
        sum += strtoul (token->text, NULL, 10);
      else if (token->kind == 'a')
        for (unsigned i = 0; i < token->n; i++)
          sum = sum * 31 + (unsigned char) token->text[i];
      sum += token->line * (unsigned) (1 + depth);
    }
  return sum;
}

int
main (void)
{
  uint64_t sum = 0;

  for (unsigned i = 0; i < 50; i++)
    {
      Token *tokens;
      Token *next;

      source_make (i);
      tokens = tokens_make ();

      sum += tokens_read (tokens);
      for (; tokens != NULL; tokens = next)
        {
          next = tokens->next;
          free (tokens);
        }
    }
  printf ("%llu\n", (unsigned long long) sum);
  return 0;
}
