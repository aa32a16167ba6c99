// SPDX-License-Identifier: Apache-2.0
#include "base/trace.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <new>

#include "base/cl_error_name.h"
#include "base/log.h"
#include "base/output_file.h"
#include "base/printable.h"
#include "base/task_thread.h"

namespace tutti::trace {

namespace detail {
std::atomic<bool> on{false};
}

namespace {

// The writer is woken early by this much, and the writers of events wait for it at the other: a
// disk that does not keep up must not cost memory without end.
constexpr size_t kManyBytes = 1 << 20;
constexpr size_t kMostBytes = 64 << 20;
// The first line says how many events were lost. It is rewritten in place, so that it can be told
// on a full disk, too: the number stands left in so much room.
constexpr size_t kLostDigits = 20;

std::string lost_line(uint64_t events) {
  return fmt::format(
      "[\n{{\"ph\":\"M\",\"pid\":{},\"tid\":0,\"name\":\"tutti_trace_lost\",\"args\":{{\"events\":{"
      ":<{}}}}}}",
      kTutti, events, kLostDigits);
}

/// Every event, but for that line, begins with this; none has a line break within.
constexpr std::string_view kBetween = ",\n";

uint64_t count_events(std::string_view text) {
  uint64_t events = 0;
  for (size_t at = text.find(kBetween); at != std::string_view::npos;
       at = text.find(kBetween, at)) {
    ++events;
    at += kBetween.size();
  }
  return events;
}

// How many slices of a lane are remembered: one that is noticed later than so many others may
// overlap.
constexpr size_t kLaneMemory = 256;

/// The file and what is not in it yet. Never destroyed: threads may still be here at exit.
class Sink {
 public:
  void start(const std::string& path);
  void stop();
  void append(const fmt::memory_buffer& line);
  void note_lost() TUTTI_EXCLUDES(mutex_);
  uint32_t session() const { return session_.load(std::memory_order_relaxed); }

 private:
  void drain();                                     // the writer's task
  void write_events(std::string& text, bool last);  // nothing comes after the last ones
  void tell_lost(int file) TUTTI_REQUIRES(mutex_);
  bool wake_writer() TUTTI_REQUIRES(mutex_);  // false: there is no thread to be had

