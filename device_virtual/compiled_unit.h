// SPDX-License-Identifier: Apache-2.0
// A translation unit of clCompileProgram, with the vendors' objects of it: made at first use, once
// per backend, and shared by the program object, the libraries that hold it and the programs that
// it was linked into. Thread-safe; no lock is held while a vendor compiles.
#pragma once

#include <CL/cl.h>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "backends/api/backend.h"
#include "base/result.h"
#include "scheduler/exec/backend_set.h"

namespace tutti::device_virtual {

/// One T per backend, each made by the first thread that asks for it. Failures are remembered, too.
template <typename T>
class MadeOnce {
 public:
  explicit MadeOnce(size_t backends) : slots_(backends) {}

  /// `make` returns what there is, or null and why.
  template <typename Make>
  Result<T*> get(uint32_t backend, Make&& make) {
    Slot& slot = slots_[backend];
    {
      std::unique_lock lock(mutex_);
      made_.wait(lock, [&] { return slot.state != State::kMaking; });
      if (slot.state == State::kMade) return answer(slot);
      slot.state = State::kMaking;
    }
    std::pair<std::unique_ptr<T>, Error> made = make();
    {
      const std::lock_guard lock(mutex_);
      slot.object = std::move(made.first);
      slot.error = std::move(made.second);
      slot.state = State::kMade;
    }
    made_.notify_all();
    return answer(slot);
  }

 private:
  // kNone ──(first caller)──▶ kMaking ──▶ kMade (object or error, constant from then on)
  enum class State : uint8_t { kNone, kMaking, kMade };
  struct Slot {
    State state = State::kNone;  // guarded by mutex_
    std::unique_ptr<T> object;   // constant once kMade
    Error error;                 // constant once kMade; why there is no object
  };
  static Result<T*> answer(const Slot& slot) {
    if (slot.object != nullptr) return slot.object.get();
    return tl::unexpected<Error>(slot.error);
  }

  std::mutex mutex_;
  std::condition_variable made_;
  std::vector<Slot> slots_;
};

class CompiledUnit {
 public:
  CompiledUnit(std::string source, std::string options)
      : source_(std::move(source)),
        options_(std::move(options)),
        objects_(scheduler::kMostBackends) {}

  /// Preprocessed, as a binary keeps it and as the front end reads it when the unit is linked.
  const std::string& source() const { return source_; }
  /// For vendors' compilers.
  const std::string& options() const { return options_; }

  /// The vendor's object. `text` is what vendors compile of source(): the front end says it, always
  /// the same.
  Result<backends::Object*> object(scheduler::BackendSet& backends, uint32_t index,
                                   const std::string& text);

 private:
  const std::string source_;
  const std::string options_;
  MadeOnce<backends::Object> objects_;
};

/// Calls of vendors' compilers: nothing may escape from them, since they happen in threads of ours.
/// Without the vendor's warnings: the front end has given its own, and a vendor's would reach
/// nobody (PoCL writes them to stderr).
backends::BuildResult vendor_build(backends::Backend& backend, const std::string& source,
                                   const std::string& options) noexcept;
backends::ObjectResult vendor_compile(backends::Backend& backend, const std::string& source,
                                      const std::string& options) noexcept;
backends::BuildResult vendor_load(backends::Backend& backend,
                                  std::span<const std::byte> binary) noexcept;
backends::BuildResult vendor_link(backends::Backend& backend,
                                  const std::vector<backends::Object*>& objects,
                                  const std::string& options) noexcept;

}  // namespace tutti::device_virtual
