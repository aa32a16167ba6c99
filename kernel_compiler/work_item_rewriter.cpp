// SPDX-License-Identifier: Apache-2.0
#include "kernel_compiler/work_item_rewriter.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/Mangle.h>
#include <clang/AST/RecursiveASTVisitor.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Lex/Lexer.h>

#include <map>
#include <optional>
#include <vector>

#include "kernel_compiler/builtin_names.h"
#include "kernel_compiler/subscripted_arguments.h"
#include "kernel_compiler/variant_helpers.h"
#include "scheduler/access/panel_argument.h"
#include "scheduler/access/shard_argument.h"

namespace tutti::kernel_compiler {
namespace {

using clang::FunctionDecl;
using clang::SourceLocation;

constexpr char kParameter[] = "__tutti_nd";
constexpr char kParameterDeclaration[] = "ulong16 __tutti_nd";
constexpr char kShardParameter[] = "__tutti_sh";
constexpr char kShardDeclaration[] = "ulong16 __tutti_sh";
constexpr char kPanelParameter[] = "__tutti_pa";
constexpr char kPanelDeclaration[] = "ulong16 __tutti_pa";

std::string name_of(const FunctionDecl* function) {
  return function->getIdentifier() != nullptr ? function->getName().str() : std::string();
}

/// OpenCL's own, not a program's function of that name.
bool is_builtin(const FunctionDecl* callee) {
  return !callee->isDefined() && (callee->isImplicit() || callee->getBuiltinID() != 0);
}

/// One of the functions replaced.
bool is_replaced(const FunctionDecl* callee) {
  return is_builtin(callee) && changes_in_sub_range(name_of(callee));
}

/// The name in LLVM IR; empty for functions that other units do not see.
std::string link_name(const FunctionDecl* function, clang::ASTNameGenerator& names) {
  return function->isExternallyVisible() ? names.getName(function) : std::string();
}

struct Call {
  const FunctionDecl* caller = nullptr;  // canonical; null outside functions
  const FunctionDecl* callee = nullptr;  // canonical
  const clang::CallExpr* expression = nullptr;
  bool in_block = false;
};

class Collector : public clang::RecursiveASTVisitor<Collector> {
 public:
  bool TraverseFunctionDecl(FunctionDecl* function) {
    const FunctionDecl* outer = caller_;
    caller_ = function->getCanonicalDecl();
    functions_.push_back(function);
    const bool result = RecursiveASTVisitor::TraverseFunctionDecl(function);
    caller_ = outer;
    return result;
  }
  bool TraverseBlockDecl(clang::BlockDecl* block) {
    ++blocks_;
    const bool result = RecursiveASTVisitor::TraverseBlockDecl(block);
    --blocks_;
    return result;
  }
  bool VisitCallExpr(clang::CallExpr* call) {
    if (const FunctionDecl* callee = call->getDirectCallee()) {
      calls_.push_back({caller_, callee->getCanonicalDecl(), call, blocks_ > 0});
      if (const auto* name =
              llvm::dyn_cast<clang::DeclRefExpr>(call->getCallee()->IgnoreParenImpCasts())) {
        called_names_.insert(name);
      }
    }
    return true;
  }
  bool VisitBinaryOperator(clang::BinaryOperator* operation) {
    const bool left = is_outside(operation->getLHS()->getType());
    const bool right = is_outside(operation->getRHS()->getType());
    compares_pointers_ |= operation->isComparisonOp() && (left || right);
    compares_pointers_ |= operation->isLogicalOp() && (left || right);
    compares_pointers_ |= operation->getOpcode() == clang::BO_Sub && left && right;
    return true;
  }
  bool VisitUnaryOperator(clang::UnaryOperator* operation) {
    if (operation->getOpcode() == clang::UO_LNot) note_condition(operation->getSubExpr());
    return true;
  }
  bool VisitIfStmt(clang::IfStmt* statement) { return note_condition(statement->getCond()); }
  bool VisitWhileStmt(clang::WhileStmt* loop) { return note_condition(loop->getCond()); }
  bool VisitDoStmt(clang::DoStmt* loop) { return note_condition(loop->getCond()); }
  bool VisitForStmt(clang::ForStmt* loop) { return note_condition(loop->getCond()); }
  bool VisitAbstractConditionalOperator(clang::AbstractConditionalOperator* choice) {
    return note_condition(choice->getCond());
  }
  bool VisitCastExpr(clang::CastExpr* cast) {
    compares_pointers_ |= (cast->getCastKind() == clang::CK_PointerToBoolean ||
                           cast->getCastKind() == clang::CK_PointerToIntegral) &&
                          is_outside(cast->getSubExpr()->getType());
    return true;
  }
  bool VisitDeclRefExpr(clang::DeclRefExpr* name) {
    if (const auto* function = llvm::dyn_cast<FunctionDecl>(name->getDecl())) {
      names_.emplace_back(name, function->getCanonicalDecl());
    }
    return true;
  }