  Mutex mutex_;
  ConditionVariable changed_;
  std::string pending_ TUTTI_GUARDED_BY(mutex_);
  std::string writing_;  // the writer's; they take turns, so that their memory is got once
  bool draining_ TUTTI_GUARDED_BY(mutex_) = false;  // the writer's task is posted or runs
  bool stopping_ TUTTI_GUARDED_BY(mutex_) = false;
  int file_ TUTTI_GUARDED_BY(mutex_) = -1;
  std::string path_ TUTTI_GUARDED_BY(mutex_);
  uint64_t lost_ TUTTI_GUARDED_BY(mutex_) = 0;       // events that are not in the file
  uint64_t lost_told_ TUTTI_GUARDED_BY(mutex_) = 0;  // as the file says
  off_t end_ = 0;  // of what the file holds for good; the writer's
  bool warned_ TUTTI_GUARDED_BY(mutex_) = false;
  std::atomic<pid_t> process_{0};     // that start()ed, until it stops
  std::atomic<uint32_t> session_{0};  // of start(): threads name their rows in each
  TaskThread* writer_ TUTTI_GUARDED_BY(mutex_) = nullptr;
};

Sink& sink() {
  static auto* made = new Sink;
  return *made;
}

std::atomic<int> open_file{-1};  // the sink's file_, to be read without its lock

/// A forked child has no part in the trace, and must not keep the file's lock when the parent ends.
void forget_in_child() {
  detail::on.store(false, std::memory_order_relaxed);
  const int file = open_file.exchange(-1, std::memory_order_relaxed);
  if (file >= 0) close(file);
}

/// How many bytes could be written; the error where that is not all.
size_t write_some(int file, const std::string& text, int& error) {
  size_t at = 0;
  while (at < text.size()) {
    const ssize_t count = write(file, text.data() + at, text.size() - at);
    if (count > 0) {
      at += static_cast<size_t>(count);
    } else if (count == 0 || errno != EINTR) {
      error = count == 0 ? EIO : errno;
      break;
    }
  }
  return at;
}

/// The same in a thread of the application, which must not get the signal of a file that may not
/// grow.
size_t write_quietly(int file, const std::string& text, int& error) {
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const size_t written = write_some(file, text, error);
  const timespec none{};
  if (written < text.size() && sigismember(&before, SIGXFSZ) == 0) {
    sigtimedwait(&blocked, nullptr, &none);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return written;
}

void refuse(const std::string& path, const std::string& why) {
  log(LogLevel::kWarning, "TUTTI_TRACE={}: {}; there is no trace, the application runs on", path,
      why);
}

void Sink::start(const std::string& path) {
  const pid_t starter = process_.load(std::memory_order_relaxed);
  if (starter != 0 && starter != getpid()) return;  // as in stop()
  MutexLock lock(mutex_);
  if (writer_) return;
  if (holds_something_else(path, {Written::kTrace})) {
    return refuse(path, "it exists and is no trace; it stays as it is");
  }
  // Not cut before it is known to be ours alone.
  auto opened = open_output(path, Content::kStays);
  if (!opened) return refuse(path, opened.error().message);
  const int file = opened->give_up();
  if (flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    close(file);
    return refuse(path,
                  "another process is writing its trace there (%p in the name stands for the "
                  "process's number)");
  }
  (void)!ftruncate(file, 0);  // a device cannot be cut, and need not be
  int error = 0;
  const std::string head = lost_line(0);
  if (write_quietly(file, head, error) != head.size()) {
    close(file);
    return refuse(path, std::strerror(error));
  }
  static const int forked = pthread_atfork(nullptr, nullptr, forget_in_child);
  (void)forked;
  file_ = file;
  open_file.store(file, std::memory_order_relaxed);
  path_ = path;
  process_.store(getpid(), std::memory_order_relaxed);
  stopping_ = warned_ = false;
  lost_ = lost_told_ = 0;
  end_ = static_cast<off_t>(head.size());
  pending_.clear();
  writer_ = new TaskThread("tutti-trace", TaskThread::AtExit::kLeftAlone);
  session_.fetch_add(1, std::memory_order_relaxed);
  detail::on.store(true, std::memory_order_relaxed);
}

void Sink::stop() {
  detail::on.store(false, std::memory_order_relaxed);
  // A forked child has neither thread nor say, and a lock that the writer held at that moment is
  // held there for ever.
  if (process_.load(std::memory_order_relaxed) != getpid()) return;
  TaskThread* writer = nullptr;
  {
    MutexLock lock(mutex_);
    if (!writer_) return;
    stopping_ = true;
    const bool inline_now = !wake_writer();
    changed_.notify_all();
    if (inline_now) {
      lock.unlock();
      drain();
      lock.lock();
    }
    changed_.wait(mutex_, [&]() TUTTI_REQUIRES(mutex_) { return !draining_; });
    writer = std::exchange(writer_, nullptr);
    process_.store(0, std::memory_order_relaxed);
  }
  delete writer;
}

bool Sink::wake_writer() {
  if (draining_) return true;
  draining_ = true;
  try {
    writer_->post([this] { drain(); });
  } catch (const std::exception&) {
    draining_ = false;
  }
  return draining_;
}

void Sink::append(const fmt::memory_buffer& line) {
  MutexLock lock(mutex_);
  if (file_ < 0 || stopping_) return;
  while (pending_.size() > kMostBytes && draining_ && !stopping_ && file_ >= 0) {
    changed_.wait(mutex_);
  }
  if (pending_.size() > kMostBytes) {  // and nobody writes
    lost_ += 1 + count_events({line.data(), line.size()});
    wake_writer();
    return;
  }
  const size_t before = pending_.size();
  try {
    pending_ += kBetween;
    pending_.append(line.data(), line.size());
  } catch (const std::bad_alloc&) {
    pending_.resize(before);
    lost_ += 1 + count_events({line.data(), line.size()});
  }
  if (!draining_) {
    wake_writer();  // where there is no thread now, the next event tries again
  } else if (pending_.size() > kManyBytes && before <= kManyBytes) {
    changed_.notify_all();
  }
}

void Sink::note_lost() {
  MutexLock lock(mutex_);
  if (file_ >= 0) ++lost_;
}

void Sink::drain() {
  MutexLock lock(mutex_);
  while (file_ >= 0) {
    // Events come in crowds: they are collected for a moment, and written together.
    if (!stopping_ && pending_.size() < kManyBytes) changed_.wait_for(mutex_, kFlushMilliseconds);
    const bool last = stopping_;
    if (pending_.empty() && !last) break;
    writing_.swap(pending_);
    lock.unlock();
    write_events(writing_, last);
    writing_.clear();
    if (writing_.capacity() > 4 * kManyBytes) writing_.shrink_to_fit();  // after a burst
    lock.lock();
    tell_lost(file_);
    if (last) {
      open_file.store(-1, std::memory_order_relaxed);
      close(file_);
      file_ = -1;
      pending_.clear();
    }
    changed_.notify_all();
  }
  draining_ = false;
  changed_.notify_all();
}

// In the writer's thread, which blocks the signals that a write may raise.
void Sink::write_events(std::string& text, bool last) {
  int file = -1;
  {
    MutexLock lock(mutex_);
    file = file_;
  }
  int error = 0;
  size_t kept = write_some(file, text, error);
  uint64_t lost = 0;
  if (kept < text.size()) {
    // Up to the last event that is whole; later ones may find room again.
    kept = kept == 0 ? 0 : text.rfind(kBetween, kept - 1);
    if (kept == std::string::npos) kept = 0;
    lost = count_events(std::string_view(text).substr(kept));
    if (ftruncate(file, end_ + static_cast<off_t>(kept)) == 0) {
      (void)!lseek(file, end_ + static_cast<off_t>(kept), SEEK_SET);
    }
  }
  end_ += static_cast<off_t>(kept);
  if (last) {
    int ignored = 0;  // a trace without its end can be read
    write_some(file, "\n]\n", ignored);
  }
  if (lost == 0) return;
  std::string path;
  {
    MutexLock lock(mutex_);
    lost_ += lost;
    if (std::exchange(warned_, true)) return;
    path = path_;
  }
  log(LogLevel::kWarning,
      "TUTTI_TRACE={}: {}; events of the trace are lost, the application runs on", path,
      std::strerror(error));
}

void Sink::tell_lost(int file) {
  if (lost_ == lost_told_) return;
  const std::string head = lost_line(lost_);
  if (pwrite(file, head.data(), head.size(), 0) == static_cast<ssize_t>(head.size())) {
    lost_told_ = lost_;
  } else if (stopping_) {
    log(LogLevel::kWarning, "TUTTI_TRACE={}: {} events are lost", path_, lost_);
  }
}

// ---- text ---------------------------------------------------------------------------------------

void put(fmt::memory_buffer& to, std::string_view text) {
  to.append(text.data(), text.data() + text.size());
}

template <std::integral T>
void put_number(fmt::memory_buffer& to, T value) {
  const fmt::format_int text(value);
  to.append(text.data(), text.data() + text.size());
}

/// A JSON text. What vendors and kernels are called need not be UTF-8.
void put_quoted(fmt::memory_buffer& to, std::string_view text) {
  to.push_back('"');
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) - 0x20u < 0x5fu && c != '"' && c != '\\';
  });
  if (plain) {  // nearly always
    put(to, text);
    to.push_back('"');
    return;
  }
  for (size_t at = 0; at < text.size();) {
    const size_t bytes = utf8_bytes(text, at);
    const char c = text[at];
    if (bytes == 0) {
      put(to, "\\ufffd");
    } else if (c == '"' || c == '\\') {
      to.push_back('\\');
      to.push_back(c);
    } else if (hidden_bytes(text, at, bytes) > 0) {
      put(to, json_escape(code_point(text, at, bytes)));
    } else {
      put(to, text.substr(at, bytes));
    }
    at += std::max<size_t>(bytes, 1);
  }
  to.push_back('"');
}

