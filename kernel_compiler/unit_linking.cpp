// SPDX-License-Identifier: Apache-2.0
#include "kernel_compiler/unit_linking.h"

#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/raw_ostream.h>

namespace tutti::kernel_compiler {
namespace {

void note(const llvm::DiagnosticInfo* info, void* log) {
  if (info->getSeverity() != llvm::DS_Error) {
    return;
  }
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::DiagnosticPrinterRawOStream printer(stream);
  info->print(printer);
  static_cast<std::string*>(log)->append("error: " + text + "\n");
}

}  // namespace

std::set<std::string> affected_functions(const std::vector<NamedCall>& calls) {
  std::set<std::string> affected;
  bool grown = true;
  while (grown) {
    grown = false;
    for (const NamedCall& call : calls) {
      if (call.callee.empty() || affected.contains(call.callee)) {
        grown |= affected.insert(call.caller).second;
      }
    }
  }
  return affected;
}

std::string redefined_builtin(const std::vector<std::unique_ptr<llvm::Module>>& modules,
                              const std::vector<std::set<std::string>>& foreign) {
  std::set<std::string> builtins;
  for (size_t i = 0; i < modules.size(); ++i) {
    for (const llvm::Function& function : *modules[i]) {
      const std::string name = function.getName().str();
      if (function.isDeclaration() && !function.isIntrinsic() && !foreign[i].contains(name)) {
        builtins.insert(name);
      }
    }
  }
  for (const auto& module : modules) {
    for (const llvm::Function& function : *module) {
      const std::string name = function.getName().str();
      if (!function.isDeclaration() && !function.hasLocalLinkage() && builtins.contains(name)) {
        return name;
      }
    }
  }
  return {};
}

std::unique_ptr<llvm::Module> link_modules(std::vector<std::unique_ptr<llvm::Module>> modules,
                                           std::string& log) {
  llvm::LLVMContext& context = modules.front()->getContext();
  // The default handler ends the process at an error.
  context.setDiagnosticHandlerCallBack(note, &log);
  std::unique_ptr<llvm::Module> whole = std::move(modules.front());
  bool failed = false;
  for (size_t i = 1; i < modules.size() && !failed; ++i) {
    failed = llvm::Linker::linkModules(*whole, std::move(modules[i]));
  }
  context.setDiagnosticHandlerCallBack(nullptr, nullptr);
  if (failed) {
    whole.reset();
  }
  return whole;
}

std::vector<std::string> unresolved_names(const llvm::Module& module,
                                          const std::set<std::string>& foreign) {
  std::vector<std::string> names;
  for (const llvm::Function& function : module) {
    const std::string name = function.getName().str();
    if (function.isDeclaration() && !function.use_empty() && foreign.contains(name)) {
      names.push_back(name);
    }
  }
  for (const llvm::GlobalVariable& variable : module.globals()) {
    if (variable.isDeclaration() && !variable.use_empty()) {
      names.push_back(variable.getName().str());
    }
  }
  return names;
}

}  // namespace tutti::kernel_compiler
