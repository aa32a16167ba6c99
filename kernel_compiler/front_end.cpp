// SPDX-License-Identifier: Apache-2.0
#include "kernel_compiler/front_end.h"

#include <clang/AST/ASTConsumer.h>
#include <clang/AST/ASTContext.h>
#include <clang/AST/RecursiveASTVisitor.h>
#include <clang/Basic/Diagnostic.h>
#include <clang/Basic/DiagnosticOptions.h>
#include <clang/Basic/FileManager.h>
#include <clang/CodeGen/ModuleBuilder.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/FrontendAction.h>
#include <clang/Frontend/FrontendActions.h>
#include <clang/Frontend/MultiplexConsumer.h>
#include <clang/Frontend/PreprocessorOutputOptions.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#include <clang/Frontend/Utils.h>
#include <clang/Lex/PPCallbacks.h>
#include <clang/Lex/Pragma.h>
#include <clang/Lex/Preprocessor.h>
#include <clang/Lex/PreprocessorOptions.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/VirtualFileSystem.h>
#include <llvm/Support/raw_ostream.h>

#include <map>
#include <string_view>

#include "kernel_compiler/predefined_macros.h"
#include "kernel_compiler/resource_header.h"
#include "kernel_compiler/watched_files.h"

namespace tutti::kernel_compiler {
namespace {

constexpr char kHeaderFolder[] = "/.tutti/headers/";
constexpr char kResourceFolder[] = "/.tutti/resource";

/// As Clang knows it: what OpenCL C 3.1 has more is functions of extensions, printf's `z` and `t`,
/// which Clang takes in any version, and macros (predefined_macros()).
std::string language_name(uint32_t language) {
  language = std::min(language, 300u);
  return "CL" + std::to_string(language / 100) + "." + std::to_string(language / 10 % 10);
}

/// The arguments that both stages share, as `clang -cc1` takes them.
std::vector<std::string> common_arguments(const FrontEndSettings& settings) {
  const BuildOptions& options = settings.options;
  std::vector<std::string> arguments = {
      "-triple",
      settings.request->address_bits == 32 ? "spir-unknown-unknown" : "spir64-unknown-unknown",
      "-x",
      "cl",
      "-cl-std=" + language_name(settings.language),
      "-cl-ext=" + clang_extension_list(*settings.request),
      "-nostdsysteminc",
      "-nobuiltininc",
  };
  if (options.no_warnings) {
    arguments.push_back("-w");
  }
  if (options.warnings_are_errors) {
    arguments.push_back("-Werror");
  }
  if (options.single_precision_constants) {
    arguments.push_back("-cl-single-precision-constant");
  }
  if (options.fast_relaxed_math) {
    arguments.push_back("-cl-fast-relaxed-math");  // for the macro __FAST_RELAXED_MATH__
  }
  return arguments;
}

std::vector<std::string> parse_arguments(const FrontEndSettings& settings) {
  std::vector<std::string> arguments = common_arguments(settings);
  arguments.insert(arguments.end(), {"-fdeclare-opencl-builtins", "-finclude-default-header",
                                     "-internal-isystem", kResourceFolder,
                                     // Clang declares functions of depth images for this alone, and
                                     // devices without the extension may have the images. (Programs
                                     // do not see it: their text is preprocessed.)
                                     "-Dcl_khr_depth_images=1"});
  return arguments;
}

/// Nothing but Clang's own header: preprocessed text includes no file.
llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> resource_files() {
  llvm::IntrusiveRefCntPtr<llvm::vfs::InMemoryFileSystem> files(new llvm::vfs::InMemoryFileSystem);
  files->addFile(
      llvm::Twine(kResourceFolder) + "/opencl-c-base.h", 0,
      llvm::MemoryBuffer::getMemBuffer(llvm::StringRef(kOpenClBaseHeader, kOpenClBaseHeaderSize)));
  return files;
}

/// A compiler instance with its own file system, whose diagnostics end in a string.
class Session {
 public:
  Session(const std::vector<std::string>& arguments, const std::string& source,
          llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files, std::string& log)
      : stream_(log), buffer_(llvm::MemoryBuffer::getMemBuffer(source, kSourceName)) {
    std::vector<const char*> pointers;
    for (const std::string& argument : arguments) {
      pointers.push_back(argument.c_str());
    }
    auto* printer = new clang::TextDiagnosticPrinter(stream_, &instance_.getDiagnosticOpts());
    instance_.createDiagnostics(printer, /*ShouldOwnClient=*/true);
    usable_ = clang::CompilerInvocation::CreateFromArgs(instance_.getInvocation(), pointers,
                                                        instance_.getDiagnostics());
    // The engine was made before -w and -Werror were known.
    clang::ProcessWarningOptions(instance_.getDiagnostics(), instance_.getDiagnosticOpts(),
                                 /*ReportDiags=*/false);
    instance_.setVerboseOutputStream(stream_);  // its default is the process's stderr
    auto& front_end = instance_.getFrontendOpts();
    front_end.Inputs.clear();
    front_end.Inputs.emplace_back(
        buffer_->getMemBufferRef(),
        clang::InputKind(clang::Language::OpenCL, clang::InputKind::Source));
    front_end.DisableFree = false;
    instance_.getCodeGenOpts().DisableFree = false;
    instance_.createFileManager(std::move(files));
  }