/// Nanoseconds as the format's microseconds.
void put_time(fmt::memory_buffer& to, uint64_t ns) {
  put_number(to, ns / 1000);
  const auto rest = static_cast<unsigned>(ns % 1000);
  const char digits[] = {'.', static_cast<char>('0' + rest / 100),
                         static_cast<char>('0' + rest / 10 % 10),
                         static_cast<char>('0' + rest % 10)};
  put(to, {digits, sizeof digits});
}

void put_head(fmt::memory_buffer& to, std::string_view phase, Row row, std::string_view category,
              std::string_view name) {
  put(to, R"({"ph":")");
  put(to, phase);
  put(to, R"(","pid":)");
  put_number(to, row.process);
  put(to, R"(,"tid":)");
  put_number(to, row.thread);
  if (!category.empty()) {
    put(to, R"(,"cat":)");
    put_quoted(to, category);
  }
  put(to, R"(,"name":)");
  put_quoted(to, name);
}

void put_end(fmt::memory_buffer& to, const Args& args) {
  if (!args.empty()) {
    put(to, R"(,"args":{)");
    put(to, args.members());
    to.push_back('}');
  }
  to.push_back('}');
}

std::string program() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::string("application") : path.filename().string();
}

void name(std::string_view what, Row row, std::string_view text) {
  fmt::memory_buffer line;
  put_head(line, "M", row, {}, what);
  put_end(line, Args().add("name", text));
  sink().append(line);
}

