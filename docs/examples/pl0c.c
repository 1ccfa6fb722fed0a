/* pl0c.c - a compiler for PL/0 whose every byte lives in a context
 *
 * PL/0 is Niklaus Wirth's small language (Algorithms + Data Structures =
 * Programs, chapter 5): constants, variables, nested procedures with
 * recursion, if, while, ? and !.  This compiler reads a program, folds what
 * is constant and writes C.
 *
 * What it shows, in the order in which the code has it:
 *
 *   compiler            the root: whoever frees it has freed everything
 *     source            the text, one node (ralloc_size)
 *     names             a linear context: identifiers, never freed singly
 *     scratch           the parser's own; goes when the tree is built
 *     program           the tree: a procedure's statements are its children,
 *       procedure ...   so dropping a node drops what hangs on it
 *     output            one string that grows (ralloc_asprintf_rewrite_tail)
 *
 *   - an expression is built below `scratch' and stolen by the statement
 *     that it becomes a part of: a syntax error leaves nothing behind;
 *   - folding frees the two halves of what has become a number;
 *   - an error is one longjmp and one ralloc_free;
 *   - `pl0c -r' prints what is held after each phase (ralloc_report).
 *
 * usage: pl0c [-r] program.pl0 > program.c
 *
 * SPDX-License-Identifier: MIT
 */
#include <ctype.h>
#include <limits.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <slice/ralloc.h>

/* --- the tree ------------------------------------------------------------ */

typedef enum
{
  EXPR_NUMBER,
  EXPR_VARIABLE,
  EXPR_NEGATE,
  EXPR_ODD,
  EXPR_BINARY
} ExprKind;

typedef struct Symbol Symbol;
typedef struct Procedure Procedure;

/* left and right are children of the expression as ralloc sees it, too. */
typedef struct Expr Expr;
struct Expr
{
  ExprKind kind;
  int op;               /* + - * / and the six comparisons */
  long number;
  const Symbol *symbol;
  int levels;           /* how many procedures outwards the variable is */
  Expr *left;
  Expr *right;
};

typedef enum
{
  STATEMENT_ASSIGN,
  STATEMENT_CALL,
  STATEMENT_READ,
  STATEMENT_WRITE,
  STATEMENT_IF,
  STATEMENT_WHILE,
  STATEMENT_BLOCK
} StatementKind;

typedef struct Statement Statement;
struct Statement
{
  StatementKind kind;
  const Symbol *symbol;
  int levels;
  Expr *expr;
  Statement *body;      /* of if and while; the first of a block */
  Statement *next;      /* in a block */
};

typedef enum
{
  SYMBOL_CONSTANT,
  SYMBOL_VARIABLE,
  SYMBOL_PROCEDURE
} SymbolKind;

struct Symbol
{
  SymbolKind kind;
  const char *name;
  long number;
  Procedure *procedure;
  Symbol *next;
};

struct Procedure
{
  const char *name;
  int id;
  int depth;
  Procedure *outer;
  Symbol *symbols;      /* the newest first */
  Procedure *first;     /* those declared inside */
  Procedure *next;
  Statement *body;
};

/* --- the compiler -------------------------------------------------------- */

/* Single characters stand for themselves. */
enum
{
  TOKEN_END = 256, TOKEN_NAME, TOKEN_NUMBER, TOKEN_BECOMES, TOKEN_LE,
  TOKEN_GE, TOKEN_CONST, TOKEN_VAR, TOKEN_PROCEDURE, TOKEN_CALL, TOKEN_BEGIN,
  TOKEN_ENDWORD, TOKEN_IF, TOKEN_THEN, TOKEN_WHILE, TOKEN_DO, TOKEN_ODD
};

typedef struct
{
  const char *path;
  char *source;
  const char *at;
  int line;
  int token;
  const char *name;     /* of a TOKEN_NAME */
  long number;          /* of a TOKEN_NUMBER */

  RallocLinear *names;
  void *scratch;
  Procedure *program;
  Procedure *inner;     /* the one being parsed */
  int n_procedures;

  char *output;
  size_t length;

  jmp_buf failed;
} Compiler;

