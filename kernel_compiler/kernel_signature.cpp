// SPDX-License-Identifier: Apache-2.0
#include "kernel_compiler/kernel_signature.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/Decl.h>
#include <clang/Basic/SourceManager.h>
#include <clang/CodeGen/ModuleBuilder.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Metadata.h>
#include <llvm/IR/Module.h>

#include "kernel_compiler/address_space.h"
#include "kernel_compiler/front_end.h"

namespace tutti::kernel_compiler {
namespace {

using scheduler::ArgKind;
using scheduler::Argument;
using scheduler::KernelSummary;

std::string dimensions(const char* name, unsigned x, unsigned y, unsigned z) {
  return std::string(name) + '(' + std::to_string(x) + ',' + std::to_string(y) + ',' +
         std::to_string(z) + ')';
}

/// As CL_KERNEL_ATTRIBUTES reports them: as in the source, separated by spaces.
void read_attributes(const clang::FunctionDecl& kernel, KernelSummary& summary) {
  const auto add = [&](const std::string& text) {
    if (!summary.attributes.empty()) {
      summary.attributes += ' ';
    }
    summary.attributes += text;
  };
  if (const auto* size = kernel.getAttr<clang::ReqdWorkGroupSizeAttr>()) {
    summary.reqd_local[0] = size->getXDim();
    summary.reqd_local[1] = size->getYDim();
    summary.reqd_local[2] = size->getZDim();
    add(dimensions("reqd_work_group_size", size->getXDim(), size->getYDim(), size->getZDim()));
  }
  if (const auto* size = kernel.getAttr<clang::WorkGroupSizeHintAttr>()) {
    add(dimensions("work_group_size_hint", size->getXDim(), size->getYDim(), size->getZDim()));
  }
  if (const auto* hint = kernel.getAttr<clang::VecTypeHintAttr>()) {
    clang::PrintingPolicy policy(kernel.getASTContext().getLangOpts());
    clang::QualType type = hint->getTypeHint();
    std::string name = type.getAsString(policy);
    if (const auto* vector = type->getAs<clang::VectorType>();
        vector != nullptr && type->getAs<clang::TypedefType>() == nullptr) {
      name = vector->getElementType().getUnqualifiedType().getAsString(policy) +
             std::to_string(vector->getNumElements());
    }
    add("vec_type_hint(" + name + ')');
  }
}

std::string text_of(const llvm::MDNode* node, unsigned index) {
  if (node != nullptr && index < node->getNumOperands()) {
    if (const auto* text = llvm::dyn_cast<llvm::MDString>(node->getOperand(index))) {
      return text->getString().str();
    }
  }
  return {};
}

/// As `#line` names it; empty for the source that the application gave.
std::string file_of(const clang::FunctionDecl& kernel) {
  const auto place = kernel.getASTContext().getSourceManager().getPresumedLoc(kernel.getLocation());
  const std::string name = place.isValid() ? place.getFilename() : kSourceName;
  return name == kSourceName ? std::string() : name;
}

bool has_word(const std::string& list, const std::string& word) {
  return (' ' + list + ' ').find(' ' + word + ' ') != std::string::npos;
}

void read_kind(const llvm::Function& kernel, unsigned index, Argument& argument) {
  const llvm::Argument& parameter = *kernel.getArg(index);
  const llvm::DataLayout& layout = kernel.getParent()->getDataLayout();
  llvm::Type* type = parameter.getType();
  if (type->isPointerTy()) {
    if (llvm::Type* value = parameter.getParamByValType()) {
      argument.kind = ArgKind::kScalar;  // a structure by value
      argument.size = static_cast<uint32_t>(layout.getTypeAllocSize(value).getFixedValue());
      return;
    }
    switch (type->getPointerAddressSpace()) {
      case kGlobalSpace:
        argument.kind = ArgKind::kGlobal;
        break;
      case kConstantSpace:
        argument.kind = ArgKind::kConstant;
        break;
      case kLocalSpace:
        argument.kind = ArgKind::kLocal;
        break;
      default:
        argument.kind = ArgKind::kOther;
        break;
    }
    return;
  }
  if (const auto* opaque = llvm::dyn_cast<llvm::TargetExtType>(type)) {
    argument.kind = opaque->getName() == "spirv.Image"     ? ArgKind::kImage
                    : opaque->getName() == "spirv.Sampler" ? ArgKind::kSampler
                    : opaque->getName() == "spirv.Pipe"    ? ArgKind::kPipe
                    : opaque->getName() == "spirv.Queue"   ? ArgKind::kQueue
                                                           : ArgKind::kOther;
    return;
  }
  argument.kind = ArgKind::kScalar;
  argument.size = static_cast<uint32_t>(layout.getTypeAllocSize(type).getFixedValue());
}

}  // namespace

std::vector<KernelSummary> declared_kernels(clang::ASTContext& context,
                                            const BuildOptions& options) {
  std::vector<KernelSummary> kernels;
  for (const clang::Decl* declaration : context.getTranslationUnitDecl()->decls()) {
    const auto* function = llvm::dyn_cast<clang::FunctionDecl>(declaration);
    if (function != nullptr && function->isThisDeclarationADefinition() &&
        function->hasAttr<clang::OpenCLKernelAttr>()) {
      KernelSummary kernel;
      kernel.name = function->getName().str();
      kernel.file = file_of(*function);
      kernel.argument_info = options.argument_info;
      // "If the program was compiled with -cl-std=CL2.0 or later", without the option against it.
      kernel.smaller_groups = !options.uniform_groups && context.getLangOpts().OpenCLVersion >= 200;
      read_attributes(*function, kernel);
      kernels.push_back(std::move(kernel));
    }
  }
  return kernels;
}

std::set<std::string> foreign_functions(clang::CodeGenerator& generator) {
  std::set<std::string> names;
  for (const llvm::Function& function : *generator.GetModule()) {
    if (!function.isDeclaration() || function.isIntrinsic()) {
      continue;
    }
    const auto* declaration = llvm::dyn_cast_or_null<clang::FunctionDecl>(
        generator.GetDeclForMangledName(function.getName()));
    if (declaration == nullptr || declaration->isImplicit() || declaration->getBuiltinID() != 0) {
      continue;
    }
    // Clang's header declares some built-ins (printf); the program's text is the main file.
    const clang::SourceManager& sources = declaration->getASTContext().getSourceManager();
    if (sources.isInMainFile(sources.getFileLoc(declaration->getLocation()))) {
      names.insert(function.getName().str());
    }
  }
  return names;
}

bool read_arguments(const llvm::Function& kernel, std::vector<Argument>& arguments) {
  const llvm::MDNode* names = kernel.getMetadata("kernel_arg_name");
  const llvm::MDNode* types = kernel.getMetadata("kernel_arg_type");
  const llvm::MDNode* qualifiers = kernel.getMetadata("kernel_arg_type_qual");
  const llvm::MDNode* accesses = kernel.getMetadata("kernel_arg_access_qual");
  const unsigned count = names != nullptr ? names->getNumOperands() : 0;
  const bool matched = count == kernel.arg_size();
  for (unsigned i = 0; i < count; ++i) {
    Argument argument;
    argument.name = text_of(names, i);
    argument.type_name = text_of(types, i);
    const std::string qualifier = text_of(qualifiers, i);
    argument.is_const = has_word(qualifier, "const");
    argument.is_restrict = has_word(qualifier, "restrict");
    argument.is_volatile = has_word(qualifier, "volatile");
    if (const std::string access = text_of(accesses, i); access != "none") {
      argument.access = access;
    }
    if (matched) {
      read_kind(kernel, i, argument);
    } else {
      argument.kind = ArgKind::kOther;
    }
    arguments.push_back(std::move(argument));
  }
  return matched;
}

}  // namespace tutti::kernel_compiler