void place(std::string_view what, Row row, uint64_t index) {
  fmt::memory_buffer line;
  put_head(line, "M", row, {}, what);
  put_end(line, Args().add("sort_index", index));
  sink().append(line);
}

}  // namespace

// ---- the interface ------------------------------------------------------------------------------

void start(std::string path) {
  if (path.empty()) return;
  if (const size_t at = path.find("%p"); at != std::string::npos) {
    path.replace(at, 2, std::to_string(getpid()));
  }
  sink().start(path);
  if (!on()) return;
  const std::string application = program();
  note("tutti_trace",
       Args().add("version", 1).add("program", application).add("process", getpid()));
  name_process(kApplication, application);
  name_process(kTutti, "Tutti");
}

void stop() { sink().stop(); }

void name_process(uint32_t process, std::string_view text) {
  if (!on()) return;
  name("process_name", {process, 0}, text);
  place("process_sort_index", {process, 0}, process);
}

void name_row(Row row, std::string_view text) {
  if (!on()) return;
  name("thread_name", row, text);
  place("thread_sort_index", row, row.thread);
}

Row thread_row(uint32_t process) {
  static thread_local uint32_t known_session = 0;
  static thread_local Row known;
  const uint32_t session = sink().session();
  if (known_session == session) return known;
  known_session = session;
  known = {process, static_cast<uint32_t>(gettid())};
  char text[16] = "thread";
  pthread_getname_np(pthread_self(), text, sizeof text);
  name_row(known, process == kApplication ? fmt::format("calls of {}", text) : std::string(text));
  return known;
}

Args& Args::add_word(std::string_view key, std::string_view word) {
  if (!empty()) text_.push_back(',');
  text_.push_back('"');
  put(text_, key);
  put(text_, "\":");
  put(text_, word);
  return *this;
}

Args& Args::add(std::string_view key, std::string_view value) {
  add_word(key, {});
  put_quoted(text_, value);
  return *this;
}

Args& Args::add(std::string_view key, double value) {
  // JSON has no word for what is no number.
  return add_word(key, std::isfinite(value) ? fmt::format("{}", value) : std::string("null"));
}

Args& Args::add(std::string_view key, std::span<const uint64_t> values) {
  add_word(key, "[");
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text_.push_back(',');
    put_number(text_, values[i]);
  }
  text_.push_back(']');
  return *this;
}