static void
fail (Compiler *compiler, const char *what, const char *detail)
{
  fprintf (stderr, "%s:%d: %s%s%s\n", compiler->path, compiler->line, what,
           detail != NULL ? " " : "", detail != NULL ? detail : "");
  longjmp (compiler->failed, 1);
}

static void *
require (Compiler *compiler, void *pointer)
{
  if (pointer == NULL)
    fail (compiler, "out of memory", NULL);
  return pointer;
}

/* --- lexer --------------------------------------------------------------- */

static const struct
{
  const char *word;
  int token;
} words[] = { { "const", TOKEN_CONST }, { "var", TOKEN_VAR },
              { "procedure", TOKEN_PROCEDURE }, { "call", TOKEN_CALL },
              { "begin", TOKEN_BEGIN }, { "end", TOKEN_ENDWORD },
              { "if", TOKEN_IF }, { "then", TOKEN_THEN },
              { "while", TOKEN_WHILE }, { "do", TOKEN_DO },
              { "odd", TOKEN_ODD } };

static void
skip_blanks (Compiler *compiler)
{
  for (; *compiler->at != '\0'; compiler->at++)
    {
      if (*compiler->at == '{')
        for (; *compiler->at != '}' && *compiler->at != '\0'; compiler->at++)
          compiler->line += *compiler->at == '\n';
      else if (!isspace ((unsigned char) *compiler->at))
        return;
      if (*compiler->at == '\0')
        fail (compiler, "a comment does not end", NULL);
      compiler->line += *compiler->at == '\n';
    }
}

static int
lex_word (Compiler *compiler)
{
  const char *start = compiler->at;
  size_t length;
  char *name;
  size_t i;

  while (isalnum ((unsigned char) *compiler->at))
    compiler->at++;
  length = (size_t) (compiler->at - start);
  for (i = 0; i < sizeof words / sizeof words[0]; i++)
    if (strlen (words[i].word) == length
        && strncmp (words[i].word, start, length) == 0)
      return words[i].token;
  name = require (compiler, ralloc_linear_alloc_child (compiler->names,
                                                       length + 1));
  memcpy (name, start, length);
  name[length] = '\0';
  compiler->name = name;
  return TOKEN_NAME;
}

static int
lex_number (Compiler *compiler)
{
  compiler->number = 0;
  for (; isdigit ((unsigned char) *compiler->at); compiler->at++)
    {
      compiler->number = compiler->number * 10 + (*compiler->at - '0');
      if (compiler->number > 2147483647L)
        fail (compiler, "a number is too large", NULL);
    }
  return TOKEN_NUMBER;
}

