// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device_virtual/program_binary.h"
#include "record/reader.h"
#include "record/text.h"
#include "tools/commands.h"
#include "tools/completion.h"
#include "tools/settings.h"
#include "tools/terminal.h"

namespace tutti::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kMostProgramBytes = 256 * kMiB;

struct ShowOptions {
  std::string folder;
  std::optional<uint64_t> source;  // the number of a program whose source is wanted
  bool sources = false;            // list the programs that have one
  bool json = false;
};
struct RecordOptions {
  std::string folder;  // empty: APP.record beside the working folder's files, the first that is new
  std::vector<std::string> application;
};

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
    auto content = record.content.get(value.content, kMostProgramBytes);
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
    } else if (const auto text = record.content.get(call.arguments[2].content, kMostProgramBytes)) {
      program.source.assign(reinterpret_cast<const char*>(text->data()), text->size());
    } else {
      program.error = text.error().message;
    }
    programs.push_back(std::move(program));
  }
  return programs;
}

Json json_of(const RecordedProgram& program) {
  return {{"program", program.number},
          {"from", program.made_by},
          {"bytes", program.source.size()},
          {"kernels", program.kernels},
          {"error", program.error.empty() ? Json(nullptr) : Json(program.error)}};
}

int show_source(record::Record& record, const ShowOptions& options) {
  for (const RecordedProgram& program : programs_of(record)) {
    if (program.number != *options.source) continue;
    if (!program.error.empty()) {
      complain("record", program.error);
      return kFailed;
    }
    if (options.json) {
      Json output = json_of(program);
      output["source"] = program.source;
      fmt::print("{}", json_text(output));
    } else if (isatty(STDOUT_FILENO) != 0) {
      put(program.source);
    } else {  // as it is, for compilers
      fwrite(program.source.data(), 1, program.source.size(), stdout);
    }
    return 0;
  }
  complain("record", fmt::format("there is no program {} made from source; --sources lists those "
                                 "that are",
                                 *options.source));
  return kBadUsage;
}

int list_sources(record::Record& record, bool json) {
  const std::vector<RecordedProgram> programs = programs_of(record);
  if (json) {
    Json output{{"programs", Json::array()}};
    for (const RecordedProgram& program : programs) output["programs"].push_back(json_of(program));
    fmt::print("{}", json_text(output));
    return 0;
  }
  say("{:>7}  {:6} {:>9}  {}\n", "program", "from", "bytes", "kernels");
  for (const RecordedProgram& program : programs) {
    say("{:>7}  {:6} {:>9}  {}{}\n", program.number, program.made_by, program.source.size(),
        fmt::join(program.kernels, ", "), program.error.empty() ? "" : "(" + program.error + ")");
  }
  return 0;
}

/// Runs an application and records its calls; never into a folder that holds a record already.
int record_application(const RecordOptions& options) {
  namespace fs = std::filesystem;
  if (options.application.empty()) {
    complain("record",
             "no application is named\n"
             "Usage: tutti record [-o FOLDER] -- APP [ARGS...], or tutti record show FOLDER");
    return kBadUsage;
  }
  std::error_code ignored;
  std::string folder = options.folder;
  if (folder.empty()) {
    const std::string name = fs::path(options.application[0]).filename().string() + ".record";
    folder = name;
    for (int i = 2; fs::exists(folder, ignored); ++i) folder = fmt::format("{}.{}", name, i);
  } else if (fs::exists(folder, ignored) &&
             (!fs::is_directory(folder, ignored) || !fs::is_empty(folder, ignored))) {
    complain("record", folder + " is there already; name a new folder");
    return kBadUsage;
  }
  // The application may change its working folder before it makes its first OpenCL call.
  setenv("TUTTI_RECORD", fs::absolute(folder).c_str(), 1);
  complain("record", "to " + folder);
  return run_application({}, options.application);
}

uint64_t first_begin(const record::Record& record) {
  uint64_t first_ns = UINT64_MAX;
  for (const record::Call& call : record.calls) {
    if (call.start_ns != 0) first_ns = std::min(first_ns, call.start_ns);
  }
  return first_ns;
}

double microseconds(uint64_t ns) { return static_cast<double>(ns) * 1e-3; }

/// Microseconds that the vendor's command took; absent where that is not known.
std::optional<double> ran_us(const record::Record& record, const record::Call& call) {
  const auto times = record.times.find(call.begin);
  if (times == record.times.end()) return std::nullopt;
  return microseconds(times->second.ended - times->second.started);
}

