// SPDX-License-Identifier: Apache-2.0
// A command log over fake devices without an engine: commands that nobody executes, and a sink that
// writes down.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "fake_backend.h"
#include "scheduler/order/command_log.h"

namespace tutti::testing {

struct Sink : scheduler::LogSink {
  void ready(Ref<scheduler::Node> command) override { started.push_back(std::move(command)); }
  void watch(Ref<scheduler::Node> command) override { watched.push_back(std::move(command)); }
  void call_back(scheduler::Command::Callback callback, cl_int status) override {
    callback(status);
  }

  std::vector<Ref<scheduler::Node>> started, watched;
};

/// Nobody polls these commands' vendors.
struct Owner : scheduler::NodeOwner {
  std::vector<Ref<scheduler::Node>> overtaken(scheduler::Node&) override { return {}; }
  backends::CompletionPtr completion_of(scheduler::Node&) override { return nullptr; }
  void finish_direct(const Ref<scheduler::Node>&, cl_int) override {}
  void add_callback(const Ref<scheduler::Node>&, cl_int, scheduler::Command::Callback) override {}
  scheduler::VendorClock& clock(uint32_t) override { return clock_; }

 private:
  scheduler::VendorClock clock_;
};

class LogTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kBytes = 4096;

  /// Before anything else, in the order of their numbers.
  FakeBackend& add_device(FakeKind kind) {
    auto made = std::make_unique<FakeBackend>(static_cast<uint32_t>(list_.size()), kind);
    list_.push_back(std::move(made));
    return static_cast<FakeBackend&>(*list_.back());
  }
  /// At the first call with what has been added.
  scheduler::BackendSet& set(uint64_t memory_limit = UINT64_MAX) {
    if (!set_) set_ = std::make_unique<scheduler::BackendSet>(std::move(list_), memory_limit);
    return *set_;
  }
  Ref<scheduler::Stream> stream(scheduler::StreamOptions options) {
    return make_ref<scheduler::Stream>(set(), options);
  }
  Ref<scheduler::Node> command(scheduler::Work work = scheduler::MarkerWork{}) {
    return make_ref<scheduler::Node>(owner, CL_COMMAND_MARKER, std::move(work));
  }
  Ref<scheduler::LogicalBuffer> buffer(uint64_t bytes = kBytes) {
    return *scheduler::LogicalBuffer::create(set(), {.size = bytes});
  }
  static scheduler::BufferUse use(const Ref<scheduler::LogicalBuffer>& buffer, bool writes) {
    return {buffer.get(), 0, buffer->size(), writes, writes};
  }

 private:
  std::vector<std::unique_ptr<backends::Backend>> list_;
  std::unique_ptr<scheduler::BackendSet> set_;

 protected:
  Owner owner;
  Sink sink;
  scheduler::CommandLog log{sink};
};

}  // namespace tutti::testing
