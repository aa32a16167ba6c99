// SPDX-License-Identifier: Apache-2.0
#include "base/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace tutti {

namespace fs = std::filesystem;

namespace {

/// `begin` is without blanks. Of a file that was cut off there may be less.
bool begins_like(std::string_view begin, Written kind) {
  const auto fits = [begin](std::string_view known) {
    const size_t length = std::min(begin.size(), known.size());
    return begin.substr(0, length) == known.substr(0, length);
  };
  switch (kind) {
    case Written::kTrace:
      return fits(R"([{"ph":"M","pid":2,"tid":0,"name":"tutti_trace)");
    case Written::kSummary:
      return fits(R"({"devices":[{"bytes_to_device":)") || fits(R"({"devices":[],)");
    case Written::kReportPage:
      return fits("<!DOCTYPEhtml><!--tuttireport-->");
    case Written::kReportJson:
      return fits(R"({"program":")") || fits(R"({"a":{"source":")");
    case Written::kReportText:
      break;
  }
  return false;
}

/// The first line of the report, or of a comparison, as text.
bool is_report_text(std::string_view line) {
  const size_t process = line.find(", process ");
  return line.starts_with("A: ") || (process != std::string_view::npos &&
                                     line.find(" traced, ", process) != std::string_view::npos);
}

}  // namespace

std::string output_name_problem(std::string_view name, bool dash) {
  if (!name.starts_with('-') || (dash && name == "-")) return {};
  return fmt::format("a file's name is missing before '{0}' (one that begins so is written ./{0})",
                     name);
}

bool same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  return fs::equivalent(a, b, error) && !error;
}

std::string overwrites_input(const std::string& output, const std::vector<std::string>& inputs) {
  std::error_code error;
  // What a device, a pipe or a folder is given is not lost to anybody.
  if (!fs::is_regular_file(output, error)) return {};
  for (const std::string& input : inputs) {
    if (!same_file(output, input)) continue;
    return output == input ? fmt::format("{} would be overwritten, and is read as well", output)
                           : fmt::format("{} would be overwritten, which is {}", input, output);
  }
  return {};
}

bool holds_something_else(const std::string& output, std::initializer_list<Written> kinds) {
  std::error_code error;
  if (!fs::is_regular_file(output, error)) return false;
  std::string begin(512, '\0');
  const auto file = open_to_read(output, {.most_bytes = UINT64_MAX});
  // What cannot be looked at is taken for somebody's work.
  if (!file) return fs::file_size(output, error) > 0;
  begin.resize(
      static_cast<size_t>(std::max<ssize_t>(0, pread(file->get(), begin.data(), begin.size(), 0))));
  const std::string line = begin.substr(0, begin.find('\n'));
  std::erase_if(begin,
                [](char c) { return std::string_view(" \t\r\n").find(c) != std::string::npos; });
  return !begin.empty() && std::none_of(kinds.begin(), kinds.end(), [&](Written kind) {
    return kind == Written::kReportText ? is_report_text(line) : begins_like(begin, kind);
  });
}

std::string overwrites_other(const std::string& output, std::initializer_list<Written> kinds) {
  if (!holds_something_else(output, kinds)) return {};
  return fmt::format(
      "{} exists and is nothing that Tutti has written there; remove it, or name another file",
      output);
}

void make_folder_for(const std::string& path) {
  std::error_code ignored;
  fs::create_directories(fs::path(path).parent_path(), ignored);
}

Result<Descriptor> open_output(const std::string& path, Content content, Waiting waiting) {
  const auto failure = [](int error) { return fail(CL_INVALID_VALUE, std::strerror(error)); };
  constexpr const char* kPipe = "it is a pipe, not a file";
  const bool waits = waiting == Waiting::kAccepted;
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY |
                    (content == Content::kIsAppendedTo ? O_APPEND : 0) | (waits ? 0 : O_NONBLOCK);
  Descriptor file(open(path.c_str(), flags, 0666));
  struct stat status {};
  if (!file && errno == ENXIO) return fail(CL_INVALID_VALUE, kPipe);  // that nobody reads
  if (!file || fstat(file.get(), &status) != 0) return failure(errno);
  if (!waits) {
    if (S_ISFIFO(status.st_mode)) return fail(CL_INVALID_VALUE, kPipe);
    fcntl(file.get(), F_SETFL, flags & O_APPEND);  // a terminal takes whole lines
  }
  if (content == Content::kIsReplaced && S_ISREG(status.st_mode) && ftruncate(file.get(), 0) != 0) {
    return failure(errno);
  }
  return file;
}

Status write_output(const std::string& path, std::string_view content, Waiting waiting) {
  TUTTI_ASSIGN(Descriptor file, open_output(path, Content::kIsReplaced, waiting));
  TUTTI_TRY(write_all(file, content));
  // Some file systems say only now that there was no room.
  if (close(file.give_up()) != 0 && errno != EINTR) {
    return fail(CL_OUT_OF_RESOURCES, std::strerror(errno));
  }
  return {};
}

}  // namespace tutti
