// SPDX-License-Identifier: Apache-2.0
#include "icd/recorder/recorder.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "base/keep_forever.h"
#include "base/log.h"
#include "platform/composition.h"

namespace tutti::icd::recorder {
namespace {

std::atomic<Recorder*> g_recorder{nullptr};

uint32_t thread_number() {
  static std::atomic<uint32_t> threads{0};
  thread_local const uint32_t number = ++threads;
  return number;
}

}  // namespace

std::vector<std::byte> HostRegion::packed() const {
  std::vector<std::byte> result(size());
  std::byte* to = result.data();
  for (size_t slice = 0; slice < slices; ++slice) {
    for (size_t row = 0; row < rows; ++row, to += row_bytes) {
      std::memcpy(to, begin + slice * slice_pitch + row * row_pitch, row_bytes);
    }
  }
  return result;
}

Recorder* Recorder::current() noexcept {
  Recorder* recorder = g_recorder.load(std::memory_order_acquire);
  return recorder != nullptr && !platform::is_forked_child() ? recorder : nullptr;
}

void Recorder::start(const std::string& folder) {
  std::string place = folder;
  auto writer = record::Writer::create(place);
  if (!writer && writer.error().code == CL_INVALID_OPERATION) {
    // Another process of the application, or an earlier run.
    place = fmt::format("{}/process-{}", folder, getpid());
    log(LogLevel::kWarning, "TUTTI_RECORD: {} holds a record already; this process's goes to {}",
        folder, place);
    writer = record::Writer::create(place);
  }
  if (!writer) {
    log(LogLevel::kError, "TUTTI_RECORD: nothing is recorded: {}", writer.error().message);
    return;
  }
  std::unique_ptr<Recorder> recorder(new Recorder(std::move(*writer)));
  g_recorder.store(keep_forever(std::move(recorder)), std::memory_order_release);
}

void Recorder::stop(const std::string& reason) noexcept {
  Recorder* self = this;
  if (!g_recorder.compare_exchange_strong(self, nullptr)) return;
  try {
    log(LogLevel::kError, "TUTTI_RECORD: the record ends here, the application runs on: {}",
        reason);
  } catch (...) {  // NOLINT(bugprone-empty-catch): no memory for a line of the log
  }
}

record::Object Recorder::number(record::ObjectKind kind, const void* handle, bool anew) {
  if (handle == nullptr) return {kind, 0};
  const MutexLock lock(objects_mutex_);
  const auto [place, added] = objects_.try_emplace({kind, handle}, 0);
  if (added || anew) place->second = ++last_number_;
  return {kind, place->second};
}

record::Object Recorder::created(record::ObjectKind kind, const void* handle) {
  return number(kind, handle, true);
}

record::Object Recorder::found(record::ObjectKind kind, const void* handle) {
  return number(kind, handle, false);
}

record::Object Recorder::object_of(record::ObjectKind kind, const void* handle) {
  if (handle == nullptr) return {kind, 0};
  // These two the application may have from the loader, or from a query that nobody recorded.
  if (kind == record::ObjectKind::kPlatform || kind == record::ObjectKind::kDevice) {
    return found(kind, handle);
  }
  const MutexLock lock(objects_mutex_);
  const auto place = objects_.find({kind, handle});
  return {kind, place != objects_.end() ? place->second : record::kUnknownObject};
}

record::Value Recorder::content_of(const HostRegion& region) {
  auto content = region.is_dense() ? writer_->put({region.begin, region.size()})
                                   : writer_->put(region.packed());
  if (content) return record::Value::of_content(std::move(*content));
  stop(content.error().message);
  return record::Value::pointer();
}

void Recorder::write(record::Call& call) {
  if (current() != this) return;
  call.thread = thread_number();
  if (Status status = writer_->write(call); !status) stop(status.error().message);
}

void Recorder::note(std::string text) {
  record::Call entry;
  entry.name = record::kNoteEntry;
  entry.begin = tick();
  entry.arguments = {record::Value::of_text(std::move(text))};
  write(entry);
}

void Recorder::note_once(const std::string& text) {
  {
    const MutexLock lock(objects_mutex_);
    if (std::find(notes_.begin(), notes_.end(), text) != notes_.end()) return;
    notes_.push_back(text);
  }
  note(text);
}

void Recorder::add_pending(Pending pending) {
  const MutexLock lock(pending_mutex_);
  pending_.push_back(std::move(pending));
}

void Recorder::write_ended() {
  std::vector<Pending> ended;  // destroyed after the lock is given up
  const MutexLock lock(pending_mutex_);
  const auto first_ended = std::stable_partition(
      pending_.begin(), pending_.end(),
      [](const Pending& pending) { return pending.command->status() > CL_COMPLETE; });
  ended.assign(std::move_iterator(first_ended), std::move_iterator(pending_.end()));
  pending_.erase(first_ended, pending_.end());
  for (const Pending& pending : ended) {
    if (pending.command->status() != CL_COMPLETE) continue;
    record::Call entry;
    entry.begin = tick();
    entry.arguments.push_back(record::Value::of_number(pending.call));
    if (pending.is_kernel) {
      const scheduler::CommandTimes times = pending.command->times();
      entry.name = record::kTimeEntry;
      for (const uint64_t time : {times.queued, times.submitted, times.started, times.ended}) {
        entry.arguments.push_back(record::Value::of_number(time));
      }
    } else {
      entry.name = record::kDataEntry;
      entry.arguments.push_back(content_of(pending.region));
    }
    write(entry);
  }
}

void Recorder::add_mapping(const Mapping& mapping) {
  const MutexLock lock(objects_mutex_);
  mappings_.push_back(mapping);
}

Recorder::Mapping Recorder::take_mapping(const void* memory, const void* pointer) {
  const MutexLock lock(objects_mutex_);
  const auto place = std::find_if(mappings_.begin(), mappings_.end(), [&](const Mapping& mapping) {
    return mapping.memory == memory && mapping.pointer == pointer;
  });
  if (place == mappings_.end()) return {};
  const Mapping mapping = *place;
  mappings_.erase(place);
  return mapping;
}

}  // namespace tutti::icd::recorder
