// SPDX-License-Identifier: Apache-2.0
// Transfers in the trace: how many bytes went where, when, and why. Who causes transfers says why
// in a TransferCause for its thread; the queue that does them asks. Thread-safe. Costs a branch
// when the trace is off.
#pragma once

#include <memory>
#include <string_view>

#include "backends/api/backend.h"
#include "base/trace.h"

namespace tutti::scheduler {

/// Why the calling thread transfers, from construction to destruction; the innermost one counts.
/// Texts are kept by address.
class TransferCause {
 public:
  /// `kernel`, `argument`: their names; empty where there is none.
  TransferCause(const char* why, uint64_t command, std::string_view kernel = {},
                std::string_view argument = {});
  /// What another thread's cause says, on this one.
  explicit TransferCause(const TransferCause* other);
  ~TransferCause();
  TransferCause(const TransferCause&) = delete;
  TransferCause& operator=(const TransferCause&) = delete;

  /// Of the calling thread; null: none, or the trace is off.
  static const TransferCause* current();
  void describe(trace::Args& args) const;
  uint64_t command() const { return command_; }

 private:
  void enter();
  bool entered_ = false;
  const TransferCause* outer_ = nullptr;
  const char* why_ = nullptr;
  uint64_t command_ = 0;
  std::string_view kernel_, argument_;
};

enum class Direction : uint8_t { kUpload, kDownload, kOnDevice };
const char* direction_name(Direction direction);  // "to_device", …

/// The process that stands for the device in the trace, named when first asked for.
uint32_t device_process(uint32_t backend, const backends::DeviceTraits& traits);

/// What a queue of transfers is for.
enum class TransferKind : uint8_t { kUsual, kEarlyRead };

/// `queue`, whose transfers are traced; `queue` itself when the trace is off. Reads and writes of
/// images return when they have ended.
std::unique_ptr<backends::Queue> traced_transfers(std::unique_ptr<backends::Queue> queue,
                                                  uint32_t backend,
                                                  const backends::DeviceTraits& traits,
                                                  TransferKind kind);

}  // namespace tutti::scheduler