  /// Functions whose name is used other than to call them.
  std::set<const FunctionDecl*> mentioned() const {
    std::set<const FunctionDecl*> result;
    for (const auto& [name, function] : names_) {
      if (!called_names_.contains(name)) {
        result.insert(function);
      }
    }
    return result;
  }

  std::vector<const FunctionDecl*> functions_;  // every declaration and definition
  std::vector<Call> calls_;
  // A pointer into global memory is compared, subtracted from another one, or taken as a number.
  bool compares_pointers_ = false;

 private:
  static bool is_outside(clang::QualType type) {
    if (!type->isPointerType()) return false;
    const clang::LangAS space = type->getPointeeType().getAddressSpace();
    return space == clang::LangAS::opencl_global || space == clang::LangAS::opencl_generic;
  }

  bool note_condition(const clang::Expr* condition) {
    compares_pointers_ |= condition != nullptr && is_outside(condition->getType());
    return true;
  }

  const FunctionDecl* caller_ = nullptr;
  int blocks_ = 0;
  std::set<const clang::DeclRefExpr*> called_names_;
  std::vector<std::pair<const clang::DeclRefExpr*, const FunctionDecl*>> names_;
};

class TextEditor {
 public:
  TextEditor(const clang::SourceManager& sources)
      : sources_(sources), text_(sources.getBufferData(sources.getMainFileID()).str()) {}

  /// The offset in the text, seeing through macro arguments (of the OpenCL header's macros: the
  /// text's own macros are gone). Empty outside the text.
  std::optional<unsigned> offset(SourceLocation location) const {
    if (location.isInvalid()) {
      return std::nullopt;
    }
    const auto [file, at] = sources_.getDecomposedLoc(sources_.getFileLoc(location));
    if (file != sources_.getMainFileID() || at >= text_.size()) {
      return std::nullopt;
    }
    return at;
  }

  const std::string& text() const { return text_; }

  // A location reached twice (a macro that repeats its argument) is edited once.
  void replace(unsigned at, unsigned length, std::string by) {
    edits_[at] = {length, std::move(by)};
  }

  std::string apply() const {
    std::string result;
    size_t done = 0;
    for (const auto& [at, edit] : edits_) {
      result.append(text_, done, at - done);
      result += edit.by;
      done = at + edit.length;
    }
    result.append(text_, done);
    return result;
  }

 private:
  struct Edit {
    unsigned length = 0;
    std::string by;
  };
  const clang::SourceManager& sources_;
  std::string text_;
  std::map<unsigned, Edit> edits_;
};

std::string component(const char* vector, size_t i) {
  return std::string(vector) + ".s" + "0123456789abcdef"[i];
}

class Rewriting {
 public:
  Rewriting(clang::ASTContext& context, uint32_t language, const LinkScope* scope, Shards shards)
      : context_(context),
        editor_(context.getSourceManager()),
        untouched_editor_(context.getSourceManager()),
        language_(language),
        scope_(scope),
        shards_(shards) {
    collector_.TraverseDecl(context.getTranslationUnitDecl());
  }

