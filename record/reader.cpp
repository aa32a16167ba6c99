// SPDX-License-Identifier: Apache-2.0
#include "record/reader.h"

#include <fmt/core.h>

#include "record/files.h"

namespace tutti::record {
namespace {

/// Takes what tells something of an earlier call to that call; false when it is none of these.
bool take_supplement(Record& record, const Call& call) {
  const auto number = [&](size_t i) {
    return i < call.arguments.size() ? call.arguments[i].number : 0;
  };
  if (call.name == kTimeEntry) {
    record.times[number(0)] = {number(1), number(2), number(3), number(4)};
    return true;
  }
  if (call.name == kDataEntry) {
    if (call.arguments.size() == 2) record.data[number(0)] = call.arguments[1].content;
    return true;
  }
  return false;
}

}  // namespace

Result<Record> read(const std::string& folder) {
  const std::string name = calls_file(folder);
  const auto file = read_file(name, {.most_bytes = kMostCallsBytes});
  if (!file) {
    return fail(CL_INVALID_VALUE, fmt::format("{}: {}; a record's folder is made by TUTTI_RECORD",
                                              name, file.error().message));
  }
  const std::string_view all = *file;
  std::string_view rest = all;
  if (!rest.starts_with(kCallsMagic)) {
    return fail(CL_INVALID_VALUE, fmt::format("{} is not a record of this version", name));
  }
  rest.remove_prefix(kCallsMagic.size());
  Record record;
  while (!rest.empty()) {
    const size_t offset = all.size() - rest.size();
    CallHead head;
    if (rest.size() >= sizeof head) std::memcpy(&head, rest.data(), sizeof head);
    if (rest.size() < sizeof head || rest.size() - sizeof head < head.size) {
      record.warnings.push_back(
          fmt::format("{} is cut off at byte {}: its first {} entries are used", name, offset,
                      record.calls.size()));
      break;
    }
    const std::string_view body = rest.substr(sizeof head, head.size);
    const auto check = static_cast<uint32_t>(hash_of(std::as_bytes(std::span(body))).low);
    auto call = decode(body);
    if (check != head.check || !call) {
      record.damaged = true;
      record.warnings.push_back(
          fmt::format("{} is damaged at byte {}: its first {} entries are used", name, offset,
                      record.calls.size()));
      break;
    }
    if (!take_supplement(record, *call)) record.calls.push_back(std::move(*call));
    rest.remove_prefix(sizeof head + head.size);
  }
  TUTTI_TRY(record.content.open(folder));
  if (!record.content.warning().empty()) {
    record.damaged =
        record.damaged || record.content.warning().find("damaged") != std::string::npos;
    record.warnings.push_back(record.content.warning());
  }
  return record;
}

}  // namespace tutti::record
