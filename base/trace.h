// SPDX-License-Identifier: Apache-2.0
// The trace (TUTTI_TRACE): a timeline of what happened in this process, in Chrome's JSON array
// format, one event per line; chrome://tracing, Perfetto and `tutti report` read it. What the rows
// and events mean is said by those who write them: scheduler/observe/run_trace.h.
//
// Events are appended to a buffer in memory, which a thread of its own writes to the file all
// kFlushMilliseconds: the application never waits for a disk, and when it crashes only the last
// moment is lost. The array is then not closed, which every reader of the format accepts. When the
// file takes no more (full disk) there is a warning, and the application goes on: what cannot be
// written is lost, and counted in the file's first event ("tutti_trace_lost").
// Thread-safe. Off, a call costs one relaxed load.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/thread_annotations.h"

namespace tutti::trace {

namespace detail {
extern std::atomic<bool> on;
}

inline bool on() { return detail::on.load(std::memory_order_relaxed); }

inline constexpr unsigned kFlushMilliseconds = 50;

/// Begins the trace; nothing happens when `path` is empty or a trace is being written. "%p" in it
/// becomes the process's number. A file that cannot be opened, or that another process is writing
/// its trace to, is a warning.
void start(std::string path);
/// Writes what is left and closes the array.
void stop();

/// Where an event is drawn: rows (threads) are grouped in processes, as the format calls them. None
/// of them is a real process or, but for thread_row(), a real thread.
struct Row {
  uint32_t process = 0;
  uint32_t thread = 0;
  auto operator<=>(const Row&) const = default;
};
inline constexpr uint32_t kApplication = 1;  // the application's threads: its calls
inline constexpr uint32_t kTutti = 2;        // decisions, merges, our own threads
inline constexpr uint32_t kDevices = 10;     // and on: one process per device

void name_process(uint32_t process, std::string_view name);
void name_row(Row row, std::string_view name);
/// The row of the calling thread, named at its first use; in `process`, or where it already is.
Row thread_row(uint32_t process);

/// The arguments of an event, a JSON object.
class Args {
 public:
  /// Keys are plain words: they are not escaped.
  Args& add(std::string_view key, std::string_view value);
  Args& add(std::string_view key, const char* value) { return add(key, std::string_view(value)); }
  Args& add(std::string_view key, double value);
  Args& add(std::string_view key, std::same_as<bool> auto value) {
    return add_word(key, value ? "true" : "false");
  }
  template <std::integral T>
  requires(!std::same_as<T, bool>) Args& add(std::string_view key, T value) {
    const fmt::format_int text(value);
    return add_word(key, {text.data(), text.size()});
  }
  Args& add(std::string_view key, std::span<const uint64_t> values);
  Args& add(std::string_view key, const Args& value) { return add_word(key, value.object()); }

  bool empty() const { return text_.size() == 0; }
  /// With its braces.
  std::string object() const { return "{" + std::string(members()) + "}"; }
  /// Without them.
  std::string_view members() const { return {text_.data(), text_.size()}; }

 private:
  Args& add_word(std::string_view key, std::string_view word);
  fmt::memory_buffer text_;
};

// Events. Times are nanoseconds of now_ns(). On one row, slices must nest (see Lane).

/// Something that took from begin to end.
void slice(Row row, std::string_view category, std::string_view name, uint64_t begin_ns,
           uint64_t end_ns, const Args& args = {});
/// The same beside the rows: such spans may overlap. `id` tells them apart in their category.
void span(uint32_t process, std::string_view category, std::string_view name, uint64_t id,
          uint64_t begin_ns, uint64_t end_ns, const Args& args = {});
/// An arrow between the slices that are there on these rows at these times.
void flow(std::string_view category, Row from, uint64_t from_ns, Row to, uint64_t to_ns);
/// The value of one of a process's counters, from `time_ns` until its next one.
void counter(uint32_t process, std::string_view name, uint64_t time_ns, std::string_view unit,
             double value);
/// A fact without a time.
void note(std::string_view name, const Args& args);

/// A row whose slices follow each other in truth (an in-order queue), while their measured times,
/// of which each has its error, may overlap by a little: they are fitted into what is free.
/// Thread-safe.
class Lane {
 public:
  explicit Lane(Row row) : row_(row) {}
  Row row() const { return row_; }
  /// Returns when the slice begins as drawn.
  uint64_t slice(std::string_view category, std::string_view name, uint64_t begin_ns,
                 uint64_t end_ns, const Args& args = {});

 private:
  const Row row_;
  Mutex mutex_;
  // Begin and end of the last ones, in order.
  std::vector<std::pair<uint64_t, uint64_t>> taken_ TUTTI_GUARDED_BY(mutex_);
};

/// Traces one call of the application from construction to destruction. `name` is kept by address.
class CallScope {
 public:
  explicit CallScope(const char* name) : name_(name), begin_ns_(on() ? now_ns() : 0) {}
  ~CallScope() {
    if (begin_ns_ != 0) write();
  }
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;
  void failed(int code) { code_ = code; }

 private:
  void write() const noexcept;
  const char* const name_;
  const uint64_t begin_ns_;
  int code_ = 0;
};

}  // namespace tutti::trace