  RewriteResult run() {
    guard_dimensions();
    find_affected();
    if (shards_ != Shards::kNo) find_sharded();
    for (const FunctionDecl* function : affected_) {
      const FunctionDecl* definition = function->getDefinition();
      if (definition != nullptr && definition->hasAttr<clang::OpenCLKernelAttr>()) {
        result_.kernels.insert(name_of(definition));
      }
    }
    const bool changed = scope_ != nullptr ? !affected_.empty() : !result_.kernels.empty();
    if (!changed && sharded_.empty()) {
      return std::move(result_);
    }
    if (without_helpers()) {
      fail("is linked and in a version of OpenCL C without static functions");
      return std::move(result_);
    }
    check_names();
    for (const FunctionDecl* function : collector_.functions_) {
      if (affected_.contains(function->getCanonicalDecl()) ||
          sharded_.contains(function->getCanonicalDecl())) {
        edit_declaration(function);
      }
    }
    for (const Call& call : collector_.calls_) {
      edit_call(call);
    }
    if (result_.failure.empty()) {
      std::string helpers = guards(guarded_, language_) + prelude(used_, language_);
      if (!result_.panels.empty()) helpers += panel_helper(language_);
      result_.text = finished(std::move(helpers), editor_);
    }
    return std::move(result_);
  }

 private:
  void fail(const std::string& why) {
    if (result_.failure.empty()) {
      result_.failure = why;
    }
  }

  /// Every function that uses a replaced one, itself or through what it calls.
  void find_affected() {
    if (scope_ != nullptr && !scope_->affected.empty()) {
      clang::ASTNameGenerator names(context_);
      for (const FunctionDecl* function : collector_.functions_) {
        if (!function->isImplicit() && scope_->affected.contains(link_name(function, names))) {
          affected_.insert(function->getCanonicalDecl());
        }
      }
    }
    bool grown = true;
    while (grown) {
      grown = false;
      for (const Call& call : collector_.calls_) {
        if (call.caller != nullptr && !affected_.contains(call.caller) &&
            (is_replaced(call.callee) || affected_.contains(call.callee))) {
          affected_.insert(call.caller);
          grown = true;
        }
      }
    }
  }

  /// Kernels that nobody calls, with pointers into global memory that may be changed. A pointer
  /// that is shifted may lead before address 0, where comparisons say something else.
  void find_sharded() {
    if (collector_.compares_pointers_) return;
    std::set<const FunctionDecl*> called;
    for (const Call& call : collector_.calls_) called.insert(call.callee);
    for (const FunctionDecl* function : collector_.functions_) {
      if (!function->hasAttr<clang::OpenCLKernelAttr>() ||
          !function->doesThisDeclarationHaveABody() ||
          called.contains(function->getCanonicalDecl())) {
        continue;
      }
      uint32_t arguments = 0;
      for (uint32_t i = 0; i < function->getNumParams(); ++i) {
        if (i < scheduler::ShardArgument::kArguments && may_shift(*function->getParamDecl(i))) {
          arguments |= uint32_t{1} << i;
        }
      }
      if (arguments == 0) continue;
      sharded_.insert(function->getCanonicalDecl());
      result_.shards[name_of(function)] = arguments;
      const uint32_t panels = shards_ == Shards::kPanels ? edit_subscripts(function, arguments) : 0;
      if (panels != 0) result_.panels[name_of(function)] = panels;
      edit_body(function, arguments & ~panels);
    }
  }

  /// Of these arguments the first ones that may be panels, as bits.
  uint32_t edit_subscripts(const FunctionDecl* function, uint32_t arguments) {
    const auto found = subscripted_arguments(*function);
    uint32_t panels = 0;
    size_t slot = 0;
    for (uint32_t i = 0; i < function->getNumParams(); ++i) {
      const auto one = found.find(function->getParamDecl(i));
      if ((arguments >> i & 1) == 0 || one == found.end()) continue;
      std::vector<Edges> edges;
      for (const Subscript& subscript : one->second) {
        if (const auto both = edges_of(subscript)) edges.push_back(*both);
      }
      if (edges.size() != one->second.size() || slot == scheduler::PanelArgument::kArguments) {
        continue;
      }
      const std::string name = one->first->getName().str();
      const std::string size = "sizeof(" + name + "[0])";
      std::string place = ")*" + size + ',' + component(kShardParameter, i);
      for (size_t k = 0; k < 3; ++k) place += ',' + component(kPanelParameter, 3 * slot + k);
      place += ")/" + size;
      for (const auto& [left, right, brackets] : edges) {
        editor_.replace(left, 1, std::string(brackets ? "[" : "+") + "__tutti_at((ulong)(");
        editor_.replace(right, brackets ? 1 : 0, place + (brackets ? "]" : ""));
      }
      panels |= uint32_t{1} << i;
      ++slot;
    }
    return panels;
  }

