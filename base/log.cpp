// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>

#include "base/keep_forever.h"
#include "base/output_file.h"
#include "base/printable.h"
#include "base/thread_annotations.h"

namespace tutti {
namespace {

constexpr spdlog::level::level_enum kSpdlogLevels[] = {spdlog::level::off,   spdlog::level::err,
                                                       spdlog::level::warn,  spdlog::level::info,
                                                       spdlog::level::debug, spdlog::level::trace};

// Loggers stay out of spdlog's registry, whose destruction at exit we could not outlive, and are
// never freed: another thread may hold one while a new one takes its place.
std::atomic<spdlog::logger*> the_logger{nullptr};

spdlog::logger* make_logger(spdlog::sink_ptr sink) {
  auto* logger = keep_forever(std::make_unique<spdlog::logger>("tutti", std::move(sink)));
  logger->set_level(spdlog::level::trace);  // log_enabled() filters
  logger->flush_on(spdlog::level::trace);   // the process may end at any moment
  logger->set_error_handler([](const std::string&) {});
  return logger;
}

spdlog::logger* stderr_logger() {
  static spdlog::logger* logger = [] {
    auto* made = make_logger(std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("tutti: %l: %v");
    return made;
  }();
  return logger;
}

/// Appends to the file, whose folder is made.
Result<spdlog::sink_ptr> file_sink(const std::string& path) {
  make_folder_for(path);
  TUTTI_ASSIGN(Descriptor file, open_output(path, Content::kIsAppendedTo));
  FILE* const stream = fdopen(file.get(), "a");
  if (!stream) return fail(CL_OUT_OF_HOST_MEMORY, std::strerror(errno));
  file.give_up();  // never closed: the logger stays
  return std::make_shared<spdlog::sinks::stdout_sink_base<spdlog::details::console_mutex>>(stream);
}

}  // namespace

namespace log_detail {

std::atomic<LogLevel> level{LogLevel::kWarning};

void write(LogLevel at, fmt::string_view format, fmt::format_args arguments) noexcept {
  try {
    spdlog::logger* logger = the_logger.load(std::memory_order_acquire);
    if (!logger) logger = stderr_logger();
    // Names of devices and kernels, and vendors' messages, are others' words.
    logger->log(kSpdlogLevels[static_cast<size_t>(at)],
                printable(fmt::vformat(format, arguments), "\n\t"));
  } catch (...) {
    // A line that cannot be written is lost; the application goes on.
  }
}

bool first_time(std::string_view text) noexcept {
  static NeverDestroyed<Mutex> mutex;
  static NeverDestroyed<std::set<std::string, std::less<>>> seen;
  try {
    const MutexLock lock(*mutex);
    return seen->emplace(text).second;
  } catch (...) {
    return false;
  }
}

}  // namespace log_detail

std::optional<LogLevel> log_level_of(std::string_view name) {
  for (size_t i = 0; i < std::size(kLogLevelNames); ++i) {
    if (kLogLevelNames[i] == name) return static_cast<LogLevel>(i);
  }
  return std::nullopt;
}

void start_log(LogLevel level, const std::string& file) {
  log_detail::level.store(level, std::memory_order_relaxed);
  if (file.empty()) {
    the_logger.store(stderr_logger(), std::memory_order_release);
    return;
  }
  const auto sink = file_sink(file);
  if (!sink) {
    the_logger.store(stderr_logger(), std::memory_order_release);
    log(LogLevel::kWarning, "TUTTI_LOG: {}: {}; the log goes to stderr", file,
        sink.error().message);
    return;
  }
  auto* logger = make_logger(*sink);
  logger->set_pattern("%Y-%m-%d %H:%M:%S.%f %P %t %l: %v");
  the_logger.store(logger, std::memory_order_release);
}

}  // namespace tutti