  clang::CompilerInstance& instance() { return instance_; }

  bool run(clang::FrontendAction& action) {
    return usable_ && instance_.ExecuteAction(action) &&
           !instance_.getDiagnostics().hasErrorOccurred();
  }

 private:
  llvm::raw_string_ostream stream_;
  std::unique_ptr<llvm::MemoryBuffer> buffer_;
  clang::CompilerInstance instance_;
  bool usable_ = false;
};

/// Clang prints pragmas as they are, but `#pragma unroll N` takes macros for its number. This keeps
/// the directives out of the printed text, and notes where they belong.
class UnrollPragmas final : public clang::PragmaHandler {
 public:
  struct Place {
    size_t at = 0;      // in the printed text
    uint32_t line = 0;  // of the directive
    std::string text;
  };
  UnrollPragmas(const std::string& printed, std::vector<Place>& places)
      : clang::PragmaHandler("unroll"), printed_(printed), places_(places) {}

  void HandlePragma(clang::Preprocessor& preprocessor, clang::PragmaIntroducer,
                    clang::Token& name) override {
    const clang::SourceManager& sources = preprocessor.getSourceManager();
    Place place{printed_.size(), sources.getPresumedLoc(name.getLocation()).getLine(),
                "#pragma unroll"};
    clang::Token next;
    for (preprocessor.Lex(next); next.isNot(clang::tok::eod); preprocessor.Lex(next)) {
      place.text += ' ' + preprocessor.getSpelling(next);
    }
    places_.push_back(std::move(place));
  }

  /// Puts the directives back. Where they had a line of their own, that is empty in the text.
  static void insert(const std::vector<Place>& places, std::string& text) {
    for (auto place = places.rbegin(); place != places.rend(); ++place) {
      const bool own_line =
          text.compare(place->at, 2, "\n\n") == 0 || text.compare(place->at, 6, "\n#line") == 0;
      text.insert(place->at, '\n' + place->text +
                                 (own_line ? "" : "\n#line " + std::to_string(place->line) + "\n"));
      // The empty line has become the directive's.
      const size_t end = place->at + 1 + place->text.size();
      if (text.compare(end, 2, "\n\n") == 0) text.erase(end, 1);
    }
  }

 private:
  const std::string& printed_;
  std::vector<Place>& places_;
};

/// Notes that a program contains the time of its compilation, or of a file's last change.
class TimeMacros final : public clang::PPCallbacks {
 public:
  explicit TimeMacros(bool& used) : used_(used) {}
  void MacroExpands(const clang::Token& name, const clang::MacroDefinition&, clang::SourceRange,
                    const clang::MacroArgs*) override {
    const llvm::StringRef macro = name.getIdentifierInfo()->getName();
    used_ |= macro == "__DATE__" || macro == "__TIME__" || macro == "__TIMESTAMP__";
  }

 private:
  bool& used_;
};

class PreprocessAction final : public clang::PreprocessorFrontendAction {
 public:
  explicit PreprocessAction(std::string& text) : text_(text) {}
  bool shows_time() const { return shows_time_; }

 protected:
  void ExecuteAction() override {
    llvm::raw_string_ostream stream(text_);
    clang::PreprocessorOutputOptions options;
    options.ShowCPP = true;
    options.ShowLineMarkers = true;
    options.UseLineDirectives = true;  // plain `#line`, which every compiler takes
    clang::Preprocessor& preprocessor = getCompilerInstance().getPreprocessor();
    std::vector<UnrollPragmas::Place> places;
    preprocessor.AddPragmaHandler(new UnrollPragmas(text_, places));  // which owns it
    preprocessor.addPPCallbacks(std::make_unique<TimeMacros>(shows_time_));
    clang::DoPrintPreprocessedInput(preprocessor, &stream, options);
    UnrollPragmas::insert(places, text_);
  }

