// SPDX-License-Identifier: Apache-2.0
// The real file system for Clang, with a note of everything that was asked of it. For one
// compilation, in one thread.
#pragma once

#include <llvm/Support/VirtualFileSystem.h>

#include <vector>

#include "kernel_compiler/compile_types.h"

namespace tutti::kernel_compiler {

class WatchedFiles final : public llvm::vfs::ProxyFileSystem {
 public:
  WatchedFiles() : ProxyFileSystem(llvm::vfs::getRealFileSystem()) {}

  llvm::ErrorOr<llvm::vfs::Status> status(const llvm::Twine& path) override;
  bool exists(const llvm::Twine& path) override;
  llvm::ErrorOr<std::unique_ptr<llvm::vfs::File>> openFileForRead(const llvm::Twine& path) override;
  llvm::vfs::directory_iterator dir_begin(const llvm::Twine& folder,
                                          std::error_code& error) override;

  /// Every path once.
  std::vector<FileLookup> lookups() const;
  /// Whether the lookups say all that was seen.
  bool complete() const { return complete_; }

 private:
  void note(const llvm::Twine& path, std::string_view state);

  std::map<std::string, std::string> states_;  // by path
  bool complete_ = true;
};

}  // namespace tutti::kernel_compiler
