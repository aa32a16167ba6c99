// SPDX-License-Identifier: Apache-2.0
#include "kernel_compiler/watched_files.h"

#include "kernel_compiler/file_state.h"

namespace tutti::kernel_compiler {
namespace {

constexpr uint64_t kMostOfFile = uint64_t{1} << 31;  // Clang takes no larger ones

/// A file whose content is known: what Clang reads is what was noted.
class ReadFile final : public llvm::vfs::File {
 public:
  ReadFile(llvm::vfs::Status status, std::unique_ptr<llvm::MemoryBuffer> content)
      : status_(std::move(status)), content_(std::move(content)) {}
  llvm::ErrorOr<llvm::vfs::Status> status() override { return status_; }
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> getBuffer(const llvm::Twine& name, int64_t,
                                                               bool, bool) override {
    return llvm::MemoryBuffer::getMemBufferCopy(content_->getBuffer(), name);
  }
  std::error_code close() override { return {}; }

 private:
  llvm::vfs::Status status_;
  std::unique_ptr<llvm::MemoryBuffer> content_;
};

}  // namespace

void WatchedFiles::note(const llvm::Twine& path, std::string_view state) {
  const auto [at, first] = states_.try_emplace(path.str(), state);
  if (first || at->second == state) return;
  // Looked at before it was read is one thing, another content since then another.
  if (at->second == kPresent && state != kAbsent && state != kFolder) {
    at->second = state;
  } else if (state != kPresent || at->second == kAbsent || at->second == kFolder) {
    complete_ = false;
  }
}

llvm::ErrorOr<llvm::vfs::Status> WatchedFiles::status(const llvm::Twine& path) {
  auto status = ProxyFileSystem::status(path);
  note(path, !status ? kAbsent : status->isDirectory() ? kFolder : kPresent);
  return status;
}

bool WatchedFiles::exists(const llvm::Twine& path) { return static_cast<bool>(status(path)); }

llvm::ErrorOr<std::unique_ptr<llvm::vfs::File>> WatchedFiles::openFileForRead(
    const llvm::Twine& path) {
  // Opening a pipe might wait for ever, a device might do anything.
  const auto before = ProxyFileSystem::status(path);
  if (before && !before->isRegularFile() && !before->isDirectory() && path.str() != "/dev/null") {
    complete_ = false;
    return std::make_error_code(std::errc::operation_not_supported);
  }
  if (before && before->getSize() > kMostOfFile) {
    complete_ = false;
    return std::make_error_code(std::errc::file_too_large);
  }
  auto file = ProxyFileSystem::openFileForRead(path);
  if (!file) {
    note(path, kAbsent);
    return file;
  }
  auto status = (*file)->status();
  if (status && status->isDirectory()) {
    note(path, kFolder);
    return file;
  }
  if (!status || !status->isRegularFile()) {  // a pipe, say
    complete_ = false;
    return file;
  }
  auto content = (*file)->getBuffer(path);
  if (!content) {
    note(path, kAbsent);
    return content.getError();
  }
  note(path, state_of_content((*content)->getBuffer()));
  return std::make_unique<ReadFile>(
      llvm::vfs::Status::copyWithNewSize(*status, (*content)->getBufferSize()),
      std::move(*content));
}

llvm::vfs::directory_iterator WatchedFiles::dir_begin(const llvm::Twine& folder,
                                                      std::error_code& error) {
  complete_ = false;
  return ProxyFileSystem::dir_begin(folder, error);
}

std::vector<FileLookup> WatchedFiles::lookups() const {
  std::vector<FileLookup> lookups;
  for (const auto& [path, state] : states_) lookups.push_back({path, state});
  return lookups;
}

}  // namespace tutti::kernel_compiler