 private:
  std::string& text_;
  bool shows_time_ = false;
};

class VisitingConsumer final : public clang::ASTConsumer {
 public:
  VisitingConsumer(const TreeVisitor& visit, clang::CodeGenerator& generator)
      : visit_(visit), generator_(generator) {}
  void HandleTranslationUnit(clang::ASTContext& context) override {
    if (!context.getDiagnostics().hasErrorOccurred()) {
      visit_(context, generator_);
    }
  }

 private:
  const TreeVisitor& visit_;
  clang::CodeGenerator& generator_;
};

/// The functions that a piece of a tree names.
class NamedFunctions : public clang::RecursiveASTVisitor<NamedFunctions> {
 public:
  bool VisitDeclRefExpr(clang::DeclRefExpr* name) {
    if (auto* function = llvm::dyn_cast<clang::FunctionDecl>(name->getDecl())) {
      found.push_back(function->getCanonicalDecl());
    }
    return true;
  }
  std::vector<clang::FunctionDecl*> found;
};

/// Generates code for kernels and for the functions that they may reach. Programs include whole
/// libraries, whose code would take most of the time. A function that this overlooks stays a mere
/// declaration, and a kernel that calls it whole.
class ReachedFunctionsConsumer final : public clang::MultiplexConsumer {
 public:
  using clang::MultiplexConsumer::MultiplexConsumer;

  bool HandleTopLevelDecl(clang::DeclGroupRef group) override {
    for (clang::Decl* declaration : group) {
      auto* function = llvm::dyn_cast<clang::FunctionDecl>(declaration);
      const bool definition = function != nullptr && function->isThisDeclarationADefinition();
      if (definition && group.isSingleDecl() && !function->hasAttr<clang::OpenCLKernelAttr>()) {
        waiting_.emplace(function->getCanonicalDecl(), function);
        return true;
      }
      if (function == nullptr || definition) roots_.push_back(declaration);
    }
    return clang::MultiplexConsumer::HandleTopLevelDecl(group);
  }

  void HandleTranslationUnit(clang::ASTContext& context) override {
    NamedFunctions names;
    for (clang::Decl* root : roots_) names.TraverseDecl(root);
    while (!names.found.empty()) {
      const auto node = waiting_.extract(names.found.back());
      names.found.pop_back();
      if (node.empty()) continue;  // met before, or not defined here
      names.TraverseDecl(node.mapped());
      clang::MultiplexConsumer::HandleTopLevelDecl(clang::DeclGroupRef(node.mapped()));
    }
    clang::MultiplexConsumer::HandleTranslationUnit(context);
  }

 private:
  std::vector<clang::Decl*> roots_;
  std::map<clang::FunctionDecl*, clang::FunctionDecl*> waiting_;  // canonical -> definition
};

class ParseAction final : public clang::ASTFrontendAction {
 public:
  ParseAction(llvm::LLVMContext& context, const TreeVisitor& visit, Emit emit)
      : context_(context), visit_(visit), emit_(emit) {}
  std::unique_ptr<llvm::Module> take() { return std::move(module_); }

 protected:
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& instance,
                                                        llvm::StringRef) override {
    std::unique_ptr<clang::CodeGenerator> generator(clang::CreateLLVMCodeGen(
        instance.getDiagnostics(), kSourceName, &instance.getVirtualFileSystem(),
        instance.getHeaderSearchOpts(), instance.getPreprocessorOpts(), instance.getCodeGenOpts(),
        context_));
    generator_ = generator.get();
    std::vector<std::unique_ptr<clang::ASTConsumer>> consumers;
    consumers.push_back(std::move(generator));
    if (emit_ == Emit::kReached) {
      auto reached = std::make_unique<ReachedFunctionsConsumer>(std::move(consumers));
      consumers.clear();
      consumers.push_back(std::move(reached));
    }
    // After the code generator, so that its names for functions exist.
    consumers.push_back(std::make_unique<VisitingConsumer>(visit_, *generator_));
    return std::make_unique<clang::MultiplexConsumer>(std::move(consumers));
  }
  void EndSourceFileAction() override {
    if (generator_ != nullptr && !getCompilerInstance().getDiagnostics().hasErrorOccurred()) {
      module_.reset(generator_->ReleaseModule());
    }
  }

 private:
  llvm::LLVMContext& context_;
  const TreeVisitor& visit_;
  Emit emit_;
  clang::CodeGenerator* generator_ = nullptr;
  std::unique_ptr<llvm::Module> module_;
};

class CheckAction final : public clang::ASTFrontendAction {
 public:
  using Visit = std::function<void(clang::ASTContext&)>;
  CheckAction(const Visit& visit, bool with_errors) : visit_(visit), with_errors_(with_errors) {}

 protected:
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance&,
                                                        llvm::StringRef) override {
    return std::make_unique<Consumer>(visit_, with_errors_);
  }

