// SPDX-License-Identifier: Apache-2.0
// edit-record FROM TO OLD NEW: copies a record; in the sources of programs OLD becomes NEW. Fails
// when OLD is nowhere.
#include <cstdio>
#include <string>
#include <unordered_map>

#include "record/reader.h"
#include "record/writer.h"

namespace {

using namespace tutti::record;

int complain(const std::string& message) {
  fprintf(stderr, "edit-record: %s\n", message.c_str());
  return 1;
}

Content copy(ContentReader& from, Writer& to, const Content& content) {
  const auto bytes = from.get(content);
  if (!bytes) throw bytes.error();
  return to.put(*bytes).value();
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 5) return complain("FROM TO OLD NEW");
  auto record = read(argv[1]);
  if (!record) return complain(record.error().message);
  auto writer = Writer::create(argv[2]);
  if (!writer) return complain(writer.error().message);
  const std::string old_text = argv[3], new_text = argv[4];
  size_t changes = 0;
  std::unordered_map<uint64_t, uint64_t> begins;
  for (Call& call : record->calls) {
    for (Value& value : call.arguments) {
      if (value.type != Value::Type::kContent) continue;
      const auto bytes = record->content.get(value.content);
      if (!bytes) return complain(bytes.error().message);
      std::string text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
      if (call.name == "clCreateProgramWithSource") {
        for (size_t at = 0; (at = text.find(old_text, at)) != std::string::npos;
             at += new_text.size()) {
          text.replace(at, old_text.size(), new_text);
          ++changes;
        }
      }
      value.content = (*writer)->put(std::as_bytes(std::span(text))).value();
    }
    // Calls have new ticks, as if made one after the other.
    const uint64_t old_begin = call.begin;
    begins[old_begin] = call.begin = (*writer)->tick();
    if (call.name == "clEnqueueUnmapMemObject") {
      call.arguments[6].number = begins[call.arguments[6].number];
    }
    if (!(*writer)->write(call)) return complain("cannot write");
    if (const auto data = record->data.find(old_begin); data != record->data.end()) {
      Call entry;
      entry.name = kDataEntry;
      entry.arguments = {Value::of_number(call.begin),
                         Value::of_content(copy(record->content, **writer, data->second))};
      if (!(*writer)->write(entry)) return complain("cannot write");
    }
  }
  return changes > 0 ? 0 : complain("nothing to change");
} catch (const tutti::Error& error) {
  return complain(error.message);
}
