// SPDX-License-Identifier: Apache-2.0
// What the programs of one run share: devices, the engine, the buffers and what they should hold,
// and the verdict. Used within a run, where there is one thread.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "faults.h"
#include "scheduler/engine/engine.h"
#include "tests/unit/engine/fake_kernels.h"

namespace tutti::simulation {

constexpr uint32_t kBufferBytes = 512;
constexpr uint32_t kBuffers = 3;

/// A byte that should be so, or of which a call has told that it may be anything.
struct Expected {
  std::byte value{};
  bool known = true;
};

class World {
 public:
  /// Draws all of it.
  World();

  std::string text() const;
  /// A kernel that lives as long as the process: a device that hangs may still use it.
  std::shared_ptr<scheduler::LaunchableKernel> kernel(testing::KernelForm form);
  scheduler::BufferView view(uint32_t buffer, uint64_t origin = 0,
                             uint64_t size = kBufferBytes) const {
    return {buffers[buffer], origin, size};
  }
  /// Bytes that live as long as the process, likewise.
  std::byte* keep(const std::vector<std::byte>& bytes) {
    kept_.push_back(bytes);
    return kept_.back().data();
  }

  /// Something is wrong that nobody has told.
  [[gnu::format(printf, 2, 3)]] void wrong(const char* format, ...);
  /// An error where none was asked for.
  [[gnu::format(printf, 2, 3)]] void told(const char* format, ...);
  /// Whether a device has failed or hung, or something was lacking, so that errors may be told.
  bool faulty() const;
  bool some_hang() const;

  Faults faults;
  uint64_t deadline_ns = 0;
  uint32_t programs = 1;
  bool thread_fails = false;
  std::unique_ptr<scheduler::BackendSet> set;
  std::unique_ptr<scheduler::Engine> engine;
  std::vector<Ref<scheduler::LogicalBuffer>> buffers;
  std::vector<std::vector<Expected>> expected;  // of each buffer
  uint32_t callbacks_set = 0, callbacks_called = 0;
  uint32_t errors = 0;
  std::string first_wrong, first_told;

 private:
  testing::FakeKinds devices_;
  std::string settings_;
  std::vector<testing::FakeBackend*> fakes_;
  bool little_memory_ = false;
  std::deque<std::vector<std::byte>> kept_;
};

/// A random program of one of the application's threads, which has the window [begin, end) of each
/// buffer to itself.
void run_program(World& world, uint64_t begin, uint64_t end);

}  // namespace tutti::simulation
