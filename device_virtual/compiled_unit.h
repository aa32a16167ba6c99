// SPDX-License-Identifier: Apache-2.0
// A translation unit of clCompileProgram, with the vendors' objects of it: made at first use, once
// per backend, and shared by the program object, the libraries that hold it and the programs that
// it was linked into. Thread-safe; no lock is held while a vendor compiles.
#pragma once

#include <CL/cl.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/api/backend.h"
#include "base/result.h"
#include "base/thread_annotations.h"
#include "scheduler/devices/backend_set.h"

namespace tutti::device_virtual {

/// What came of making a T: the object, or why there is none. `passing`: since its device was lost,
/// which says nothing of the next try.
template <typename T>
struct Attempt {
  std::unique_ptr<T> object;
  Error error{};
  bool passing = false;
};

/// One T per backend, each made by the first thread that asks for it. Failures are remembered, too,
/// but not those that pass, nor what `make` throws.
template <typename T>
class MadeOnce {
 public:
  explicit MadeOnce(size_t backends) : states_(backends, State::kNone), slots_(backends) {}

  /// `make` returns an Attempt<T>.
  template <typename Make>
  Result<T*> get(uint32_t backend, Make&& make) {
    Slot& slot = slots_[backend];
    {
      const MutexLock lock(mutex_);
      while (states_[backend] == State::kMaking) made_.wait(mutex_);
      if (states_[backend] == State::kMade) return answer(slot);
      states_[backend] = State::kMaking;
    }
    Attempt<T> made;
    try {
      made = make();
    } catch (...) {
      // For want of memory, which says nothing of the next try.
      const MutexLock lock(mutex_);
      states_[backend] = State::kNone;
      made_.notify_all();
      throw;
    }
    {
      const MutexLock lock(mutex_);
      if (made.passing) {
        states_[backend] = State::kNone;
      } else {
        slot.object = std::move(made.object);
        slot.error = std::move(made.error);
        states_[backend] = State::kMade;
      }
    }
    made_.notify_all();
    if (made.passing) return tl::unexpected<Error>(std::move(made.error));
    return answer(slot);
  }

 private:
  // kNone ──(first caller)──▶ kMaking ──▶ kMade (object or error, constant from then on), or kNone
  enum class State : uint8_t { kNone, kMaking, kMade };
  struct Slot {
    std::unique_ptr<T> object;
    Error error;  // why there is no object
  };
  static Result<T*> answer(const Slot& slot) {
    if (slot.object != nullptr) return slot.object.get();
    return tl::unexpected<Error>(slot.error);
  }

  Mutex mutex_;
  ConditionVariable made_;
  std::vector<State> states_ TUTTI_GUARDED_BY(mutex_);
  std::vector<Slot> slots_;  // each written by who makes it, constant once kMade
};

class CompiledUnit {
 public:
  /// (Of built-in kernels there is none.)
  CompiledUnit(std::string source, std::string options,
               backends::ProgramForm form = backends::ProgramForm::kSource)
      : source_(std::move(source)),
        options_(std::move(options)),
        form_(form),
        objects_(scheduler::kMostBackends) {}

  /// Preprocessed, as a binary keeps it and as the front end reads it when the unit is linked.
  const std::string& source() const { return source_; }
  /// For vendors' compilers.
  const std::string& options() const { return options_; }
  backends::ProgramForm form() const { return form_; }
  bool il() const { return form_ == backends::ProgramForm::kIl; }

  /// The vendor's object. `text` is what vendors compile of source(): the front end says it, always
  /// the same.
  Result<backends::Object*> object(scheduler::BackendSet& backends, uint32_t index,
                                   const std::string& text);

 private:
  const std::string source_;
  const std::string options_;
  const backends::ProgramForm form_;
  MadeOnce<backends::Object> objects_;
};

/// Whether what a vendor's compiler was asked for has failed since the device was lost meanwhile,
/// or before: it ended with `code`, and Backend::renewals() was `renewals` when it began.
bool failed_by_loss(scheduler::BackendSet& backends, uint32_t index, cl_int code,
                    uint32_t renewals);

/// Calls of vendors' compilers: nothing may escape from them, since they happen in threads of ours.
/// Without the vendor's warnings: the front end has given its own, and a vendor's would reach
/// nobody (PoCL writes them to stderr).
/// Whether vendor_build() finds it built, as Backend::build_is_kept().
std::optional<bool> vendor_build_is_kept(const backends::Backend& backend,
                                         const std::string& source, const std::string& options);
backends::BuildResult vendor_build(
    backends::Backend& backend, const std::string& source, const std::string& options,
    backends::ProgramForm form = backends::ProgramForm::kSource) noexcept;
backends::ObjectResult vendor_compile(
    backends::Backend& backend, const std::string& source, const std::string& options,
    backends::ProgramForm form = backends::ProgramForm::kSource) noexcept;
backends::BuildResult vendor_load(backends::Backend& backend,
                                  std::span<const std::byte> binary) noexcept;
backends::BuildResult vendor_link(backends::Backend& backend,
                                  const std::vector<backends::Object*>& objects,
                                  const std::string& options) noexcept;

}  // namespace tutti::device_virtual