static void
next_token (Compiler *compiler)
{
  static const struct
  {
    char text[3];
    int token;
  } pairs[] = { { ":=", TOKEN_BECOMES }, { "<=", TOKEN_LE },
                { ">=", TOKEN_GE } };
  size_t i;

  skip_blanks (compiler);
  if (isalpha ((unsigned char) *compiler->at))
    compiler->token = lex_word (compiler);
  else if (isdigit ((unsigned char) *compiler->at))
    compiler->token = lex_number (compiler);
  else if (*compiler->at == '\0')
    compiler->token = TOKEN_END;
  else
    {
      for (i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (strncmp (compiler->at, pairs[i].text, 2) == 0)
          {
            compiler->at += 2;
            compiler->token = pairs[i].token;
            return;
          }
      if (strchr ("+-*/()=#<>,.;?!", *compiler->at) == NULL)
        fail (compiler, "a character that has no meaning", NULL);
      compiler->token = (unsigned char) *compiler->at++;
    }
}

static bool
accept (Compiler *compiler, int token)
{
  if (compiler->token != token)
    return false;
  next_token (compiler);
  return true;
}

static void
expect (Compiler *compiler, int token, const char *what)
{
  if (!accept (compiler, token))
    fail (compiler, "expected", what);
}

static const char *
expect_name (Compiler *compiler)
{
  const char *name = compiler->name;

  expect (compiler, TOKEN_NAME, "a name");
  return name;
}

/* --- symbols ------------------------------------------------------------- */

static Symbol *
declare (Compiler *compiler, SymbolKind kind, const char *name)
{
  Procedure *inner = compiler->inner;
  Symbol *symbol;

  for (symbol = inner->symbols; symbol != NULL; symbol = symbol->next)
    if (strcmp (symbol->name, name) == 0)
      fail (compiler, "declared twice:", name);
  symbol = require (compiler, rzalloc (inner, Symbol));
  symbol->kind = kind;
  symbol->name = name;
  symbol->next = inner->symbols;
  inner->symbols = symbol;
  return symbol;
}

static const Symbol *
find (Compiler *compiler, const char *name, int *levels)
{
  const Procedure *procedure = compiler->inner;
  const Symbol *symbol;

  for (*levels = 0; procedure != NULL; procedure = procedure->outer, ++*levels)
    for (symbol = procedure->symbols; symbol != NULL; symbol = symbol->next)
      if (strcmp (symbol->name, name) == 0)
        return symbol;
  fail (compiler, "not declared:", name);
  return NULL;
}

/* --- folding ------------------------------------------------------------- */

/* Returns false if the result is no number of type long: then the program that
 * is compiled divides by zero or overflows, if it gets there. */
static bool
fold_operands (int op, long a, long b, long *result)
{
  switch (op)
    {
    case '+':
      return !__builtin_add_overflow (a, b, result);
    case '-':
      return !__builtin_sub_overflow (a, b, result);
    case '*':
      return !__builtin_mul_overflow (a, b, result);
    case '/':
      if (b == 0 || (a == LONG_MIN && b == -1))
        return false;
      *result = a / b;
      return true;
    case '=':
      *result = a == b;
      return true;
    case '#':
      *result = a != b;
      return true;
    case '<':
      *result = a < b;
      return true;
    case '>':
      *result = a > b;
      return true;
    case TOKEN_LE:
      *result = a <= b;
      return true;
    default:
      *result = a >= b;
      return true;
    }
}

/* An expression whose parts are numbers becomes one, and its parts go: they
 * are its children. */
static Expr *
fold (Expr *expr)
{
  bool left = expr->left != NULL && expr->left->kind == EXPR_NUMBER;
  bool right = expr->right != NULL && expr->right->kind == EXPR_NUMBER;
  long number = 0;
  bool known = false;

  if (expr->kind == EXPR_BINARY && left && right)
    known = fold_operands (expr->op, expr->left->number, expr->right->number,
                           &number);
  else if (expr->kind == EXPR_NEGATE && left)
    known = fold_operands ('-', 0, expr->left->number, &number);
  else if (expr->kind == EXPR_ODD && left)
    {
      number = expr->left->number & 1;
      known = true;
    }
  if (known)
    {
      ralloc_free_children (expr);
      expr->left = expr->right = NULL;
      expr->kind = EXPR_NUMBER;
      expr->number = number;
    }
  return expr;
}

/* --- expressions --------------------------------------------------------- */

/* Below scratch; the parts are stolen from there. */
static Expr *
expr_new (Compiler *compiler, ExprKind kind, int op, Expr *left, Expr *right)
{
  Expr *expr = require (compiler, rzalloc (compiler->scratch, Expr));

  expr->kind = kind;
  expr->op = op;
  expr->left = left;
  expr->right = right;
  ralloc_steal (expr, left);
  ralloc_steal (expr, right);
  return fold (expr);
}

static Expr *parse_expression (Compiler *compiler);

static Expr *
parse_factor (Compiler *compiler)
{
  Expr *expr;

  if (compiler->token == TOKEN_NUMBER)
    {
      expr = expr_new (compiler, EXPR_NUMBER, 0, NULL, NULL);
      expr->number = compiler->number;
      next_token (compiler);
    }
  else if (accept (compiler, '('))
    {
      expr = parse_expression (compiler);
      expect (compiler, ')', ")");
    }
  else
    {
      int levels;
      const Symbol *symbol
          = find (compiler, expect_name (compiler), &levels);

      if (symbol->kind == SYMBOL_PROCEDURE)
        fail (compiler, "a procedure has no value:", symbol->name);
      expr = expr_new (compiler,
                       symbol->kind == SYMBOL_CONSTANT ? EXPR_NUMBER
                                                       : EXPR_VARIABLE,
                       0, NULL, NULL);
      expr->number = symbol->number;
      expr->symbol = symbol;
      expr->levels = levels;
    }
  return expr;
}

static Expr *
parse_term (Compiler *compiler)
{
  Expr *expr = parse_factor (compiler);

  while (compiler->token == '*' || compiler->token == '/')
    {
      int op = compiler->token;

      next_token (compiler);
      expr = expr_new (compiler, EXPR_BINARY, op, expr,
                       parse_factor (compiler));
    }
  return expr;
}

static Expr *
parse_expression (Compiler *compiler)
{
  bool negative = accept (compiler, '-');
  Expr *expr;

  if (!negative)
    accept (compiler, '+');
  expr = parse_term (compiler);
  if (negative)
    expr = expr_new (compiler, EXPR_NEGATE, 0, expr, NULL);
  while (compiler->token == '+' || compiler->token == '-')
    {
      int op = compiler->token;

      next_token (compiler);
      expr = expr_new (compiler, EXPR_BINARY, op, expr,
                       parse_term (compiler));
    }
  return expr;
}

static Expr *
parse_condition (Compiler *compiler)
{
  Expr *left;
  int op;

  if (accept (compiler, TOKEN_ODD))
    return expr_new (compiler, EXPR_ODD, 0, parse_expression (compiler),
                     NULL);
  left = parse_expression (compiler);
  op = compiler->token;
  if (op != '=' && op != '#' && op != '<' && op != '>' && op != TOKEN_LE
      && op != TOKEN_GE)
    fail (compiler, "expected", "a comparison");
  next_token (compiler);
  return expr_new (compiler, EXPR_BINARY, op, left,
                   parse_expression (compiler));
}

/* --- statements ---------------------------------------------------------- */

static Statement *parse_statement (Compiler *compiler, const void *ctx);

static Statement *
statement_new (Compiler *compiler, const void *ctx, StatementKind kind)
{
  Statement *statement = require (compiler, rzalloc (ctx, Statement));

  statement->kind = kind;
  return statement;
}

static void
take_expr (Statement *statement, Expr *expr)
{
  statement->expr = expr;
  ralloc_steal (statement, expr);
}

static void
take_symbol (Compiler *compiler, Statement *statement, SymbolKind kind)
{
  const char *name = expect_name (compiler);

  statement->symbol = find (compiler, name, &statement->levels);
  if (statement->symbol->kind != kind)
    fail (compiler, "of another kind:", name);
}

static Statement *
parse_block (Compiler *compiler, const void *ctx)
{
  Statement *block = statement_new (compiler, ctx, STATEMENT_BLOCK);
  Statement **last = &block->body;

  do
    {
      *last = parse_statement (compiler, block);
      if (*last != NULL)
        last = &(*last)->next;
    }
  while (accept (compiler, ';'));
  expect (compiler, TOKEN_ENDWORD, "end");
  return block;
}

/* A condition that is known keeps or drops its body now. */
static Statement *
parse_conditional (Compiler *compiler, const void *ctx, StatementKind kind,
                   int word, const char *what)
{
  Statement *statement = statement_new (compiler, ctx, kind);

  take_expr (statement, parse_condition (compiler));
  expect (compiler, word, what);
  statement->body = parse_statement (compiler, statement);
  if (statement->expr->kind == EXPR_NUMBER && statement->expr->number == 0)
    {
      ralloc_free (statement);
      return NULL;
    }
  return statement;
}

/* NULL: the empty statement. */
static Statement *
parse_statement (Compiler *compiler, const void *ctx)
{
  Statement *statement;

  if (compiler->token == TOKEN_NAME)
    {
      statement = statement_new (compiler, ctx, STATEMENT_ASSIGN);
      take_symbol (compiler, statement, SYMBOL_VARIABLE);
      expect (compiler, TOKEN_BECOMES, ":=");
      take_expr (statement, parse_expression (compiler));
      return statement;
    }
  if (accept (compiler, TOKEN_CALL))
    {
      statement = statement_new (compiler, ctx, STATEMENT_CALL);
      take_symbol (compiler, statement, SYMBOL_PROCEDURE);
      return statement;
    }
  if (accept (compiler, '?'))
    {
      statement = statement_new (compiler, ctx, STATEMENT_READ);
      take_symbol (compiler, statement, SYMBOL_VARIABLE);
      return statement;
    }
  if (accept (compiler, '!'))
    {
      statement = statement_new (compiler, ctx, STATEMENT_WRITE);
      take_expr (statement, parse_expression (compiler));
      return statement;
    }
  if (accept (compiler, TOKEN_BEGIN))
    return parse_block (compiler, ctx);
  if (accept (compiler, TOKEN_IF))
    return parse_conditional (compiler, ctx, STATEMENT_IF, TOKEN_THEN,
                              "then");
  if (accept (compiler, TOKEN_WHILE))
    return parse_conditional (compiler, ctx, STATEMENT_WHILE, TOKEN_DO, "do");
  return NULL;
}

/* --- declarations -------------------------------------------------------- */

static void
parse_constants (Compiler *compiler)
{
  do
    {
      Symbol *symbol = declare (compiler, SYMBOL_CONSTANT,
                                expect_name (compiler));

      expect (compiler, '=', "=");
      symbol->number = compiler->number;
      expect (compiler, TOKEN_NUMBER, "a number");
    }
  while (accept (compiler, ','));
  expect (compiler, ';', ";");
}

static void
parse_variables (Compiler *compiler)
{
  do
    declare (compiler, SYMBOL_VARIABLE, expect_name (compiler));
  while (accept (compiler, ','));
  expect (compiler, ';', ";");
}

static Procedure *parse_procedure (Compiler *compiler, const void *ctx,
                                   const char *name, Symbol *symbol);

static void
parse_inner (Compiler *compiler, Procedure *procedure)
{
  Procedure **last = &procedure->first;

  while (accept (compiler, TOKEN_PROCEDURE))
    {
      const char *name = expect_name (compiler);
      Symbol *symbol = declare (compiler, SYMBOL_PROCEDURE, name);

      expect (compiler, ';', ";");
      *last = parse_procedure (compiler, procedure, name, symbol);
      last = &(*last)->next;
      expect (compiler, ';', ";");
    }
}

/* symbol is known before the body, so that the body may call it. */
static Procedure *
parse_procedure (Compiler *compiler, const void *ctx, const char *name,
                 Symbol *symbol)
{
  Procedure *procedure = require (compiler, rzalloc (ctx, Procedure));

  procedure->name = name;
  procedure->id = compiler->n_procedures++;
  procedure->outer = compiler->inner;
  procedure->depth = compiler->inner != NULL ? compiler->inner->depth + 1 : 0;
  if (symbol != NULL)
    symbol->procedure = procedure;
  compiler->inner = procedure;
  if (accept (compiler, TOKEN_CONST))
    parse_constants (compiler);
  if (accept (compiler, TOKEN_VAR))
    parse_variables (compiler);
  parse_inner (compiler, procedure);
  procedure->body = parse_statement (compiler, procedure);
  compiler->inner = procedure->outer;
  return procedure;
}

/* --- output ---------------------------------------------------------------------------------------
 *
 * A procedure's variables are a struct; it gets the caller's view of the
 * procedure around it, so that recursion and nesting both work. */

#define EMIT(...)                                                             \
  (ralloc_asprintf_rewrite_tail (&compiler->output, &compiler->length,        \
                                 __VA_ARGS__)                                 \
       ? (void) 0                                                             \
       : fail (compiler, "out of memory", NULL))

static void
emit_place (Compiler *compiler, const Symbol *symbol, int levels)
{
  int i;

  EMIT ("frame");
  for (i = 0; i < levels; i++)
    EMIT ("->outer");
  EMIT ("->v_%s", symbol->name);
}

static void
emit_expr (Compiler *compiler, const Expr *expr)
{
  switch (expr->kind)
    {
    case EXPR_NUMBER:
      if (expr->number == LONG_MIN) /* C has no literal for it */
        EMIT ("(%ldL - 1)", expr->number + 1);
      else
        EMIT (expr->number < 0 ? "(%ldL)" : "%ldL", expr->number);
      break;
    case EXPR_VARIABLE:
      emit_place (compiler, expr->symbol, expr->levels);
      break;
    case EXPR_NEGATE:
    case EXPR_ODD:
      EMIT (expr->kind == EXPR_NEGATE ? "(-" : "(1 & ");
      emit_expr (compiler, expr->left);
      EMIT (")");
      break;
    case EXPR_BINARY:
      EMIT ("(");
      emit_expr (compiler, expr->left);
      switch (expr->op)
        {
        case '=':
          EMIT (" == ");
          break;
        case '#':
          EMIT (" != ");
          break;
        case TOKEN_LE:
          EMIT (" <= ");
          break;
        case TOKEN_GE:
          EMIT (" >= ");
          break;
        default:
          EMIT (" %c ", expr->op);
        }
      emit_expr (compiler, expr->right);
      EMIT (")");
    }
}

static void
emit_statement (Compiler *compiler, const Statement *statement, int indent)
{
  int i;

  if (statement == NULL)
    {
      EMIT ("%*s;\n", indent, "");
      return;
    }
  switch (statement->kind)
    {
    case STATEMENT_ASSIGN:
      EMIT ("%*s", indent, "");
      emit_place (compiler, statement->symbol, statement->levels);
      EMIT (" = ");
      emit_expr (compiler, statement->expr);
      EMIT (";\n");
      break;
    case STATEMENT_CALL:
      EMIT ("%*sp%d_%s (frame", indent, "",
            statement->symbol->procedure->id, statement->symbol->name);
      for (i = 0; i < statement->levels; i++)
        EMIT ("->outer");
      EMIT (");\n");
      break;
    case STATEMENT_READ:
      EMIT ("%*sif (scanf (\"%%ld\", &", indent, "");
      emit_place (compiler, statement->symbol, statement->levels);
      EMIT (") != 1)\n%*s  exit (1);\n", indent, "");
      break;
    case STATEMENT_WRITE:
      EMIT ("%*sprintf (\"%%ld\\n\", ", indent, "");
      emit_expr (compiler, statement->expr);
      EMIT (");\n");
      break;
    case STATEMENT_IF:
    case STATEMENT_WHILE:
      EMIT ("%*s%s (", indent, "",
            statement->kind == STATEMENT_IF ? "if" : "while");
      emit_expr (compiler, statement->expr);
      EMIT (")\n");
      emit_statement (compiler, statement->body, indent + 2);
      break;
    case STATEMENT_BLOCK:
      EMIT ("%*s{\n", indent, "");
      for (statement = statement->body; statement != NULL;
           statement = statement->next)
        emit_statement (compiler, statement, indent + 2);
      EMIT ("%*s}\n", indent, "");
    }
}

static void
emit_frame (Compiler *compiler, const Procedure *procedure)
{
  const Symbol *symbol;
  const Procedure *inner;

  EMIT ("struct f%d\n{\n", procedure->id);
  if (procedure->outer != NULL)
    EMIT ("  struct f%d *outer;\n", procedure->outer->id);
  else
    EMIT ("  char none;\n");
  for (symbol = procedure->symbols; symbol != NULL; symbol = symbol->next)
    if (symbol->kind == SYMBOL_VARIABLE)
      EMIT ("  long v_%s;\n", symbol->name);
  EMIT ("};\n");
  if (procedure->outer != NULL)
    EMIT ("static void p%d_%s (struct f%d *);\n", procedure->id,
          procedure->name, procedure->outer->id);
  for (inner = procedure->first; inner != NULL; inner = inner->next)
    emit_frame (compiler, inner);
}

static void
emit_procedure (Compiler *compiler, const Procedure *procedure)
{
  const Procedure *inner;

  for (inner = procedure->first; inner != NULL; inner = inner->next)
    emit_procedure (compiler, inner);
  if (procedure->outer != NULL)
    EMIT ("\nstatic void\np%d_%s (struct f%d *outer)\n{\n"
          "  struct f%d here = { outer }, *frame = &here;\n\n",
          procedure->id, procedure->name, procedure->outer->id,
          procedure->id);
  else
    EMIT ("\nint\nmain (void)\n{\n  struct f0 here = { 0 }, *frame = &here;"
          "\n\n  (void) frame;\n");
  emit_statement (compiler, procedure->body, 2);
  EMIT (procedure->outer != NULL ? "}\n" : "  return 0;\n}\n");
}

static void
emit_program (Compiler *compiler)
{
  compiler->output
      = require (compiler, ralloc_strdup (compiler, "/* by pl0c */\n"));
  compiler->length = strlen (compiler->output);
  EMIT ("#include <stdio.h>\n#include <stdlib.h>\n\n");
  emit_frame (compiler, compiler->program);
  emit_procedure (compiler, compiler->program);
}

/* --- the whole ----------------------------------------------------------- */

static void
read_source (Compiler *compiler)
{
  FILE *f = fopen (compiler->path, "r");
  size_t length = 0;
  size_t capacity = 256;
  size_t n;

  if (f == NULL)
    fail (compiler, "can't be read", NULL);
  do
    {
      capacity *= 2;
      compiler->source
          = require (compiler, reralloc_size (compiler, compiler->source,
                                              capacity));
      n = fread (compiler->source + length, 1, capacity - length - 1, f);
      length += n;
    }
  while (n > 0);
  fclose (f);
  compiler->source[length] = '\0';
  compiler->at = compiler->source;
}

static void
compile (Compiler *compiler, bool report)
{
  read_source (compiler);
  compiler->names = require (compiler, ralloc_linear_context (compiler));
  compiler->scratch = require (compiler, ralloc_context (compiler));
  next_token (compiler);
  compiler->program = parse_procedure (compiler, compiler, "main", NULL);
  expect (compiler, '.', ".");
  if (report)
    ralloc_print_info (stderr, compiler, RALLOC_PRINT_INFO_SUMMARY_ONLY);
  ralloc_free (compiler->scratch);
  emit_program (compiler);
  if (report)
    {
      ralloc_set_name_const (compiler, "compiler");
      ralloc_set_name_const (compiler->source, "source");
      ralloc_set_name_const (compiler->names, "names");
      ralloc_set_name_const (compiler->program, "program");
      ralloc_set_name_const (compiler->output, "output");
      ralloc_report (stderr, compiler);
    }
}

int
main (int argc, char **argv)
{
  bool report = argc == 3 && strcmp (argv[1], "-r") == 0;
  Compiler *compiler = rzalloc (NULL, Compiler);
  bool good = false;

  if (argc != 2 + report || compiler == NULL)
    {
      fputs ("usage: pl0c [-r] program.pl0 > program.c\n", stderr);
      ralloc_free (compiler);
      return 2;
    }
  compiler->path = argv[argc - 1];
  compiler->line = 1;
  if (setjmp (compiler->failed) == 0)
    {
      compile (compiler, report);
      good = fputs (compiler->output, stdout) != EOF;
    }
  ralloc_free (compiler);
  return good ? 0 : 1;
}