  /// Where "[" and "]" of an element stand, or "+" and what is behind its index.
  struct Edges {
    unsigned left = 0, right = 0;
    bool brackets = true;
  };
  std::optional<Edges> edges_of(const Subscript& subscript) const {
    const std::string& text = editor_.text();
    const std::string name = subscript.name->getDecl()->getName().str();
    const auto begin = editor_.offset(subscript.name->getLocation());
    const auto right = editor_.offset(
        subscript.brackets ? subscript.closing
                           : clang::Lexer::getLocForEndOfToken(subscript.index->getEndLoc(), 0,
                                                               context_.getSourceManager(),
                                                               context_.getLangOpts()));
    if (!begin || !right || text.compare(*begin, name.size(), name) != 0) return std::nullopt;
    const size_t left = text.find_first_not_of(" \t\n", *begin + name.size());
    if (left >= *right || text[left] != (subscript.brackets ? '[' : '+')) return std::nullopt;
    if (subscript.brackets && text[*right] != ']') return std::nullopt;
    return Edges{static_cast<unsigned>(left), *right, subscript.brackets};
  }

  static bool may_shift(const clang::ParmVarDecl& parameter) {
    const auto* pointer = parameter.getType()->getAs<clang::PointerType>();
    return pointer != nullptr && !parameter.getType().isConstQualified() &&
           parameter.getIdentifier() != nullptr &&
           pointer->getPointeeType().getAddressSpace() == clang::LangAS::opencl_global;
  }

  /// Behind the body's brace, in the same line. In integers, since what lies before the memory is
  /// no part of any object.
  void edit_body(const FunctionDecl* function, uint32_t arguments) {
    const auto brace = editor_.offset(function->getBody()->getBeginLoc());
    if (!brace || editor_.text()[*brace] != '{') {
      fail("the body of " + name_of(function) + " cannot be edited");
      return;
    }
    std::string text = "{";
    for (uint32_t i = 0; i < scheduler::ShardArgument::kArguments; ++i) {
      if ((arguments >> i & 1) == 0) continue;
      const std::string name = function->getParamDecl(i)->getName().str();
      text += name + "=(__global void*)((size_t)" + name + "-(size_t)" +
              component(kShardParameter, i) + ");";
    }
    editor_.replace(*brace, 1, text);
  }

  static std::string finished(std::string helpers, const TextEditor& editor) {
    if (!editor.text().starts_with("#line")) {
      helpers += "#line 1 \"<source>\"\n";
    }
    return helpers + editor.apply();
  }

  bool names_are_taken() const { return editor_.text().find("__tutti_") != std::string::npos; }

  /// Helpers of two units would clash if they were not static.
  bool without_helpers() const { return scope_ != nullptr && language_ < 120; }

  /// Where the function's name stands in a direct call; empty where it cannot be edited.
  std::optional<unsigned> name_offset(const Call& call) const {
    const auto* callee =
        llvm::dyn_cast<clang::DeclRefExpr>(call.expression->getCallee()->IgnoreParenImpCasts());
    const auto begin = callee != nullptr ? editor_.offset(callee->getLocation()) : std::nullopt;
    const std::string name = name_of(call.callee);
    if (!begin || editor_.text().compare(*begin, name.size(), name) != 0) {
      return std::nullopt;
    }
    return begin;
  }

  /// Calls that ask for a dimension known at run time, or for the size of one that does not exist,
  /// go through a guard, in both variants; what the sub-range variant replaces answers them itself.
  void guard_dimensions() {
    if (names_are_taken() || without_helpers()) {
      return;
    }
    std::set<std::string> used;
    for (const Call& call : collector_.calls_) {
      const std::string name = name_of(call.callee);
      const auto otherwise = default_answer(name);
      if (!is_builtin(call.callee) || !otherwise || call.expression->getNumArgs() != 1) continue;
      const auto dimension = constant(call.expression->getArg(0));
      if (dimension && (*dimension < 3 || *otherwise == 0)) continue;
      const auto begin = name_offset(call);
      if (!begin) {
        continue;
      }
      used.insert(name);
      untouched_editor_.replace(*begin, 0, "__tutti_any_");
      if (!is_replaced(call.callee)) {
        guarded_.insert(name);
        editor_.replace(*begin, 0, "__tutti_any_");
      }
    }
    if (!used.empty()) {
      result_.untouched = finished(guards(used, language_), untouched_editor_);
    }
  }

