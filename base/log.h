// SPDX-License-Identifier: Apache-2.0
// The driver's log: `log(LogLevel::kWarning, "{} devices", n)`. A call below the level costs one
// relaxed load. Nothing here is ever destroyed, so code that runs during process exit may log.
// Thread-safe. Before start_log() warnings and errors go to stderr.
#pragma once

#include <fmt/core.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/process_exit.h"

namespace tutti {

enum class LogLevel : uint8_t { kOff, kError, kWarning, kInfo, kDebug, kTrace };

/// The names that TUTTI_LOG takes, in the order of LogLevel.
inline constexpr std::string_view kLogLevelNames[] = {"off",  "error", "warning",
                                                      "info", "debug", "trace"};
std::optional<LogLevel> log_level_of(std::string_view name);

/// Sets the level and, unless `file` is empty, the file that takes the lines in place of stderr.
/// A file that cannot be opened is a warning on stderr, which then goes on taking them.
void start_log(LogLevel level, const std::string& file = {});

namespace log_detail {
extern std::atomic<LogLevel> level;
void write(LogLevel level, fmt::string_view format, fmt::format_args arguments) noexcept;
/// True the first time that it is asked for this text.
bool first_time(std::string_view text) noexcept;
}  // namespace log_detail

inline bool log_enabled(LogLevel level) {
  return level <= log_detail::level.load(std::memory_order_relaxed);
}

/// Of what goes wrong for want of a vendor: when they are gone since the process ends, nobody need
/// hear of it.
inline LogLevel level_without_vendors(LogLevel level) {
  return vendors_gone() ? LogLevel::kDebug : level;
}

template <typename... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (!log_enabled(level)) return;
  log_detail::write(level, format, fmt::make_format_args(args...));
}

/// Logs once per `key` in this process, however often it is called.
template <typename... Args>
void log_once(std::string_view key, LogLevel level, fmt::format_string<Args...> format,
              Args&&... args) {
  if (!log_enabled(level) || !log_detail::first_time(key)) return;
  log_detail::write(level, format, fmt::make_format_args(args...));
}

}  // namespace tutti