 private:
  class Consumer final : public clang::ASTConsumer {
   public:
    Consumer(const Visit& visit, bool with_errors) : visit_(visit), with_errors_(with_errors) {}
    void HandleTranslationUnit(clang::ASTContext& context) override {
      if (visit_ && (with_errors_ || !context.getDiagnostics().hasErrorOccurred())) {
        visit_(context);
      }
    }

   private:
    const Visit& visit_;
    const bool with_errors_;
  };
  const Visit& visit_;
  const bool with_errors_;
};

/// In messages and line marks a header of clCompileProgram has the name it was given.
void show_header_names(std::string& text) {
  const size_t length = sizeof kHeaderFolder - 1;
  for (size_t at = text.find(kHeaderFolder); at != std::string::npos;
       at = text.find(kHeaderFolder, at)) {
    text.erase(at, length);
  }
}

/// Drops the marks of Clang's own macro buffers, which come before the source's first.
void drop_leading_marks(std::string& text) {
  constexpr std::string_view kMark = "#line ";
  size_t begin = 0;
  for (;;) {
    const size_t end = text.find('\n', begin);
    if (end == std::string::npos || text.compare(begin, kMark.size(), kMark) != 0 ||
        text.compare(end + 1, kMark.size(), kMark) != 0) {
      break;
    }
    begin = end + 1;
  }
  text.erase(0, begin);
}

}  // namespace

bool preprocess(const FrontEndSettings& settings, CompileOutput& output) {
  std::vector<std::string> arguments = common_arguments(settings);
  // Headers given to clCompileProgram come before any folder (section 5.8.2).
  arguments.insert(arguments.end(), {"-I", kHeaderFolder});
  for (const std::string& folder : settings.options.include_folders) {
    arguments.insert(arguments.end(), {"-I", folder});
  }
  arguments.insert(arguments.end(), {"-I", "."});  // as vendors do

  llvm::IntrusiveRefCntPtr<llvm::vfs::InMemoryFileSystem> memory(new llvm::vfs::InMemoryFileSystem);
  for (const EmbeddedHeader& header : settings.request->headers) {
    memory->addFile(kHeaderFolder + header.name, 0,
                    llvm::MemoryBuffer::getMemBuffer(header.source, header.name));
  }
  llvm::IntrusiveRefCntPtr<WatchedFiles> real(new WatchedFiles);
  llvm::IntrusiveRefCntPtr<llvm::vfs::OverlayFileSystem> files(
      new llvm::vfs::OverlayFileSystem(real));
  files->pushOverlay(memory);

  Session session(arguments, settings.request->source, files, output.log);
  auto& macros = session.instance().getPreprocessorOpts();
  const auto add = [&](const MacroOption& macro) {
    if (macro.undefine) {
      macros.addMacroUndef(macro.text);
    } else {
      macros.addMacroDef(macro.text);
    }
  };
  for (const MacroOption& macro : predefined_macros(*settings.request, settings.language)) {
    add(macro);
  }
  for (const MacroOption& macro : settings.options.macros) {
    add(macro);
  }
  PreprocessAction action(output.preprocessed);
  const bool ok = session.run(action);
  output.files = real->lookups();
  output.repeatable = real->complete() && !action.shows_time();
  drop_leading_marks(output.preprocessed);
  if (!settings.request->headers.empty()) {
    show_header_names(output.preprocessed);
    show_header_names(output.log);
  }
  return ok;
}

std::unique_ptr<llvm::Module> parse(const FrontEndSettings& settings, const std::string& text,
                                    llvm::LLVMContext& context, const TreeVisitor& visit, Emit emit,
                                    std::string& log) {
  std::vector<std::string> arguments = parse_arguments(settings);
  arguments.insert(
      arguments.end(),
      {"-O1", "-disable-llvm-passes", "-disable-lifetime-markers", "-cl-kernel-arg-info",
       // Lines are wanted for reasons; columns would make locations many and slow.
       "-debug-info-kind=line-tables-only", "-gno-column-info",
       // A store of a float3 writes 12 bytes that a program can rely on.
       "-fpreserve-vec3-type"});
  Session session(arguments, text, resource_files(), log);
  ParseAction action(context, visit, emit);
  if (!session.run(action)) {
    return nullptr;
  }
  return action.take();
}

bool check(const FrontEndSettings& settings, const std::string& text, std::string& log,
           const std::function<void(clang::ASTContext&)>& visit, bool with_errors) {
  Session session(parse_arguments(settings), text, resource_files(), log);
  CheckAction action(visit, with_errors);
  return session.run(action);
}

}  // namespace tutti::kernel_compiler