  /// The value of a dimension that is a constant; numbers that are too large are all alike.
  std::optional<uint64_t> constant(const clang::Expr* dimension) const {
    clang::Expr::EvalResult value;
    if (!dimension->EvaluateAsInt(value, context_)) return std::nullopt;
    return value.Val.getInt().getLimitedValue();
  }

  void check_names() {
    if (names_are_taken()) {
      fail("the program uses names that begin with __tutti_");
    }
    for (const FunctionDecl* function : collector_.mentioned()) {
      if (affected_.contains(function) || is_replaced(function)) {
        fail("takes the address of function " + name_of(function));
      }
    }
  }

  void edit_declaration(const FunctionDecl* function) {
    if (function->isImplicit()) {
      return;
    }
    const clang::FunctionTypeLoc type = function->getFunctionTypeLoc();
    const auto left = type ? editor_.offset(type.getLParenLoc()) : std::nullopt;
    const auto right = type ? editor_.offset(type.getRParenLoc()) : std::nullopt;
    if (!left || !right || editor_.text()[*right] != ')' || function->isVariadic()) {
      fail("the parameters of " + name_of(function) + " cannot be edited");
      return;
    }
    std::string added;
    if (affected_.contains(function->getCanonicalDecl())) added = kParameterDeclaration;
    if (sharded_.contains(function->getCanonicalDecl())) {
      added += (added.empty() ? "" : ", ") + std::string(kShardDeclaration);
    }
    if (result_.panels.contains(name_of(function))) added += ", " + std::string(kPanelDeclaration);
    if (function->getNumParams() == 0) {
      editor_.replace(*left + 1, *right - *left - 1, added);  // "()" or "(void)"
    } else {
      editor_.replace(*right, 0, ", " + added);
    }
  }

  void edit_call(const Call& call) {
    const bool replaced = is_replaced(call.callee);
    if (call.caller == nullptr || (!replaced && !affected_.contains(call.callee))) {
      return;
    }
    const std::string name = name_of(call.callee);
    if (call.in_block) {
      fail("calls " + name + " in a block");
      return;
    }
    const auto end = editor_.offset(call.expression->getRParenLoc());
    if (!end || editor_.text()[*end] != ')') {
      fail("a call of " + name + " cannot be edited");
      return;
    }
    editor_.replace(
        *end, 0, call.expression->getNumArgs() == 0 ? kParameter : std::string(", ") + kParameter);
    if (!replaced) {
      return;
    }
    const auto begin = name_offset(call);
    if (!begin) {
      fail("a call of " + name + " cannot be edited");
      return;
    }
    used_.insert(name);
    editor_.replace(*begin, 0, "__tutti_");
  }

  clang::ASTContext& context_;
  TextEditor editor_;            // of the sub-range variant
  TextEditor untouched_editor_;  // of the other one
  uint32_t language_;
  const LinkScope* scope_;  // null: a whole program
  const Shards shards_;
  Collector collector_;
  std::set<const FunctionDecl*> affected_;  // canonical
  std::set<const FunctionDecl*> sharded_;   // kernels whose arguments are shifted; canonical
  std::set<std::string> used_;              // of the replaced functions
  std::set<std::string> guarded_;           // of the others, in the sub-range variant
  RewriteResult result_;
};

}  // namespace

RewriteResult rewrite_work_items(clang::ASTContext& context, uint32_t language,
                                 const LinkScope* scope, Shards shards) {
  return Rewriting(context, language, scope, shards).run();
}

std::vector<NamedCall> named_calls(clang::ASTContext& context, const std::string& unit) {
  Collector collector;
  collector.TraverseDecl(context.getTranslationUnitDecl());
  clang::ASTNameGenerator names(context);
  const auto name = [&](const FunctionDecl* function) {
    const std::string linked = link_name(function, names);
    return linked.empty() ? unit + ":" + names.getName(function) : linked;
  };
  std::vector<NamedCall> result;
  for (const Call& call : collector.calls_) {
    if (call.caller != nullptr && (is_replaced(call.callee) || !is_builtin(call.callee))) {
      result.push_back({name(call.caller), is_replaced(call.callee) ? "" : name(call.callee)});
    }
  }
  return result;
}

}  // namespace tutti::kernel_compiler
