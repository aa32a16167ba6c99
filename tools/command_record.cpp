// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "device_virtual/program_binary.h"
#include "record/reader.h"
#include "record/text.h"
#include "tools/commands.h"

namespace tutti::tools {
namespace {

/// A program of the record that was made from text: the application's source, or what is left of it
/// in a binary of ours, which holds the preprocessed source.
struct RecordedProgram {
  uint64_t number = 0;
  std::string made_by, source, error;
  std::vector<std::string> kernels;  // that the application made
};

std::string binary_source(record::Record& record, const record::Value& value, std::string& error) {
  std::span<const std::byte> bytes;
  std::vector<std::byte> stored;
  if (value.type == record::Value::Type::kBytes) {
    const std::string& text = value.texts.front();
    bytes = {reinterpret_cast<const std::byte*>(text.data()), text.size()};
  } else {
    auto content = record.content.get(value.content);
    if (!content) {
      error = content.error().message;
      return {};
    }
    stored = std::move(*content);
    bytes = stored;
  }
  const auto program = device_virtual::unpack(bytes);
  if (!program) {
    error = "the binary is not one of Tutti's, or of another version";
    return {};
  }
  std::string source;
  for (size_t i = 0; i < program->units.size(); ++i) {
    if (i > 0) source += fmt::format("\n/* unit {} */\n", i + 1);
    source += program->units[i].source;
  }
  return source;
}

std::vector<RecordedProgram> programs_of(record::Record& record) {
  std::vector<RecordedProgram> programs;
  for (const record::Call& call : record.calls) {
    if (call.name == "clCreateKernel" && !call.created.empty() && call.arguments.size() > 1 &&
        call.arguments[0].objects.size() == 1 && call.arguments[1].texts.size() == 1) {
      for (RecordedProgram& program : programs) {
        const std::string& name = call.arguments[1].texts[0];
        if (program.number == call.arguments[0].objects[0].number &&
            std::find(program.kernels.begin(), program.kernels.end(), name) ==
                program.kernels.end()) {
          program.kernels.push_back(name);
        }
      }
    }
    const bool source = call.name == "clCreateProgramWithSource" && call.arguments.size() > 2;
    const bool binary = call.name == "clCreateProgramWithBinary" && call.arguments.size() > 3;
    if ((!source && !binary) || call.created.empty()) continue;
    RecordedProgram program;
    program.number = call.created[0].number;
    program.made_by = source ? "source" : "binary";
    if (binary) {
      program.source = binary_source(record, call.arguments[3], program.error);
    } else if (const auto text = record.content.get(call.arguments[2].content)) {
      program.source.assign(reinterpret_cast<const char*>(text->data()), text->size());
    } else {
      program.error = text.error().message;
    }
    programs.push_back(std::move(program));
  }
  return programs;
}

int show_source(record::Record& record, uint64_t number) {
  for (const RecordedProgram& program : programs_of(record)) {
    if (program.number != number) continue;
    if (!program.error.empty()) {
      fmt::print(stderr, "tutti record: {}\n", program.error);
      return kFailed;
    }
    fwrite(program.source.data(), 1, program.source.size(), stdout);
    return 0;
  }
  fmt::print(stderr,
             "tutti record: there is no program {} made from source; --sources lists those that "
             "are\n",
             number);
  return kBadUsage;
}

int list_sources(record::Record& record) {
  fmt::print("{:>7}  {:6} {:>9}  {}\n", "program", "from", "bytes", "kernels");
  for (const RecordedProgram& program : programs_of(record)) {
    fmt::print("{:>7}  {:6} {:>9}  {}{}\n", program.number, program.made_by, program.source.size(),
               fmt::join(program.kernels, ", "),
               program.error.empty() ? "" : "(" + program.error + ")");
  }
  return 0;
}

}  // namespace

int record_run(const RecordOptions& options) {
  namespace fs = std::filesystem;
  if (options.command.empty()) {
    fmt::print(stderr,
               "tutti record: no application is named\n"
               "Usage: tutti record [-o FOLDER] -- APP [ARGS...], or tutti record show FOLDER\n");
    return kBadUsage;
  }
  std::error_code ignored;
  std::string folder = options.folder;
  if (folder.empty()) {
    const std::string name = fs::path(options.command[0]).filename().string() + ".record";
    folder = name;
    for (int i = 2; fs::exists(folder, ignored); ++i) folder = fmt::format("{}.{}", name, i);
  } else if (fs::exists(folder, ignored) &&
             (!fs::is_directory(folder, ignored) || !fs::is_empty(folder, ignored))) {
    fmt::print(stderr, "tutti record: {} is there already; name a new folder\n", folder);
    return kBadUsage;
  }
  // The application may change its working folder before it makes its first OpenCL call.
  setenv("TUTTI_RECORD", fs::absolute(folder).c_str(), 1);
  fmt::print(stderr, "tutti record: to {}\n", folder);
  RunOptions run_options;
  run_options.command = options.command;
  return run(run_options);
}

int record_show(const RecordShowOptions& options) {
  auto record = record::read(options.folder);
  if (!record) {
    fmt::print(stderr, "tutti record: {}\n", record.error().message);
    return kBadUsage;
  }
  for (const std::string& warning : record->warnings) {
    fmt::print(stderr, "tutti record: {}\n", warning);
  }
  if (options.sources) return list_sources(*record);
  if (options.source) return show_source(*record, *options.source);
  uint64_t first_ns = UINT64_MAX;
  for (const record::Call& call : record->calls) {
    if (call.start_ns != 0) first_ns = std::min(first_ns, call.start_ns);
  }
  fmt::print("{:>6} {:>6} {:>13} {:>12}  {}\n", "call", "thread", "begin/ms", "time/us", "");
  for (size_t i = 0; i < record->calls.size(); ++i) {
    const record::Call& call = record->calls[i];
    if (call.name == record::kNoteEntry) {
      fmt::print("{:>6} {:>6} {:>13} {:>12}  {}\n", i + 1, "", "", "", record::text_of(call));
      continue;
    }
    std::string line =
        fmt::format("{:>6} {:>6} {:>13.3f} {:>12.1f}  {}", i + 1, call.thread,
                    static_cast<double>(call.start_ns - first_ns) * 1e-6,
                    static_cast<double>(call.duration_ns) * 1e-3, record::text_of(call));
    if (const auto data = record->data.find(call.begin); data != record->data.end()) {
      line += "  got " + record::text_of(record::Value::of_content(data->second));
    }
    if (const auto times = record->times.find(call.begin); times != record->times.end()) {
      line += fmt::format("  ran {:.1f} us",
                          static_cast<double>(times->second.ended - times->second.started) * 1e-3);
    }
    fmt::print("{}\n", line);
  }
  fmt::print("{} entries; {} pieces of data, {} bytes stored\n", record->calls.size(),
             record->content.pieces(), record->content.stored_bytes());
  return record->damaged ? kFailed : 0;
}

}  // namespace tutti::tools
