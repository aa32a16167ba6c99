// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>

#include "record/reader.h"
#include "record/text.h"
#include "tools/commands.h"

namespace tutti::tools {
namespace {

int show_source(record::Record& record, uint64_t program) {
  for (const record::Call& call : record.calls) {
    if (call.name != "clCreateProgramWithSource" || call.created.empty() ||
        call.created[0].number != program || call.arguments.size() < 3) {
      continue;
    }
    const auto text = record.content.get(call.arguments[2].content);
    if (!text) {
      fmt::print(stderr, "tutti record: {}\n", text.error().message);
      return kFailed;
    }
    fwrite(text->data(), 1, text->size(), stdout);
    return 0;
  }
  fmt::print(stderr, "tutti record: there is no program {} made from source\n", program);
  return kBadUsage;
}

}  // namespace

int record_show(const RecordShowOptions& options) {
  auto record = record::read(options.folder);
  if (!record) {
    fmt::print(stderr, "tutti record: {}\n", record.error().message);
    return kBadUsage;
  }
  for (const std::string& warning : record->warnings) {
    fmt::print(stderr, "tutti record: {}\n", warning);
  }
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
