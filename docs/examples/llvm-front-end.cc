// llvm-front-end.cc - a small front end of LLVM's on our pages
//
// It reads `name = expression;' lines, builds a syntax tree, and makes LLVM's
// code of it.  The tree lies in an llvm::BumpPtrAllocatorImpl and the names in
// an llvm::StringMap, as in LLVM's own front ends; the slabs of both come from
// a page source of ours.
//
// Compile with the flags of llvm-config.
//
// SPDX-License-Identifier: MIT
#include <llvm/ADT/StringMap.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/Allocator.h>
#include <llvm/Support/raw_ostream.h>

#include <cctype>
#include <cstdlib>
#include <slice/slice.hpp>

using Bump = llvm::BumpPtrAllocatorImpl<slice::llvm_allocator<>>;

struct Node
{
  enum Kind { NUMBER, NAME, BINARY } kind;
  long number;
  llvm::StringRef name;
  char operation;
  const Node *left, *right;
};

/* A tree in the bump allocator: nothing of it is freed by itself. */
class Parser
{
public:
  Parser (Bump &bump, const char *text) : bump_ (bump), at_ (text) {}

  bool
  at_end ()
  {
    skip ();
    return *at_ == '\0';
  }
  llvm::StringRef
  name ()
  {
    skip ();
    const char *start = at_;
    while (std::isalnum (static_cast<unsigned char> (*at_)))
      at_++;
    return llvm::StringRef (start, static_cast<size_t> (at_ - start));
  }
  void
  expect (char wanted)
  {
    skip ();
    if (*at_++ != wanted)
      {
        llvm::errs () << "expected " << wanted << "\n";
        std::exit (1);
      }
  }
  const Node *
  sum ()
  {
    return binary ("+-", &Parser::product);
  }

private:
  void
  skip ()
  {
    while (std::isspace (static_cast<unsigned char> (*at_)))
      at_++;
  }
  const Node *
  make (Node node)
  {
    return new (bump_.Allocate<Node> ()) Node (node);
  }
  const Node *
  binary (llvm::StringRef operations, const Node *(Parser::*operand) ())
  {
    const Node *left = (this->*operand) ();
    for (skip (); *at_ != '\0' && operations.contains (*at_); skip ())
      {
        char operation = *at_++;
        left = make ({ Node::BINARY, 0, "", operation, left,
                       (this->*operand) () });
      }
    return left;
  }
  const Node *
  product ()
  {
    return binary ("*", &Parser::factor);
  }
  const Node *
  factor ()
  {
    skip ();
    if (*at_ == '(')
      {
        at_++;
        const Node *inner = sum ();
        expect (')');
        return inner;
      }
    if (std::isdigit (static_cast<unsigned char> (*at_)))
      {
        char *end;
        long number = std::strtol (at_, &end, 10);
        at_ = end;
        return make ({ Node::NUMBER, number, "", 0, nullptr, nullptr });
      }
    return make ({ Node::NAME, 0, name (), 0, nullptr, nullptr });
  }

  Bump &bump_;
  const char *at_;
};

using Names = llvm::StringMap<llvm::Value *, Bump &>;

static llvm::Value *
emit (llvm::IRBuilder<> &builder, Names &names, const Node *node)
{
  if (node->kind == Node::NUMBER)
    return builder.getInt64 (static_cast<uint64_t> (node->number));
  if (node->kind == Node::NAME)
    {
      llvm::Value *&known = names[node->name];
      return known != nullptr ? known : builder.getInt64 (0);
    }
  llvm::Value *left = emit (builder, names, node->left);
  llvm::Value *right = emit (builder, names, node->right);
  return node->operation == '+'   ? builder.CreateAdd (left, right)
         : node->operation == '-' ? builder.CreateSub (left, right)
                                  : builder.CreateMul (left, right);
}

int
main ()
{
  static const char text[] = "a = argument * 3 + 4; b = (a - 1) * (a + 1);"
                             "c = 6 * 7; d = b + c - argument;";
  Bump bump;
  llvm::LLVMContext context;
  llvm::Module module ("example", context);
  llvm::IRBuilder<> builder (context);
  llvm::Type *number = builder.getInt64Ty ();
  llvm::Function *function = llvm::Function::Create (
      llvm::FunctionType::get (number, { number }, false),
      llvm::Function::ExternalLinkage, "f", module);
  builder.SetInsertPoint (llvm::BasicBlock::Create (context, "", function));
  {
    Names names (bump);
    Parser parser (bump, text);
    llvm::Value *last = builder.getInt64 (0);

    names["argument"] = function->getArg (0);
    while (!parser.at_end ())
      {
        llvm::StringRef name = parser.name ();
        parser.expect ('=');
        last = names[name] = emit (builder, names, parser.sum ());
        parser.expect (';');
      }
    builder.CreateRet (last);
  }
  if (llvm::verifyFunction (*function, &llvm::errs ()))
    return 1;
  llvm::outs () << function->getEntryBlock ().size () << " instructions, "
                << bump.GetNumSlabs () << " slab of "
                << bump.getTotalMemory () << " bytes\n";
}