/// What the call read; empty: nothing.
std::string got(const record::Record& record, const record::Call& call) {
  const auto data = record.data.find(call.begin);
  if (data == record.data.end()) return {};
  return record::text_of(record::Value::of_content(data->second));
}

void print_json(const record::Record& record) {
  const uint64_t first_ns = first_begin(record);
  Json output{{"calls", Json::array()},
              {"pieces", record.content.pieces()},
              {"stored_bytes", record.content.stored_bytes()},
              {"damaged", record.damaged},
              {"warnings", record.warnings}};
  for (size_t i = 0; i < record.calls.size(); ++i) {
    const record::Call& call = record.calls[i];
    Json entry{{"call", i + 1}, {"name", call.name}, {"text", record::text_of(call)}};
    if (call.name != record::kNoteEntry) {
      const auto ran = ran_us(record, call);
      const std::string read = got(record, call);
      entry["thread"] = call.thread;
      entry["begin_us"] = microseconds(call.start_ns - first_ns);
      entry["duration_us"] = microseconds(call.duration_ns);
      entry["ran_us"] = ran ? Json(*ran) : Json(nullptr);
      entry["got"] = read.empty() ? Json(nullptr) : Json(read);
    }
    output["calls"].push_back(std::move(entry));
  }
  fmt::print("{}", json_text(output));
}

void print_text(const record::Record& record) {
  const uint64_t first_ns = first_begin(record);
  say("{:>6} {:>6} {:>13} {:>12}\n", "call", "thread", "begin/ms", "time/us");
  for (size_t i = 0; i < record.calls.size(); ++i) {
    const record::Call& call = record.calls[i];
    if (call.name == record::kNoteEntry) {
      say("{:>6} {:>6} {:>13} {:>12}  {}\n", i + 1, "", "", "", record::text_of(call));
      continue;
    }
    std::string line = fmt::format("{:>6} {:>6} {:>13.3f} {:>12.1f}  {}", i + 1, call.thread,
                                   microseconds(call.start_ns - first_ns) * 1e-3,
                                   microseconds(call.duration_ns), record::text_of(call));
    if (const std::string read = got(record, call); !read.empty()) line += "  got " + read;
    if (const auto ran = ran_us(record, call)) line += fmt::format("  ran {:.1f} us", *ran);
    say("{}\n", line);
  }
  say("{} entries; {} pieces of data, {} bytes stored\n", record.calls.size(),
      record.content.pieces(), record.content.stored_bytes());
}

/// A record (TUTTI_RECORD) as readable calls.
int show(const ShowOptions& options) {
  auto record = record::read(options.folder);
  if (!record) {
    complain("record", record.error().message);
    return kBadUsage;
  }
  for (const std::string& warning : record->warnings) complain("record", warning);
  if (options.sources) return list_sources(*record, options.json);
  if (options.source) return show_source(*record, options);
  if (options.json) {
    print_json(*record);
  } else {
    print_text(*record);
  }
  return record->damaged ? kFailed : 0;
}

CommandLine add_record(CLI::App& command) {
  struct Options {
    ShowOptions show;
    RecordOptions record;
  };
  const auto options = std::make_shared<Options>();
  command.require_subcommand(0, 1);
  command.footer("After the options: -- APP [ARGS...]");
  command.add_option("-o,--output", options->record.folder,
                     "The record's folder, which must be new or empty; else APP.record");
  CLI::App* listed = command.add_subcommand("show", "List the calls");
  listed->add_option("FOLDER", options->show.folder, "A record")
      ->required()
      ->check(completes(Completion::kRecord));
  listed->add_option("--source", options->show.source,
                     "Only the source of the program of this number");
  listed->add_flag("--sources", options->show.sources,
                   "Only the list of programs that have a source");
  listed->add_flag("--json", options->show.json, "As JSON");
  return {[options, listed] {
            return listed->parsed() ? show(options->show) : record_application(options->record);
          },
          [options, &command](std::vector<std::string>& words) {
            if (words.size() > 1 && words[1].starts_with("-")) {
              options->record.application = take_application(command, words);
            }
          }};
}

}  // namespace

const Command kRecordCommand{
    "record", "Record an application's OpenCL calls, or show what was recorded", add_record};

}  // namespace tutti::tools