void slice(Row row, std::string_view category, std::string_view name, uint64_t begin_ns,
           uint64_t end_ns, const Args& args) {
  if (!on()) return;
  fmt::memory_buffer line;
  put_head(line, "X", row, category, name);
  put(line, R"(,"ts":)");
  put_time(line, begin_ns);
  put(line, R"(,"dur":)");
  put_time(line, std::max(begin_ns, end_ns) - begin_ns);
  put_end(line, args);
  sink().append(line);
}

void span(uint32_t process, std::string_view category, std::string_view name, uint64_t id,
          uint64_t begin_ns, uint64_t end_ns, const Args& args) {
  if (!on()) return;
  static const auto& kNone = *new Args;
  for (const bool begin : {true, false}) {
    fmt::memory_buffer line;
    put_head(line, begin ? "b" : "e", {process, 0}, category, name);
    put(line, R"(,"id":)");
    put_number(line, id);
    put(line, R"(,"ts":)");
    put_time(line, begin ? begin_ns : std::max(begin_ns, end_ns));
    put_end(line, begin ? args : kNone);
    sink().append(line);
  }
}

void flow(std::string_view category, Row from, uint64_t from_ns, Row to, uint64_t to_ns) {
  if (!on()) return;
  static std::atomic<uint64_t> last{0};
  const uint64_t id = last.fetch_add(1, std::memory_order_relaxed) + 1;
  // An arrow that points back in time is not drawn: errors of measurement must not lose it.
  to_ns = std::max(from_ns, to_ns);
  fmt::memory_buffer line;
  for (const bool begin : {true, false}) {
    put_head(line, begin ? "s" : "f", begin ? from : to, category, category);
    put(line, begin ? R"(,"id":)" : R"(,"bp":"e","id":)");
    put_number(line, id);
    put(line, R"(,"ts":)");
    put_time(line, begin ? from_ns : to_ns);
    put(line, begin ? "},\n" : "}");
  }
  sink().append(line);
}

void counter(uint32_t process, std::string_view name, uint64_t time_ns, std::string_view unit,
             double value) {
  if (!on()) return;
  fmt::memory_buffer line;
  put_head(line, "C", {process, 0}, {}, name);
  put(line, R"(,"ts":)");
  put_time(line, time_ns);
  put_end(line, Args().add(unit, value));
  sink().append(line);
}

void note(std::string_view name, const Args& args) {
  if (!on()) return;
  fmt::memory_buffer line;
  put_head(line, "M", {kTutti, 0}, {}, name);
  put_end(line, args);
  sink().append(line);
}

uint64_t Lane::slice(std::string_view category, std::string_view name, uint64_t begin_ns,
                     uint64_t end_ns, const Args& args) {
  {
    MutexLock lock(mutex_);
    end_ns = std::max(begin_ns, end_ns);
    auto next = std::upper_bound(taken_.begin(), taken_.end(), std::pair(begin_ns, UINT64_MAX));
    if (next != taken_.begin()) begin_ns = std::max(begin_ns, std::prev(next)->second);
    if (next != taken_.end()) {
      begin_ns = std::min(begin_ns, next->first);
      end_ns = std::min(end_ns, next->first);
    }
    end_ns = std::max(begin_ns, end_ns);
    if (end_ns > begin_ns) taken_.emplace(next, begin_ns, end_ns);
    if (taken_.size() > 2 * kLaneMemory) taken_.erase(taken_.begin(), taken_.begin() + kLaneMemory);
  }
  trace::slice(row_, category, name, begin_ns, end_ns, args);
  return begin_ns;
}

void CallScope::write() const noexcept {
  const uint64_t end = now_ns();
  try {
    Args args;
    if (code_ != 0) args.add("error", cl_error_name(code_));
    slice(thread_row(kApplication), "api", name_, begin_ns_, end, args);
  } catch (...) {  // no memory for an event
    sink().note_lost();
  }
}

}  // namespace tutti::trace
