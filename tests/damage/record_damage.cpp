// SPDX-License-Identifier: Apache-2.0
// Damaged records. What is changed gets a right checksum again, mostly.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <span>

#include "record/call.h"
#include "record/files.h"
#include "world.h"

namespace tutti::damage {
namespace {

using record::Call;
using record::CallHead;
using record::calls_file;
using record::Content;
using record::content_file;
using record::kCallsMagic;
using record::kContentMagic;
using record::kPieceBytes;
using record::kUnknownObject;
using record::Object;
using record::ObjectKind;
using record::PieceHead;
using record::Value;

/// The entries of a calls' file, all of which are whole.
std::vector<Call> entries_of(const std::string& folder) {
  const std::string all = content_of(calls_file(folder));
  std::vector<Call> calls;
  for (size_t at = kCallsMagic.size(); at + sizeof(CallHead) <= all.size();) {
    CallHead head;
    std::memcpy(&head, all.data() + at, sizeof head);
    at += sizeof head;
    auto call = record::decode(std::string_view(all).substr(at, head.size));
    if (!call) break;
    calls.push_back(std::move(*call));
    at += head.size;
  }
  return calls;
}

std::string entry_of(const std::string& body) {
  const CallHead head{static_cast<uint32_t>(body.size()),
                      static_cast<uint32_t>(record::hash_of(std::as_bytes(std::span(body))).low)};
  return std::string(reinterpret_cast<const char*>(&head), sizeof head) + body;
}

Value odd_value(Random& random, const std::vector<Call>& calls);

Object odd_object(Random& random, const std::vector<Call>& calls, Object object) {
  switch (random.below(5)) {
    case 0:
      return {object.kind, odd_number(random, object.number) & kUnknownObject};
    case 1:
      return {static_cast<ObjectKind>(random.below(9)), object.number};
    case 2:
      return {object.kind, kUnknownObject};
    default: {
      const Call& other = calls[random.below(calls.size())];
      return other.created.empty() ? Object{} : other.created[random.below(other.created.size())];
    }
  }
}

/// Of whatever is named so often, there is more than any memory holds.
Content odd_content(Random& random, Content content) {
  switch (random.below(4)) {
    case 0:
      content.size = odd_number(random, content.size);
      break;
    case 1:
      if (!content.pieces.empty()) content.pieces.front().low ^= 1;
      break;
    case 2:
      if (content.pieces.empty()) break;
      content.pieces.assign(1000 + random.below(100000), content.pieces.front());
      content.size = content.pieces.size() * kPieceBytes;
      break;
    default:
      content.size -= std::min<uint64_t>(content.size, 1 + random.below(100));
      break;
  }
  return content;
}

template <typename T, typename Odd>
void damage_list(Random& random, std::vector<T>& list, Odd odd) {
  switch (random.below(4)) {
    case 0:
      list.clear();
      break;
    case 1:
      if (!list.empty()) list.pop_back();
      break;
    case 2:
      for (uint64_t i = 1 + random.below(5); i > 0; --i) list.push_back(odd());
      break;
    default:
      if (!list.empty()) random.one_of(list) = odd();
      break;
  }
}

void damage_value(Random& random, const std::vector<Call>& calls, Value& value) {
  if (random.one_in(8)) {
    value = odd_value(random, calls);
    return;
  }
  const auto number = [&] { return odd_number(random, 64); };
  switch (value.type) {
    case Value::Type::kNull:
    case Value::Type::kPointer:
      value = odd_value(random, calls);
      break;
    case Value::Type::kNumber:
      value.number = odd_number(random, value.number);
      break;
    case Value::Type::kNumbers:
      damage_list(random, value.numbers, number);
      break;
    case Value::Type::kObject:
      value.objects.front() = odd_object(random, calls, value.objects.front());
      break;
    case Value::Type::kObjects:
      damage_list(random, value.objects, [&] {
        return odd_object(random, calls, value.objects.empty() ? Object{} : value.objects.front());
      });
      break;
    case Value::Type::kText:
    case Value::Type::kBytes:
      if (random.one_in(2)) {
        value.texts.front() = odd_text(random);
      } else {
        damage_bytes(random, value.texts.front());
      }
      break;
    case Value::Type::kTexts:
      damage_list(random, value.texts, [&] { return odd_text(random); });
      break;
    case Value::Type::kContent:
      value.content = odd_content(random, value.content);
      break;
  }
}

Value odd_value(Random& random, const std::vector<Call>& calls) {
  const Call& other = calls[random.below(calls.size())];
  if (!other.arguments.empty()) return other.arguments[random.below(other.arguments.size())];
  return random.one_in(2) ? Value::null() : Value::of_number(odd_number(random, 1));
}

/// What would take years (README.md).
bool is_launch_size(const Call& call, size_t argument) {
  return call.name == "clEnqueueNDRangeKernel" && argument == 4;
}

void damage_call(Random& random, const std::vector<Call>& calls, Call& call) {
  switch (random.below(10)) {
    case 0:
      call.code = static_cast<int32_t>(odd_number(random, 0));
      break;
    case 1:
      damage_list(random, call.created, [&] {
        return odd_object(random, calls, call.created.empty() ? Object{} : call.created.front());
      });
      break;
    case 2: {
      const std::string launch = "clEnqueueNDRangeKernel";
      const std::string name =
          random.one_in(3) ? odd_text(random) : calls[random.below(calls.size())].name;
      if (name != launch && call.name != launch) call.name = name;
      break;
    }
    case 3:
      (random.one_in(2) ? call.begin : call.end) = odd_number(random, call.begin);
      break;
    case 4:
      (random.one_in(2) ? call.start_ns : call.duration_ns) = odd_number(random, call.start_ns);
      break;
    case 5:
      // Not of launches: others' sizes would move to where theirs are.
      if (call.name == "clEnqueueNDRangeKernel") break;
      damage_list(random, call.arguments, [&] { return odd_value(random, calls); });
      break;
    default: {
      if (call.arguments.empty()) break;
      const size_t at = random.below(call.arguments.size());
      if (is_launch_size(call, at)) {
        call.arguments[at] = Value::of_numbers(std::vector<uint64_t>(random.below(5), 33));
      } else {
        damage_value(random, calls, call.arguments[at]);
      }
      break;
    }
  }
}

/// Calls go, come twice, or change places; user events stay open, or wait for each other.
void damage_order(Random& random, std::vector<Call>& calls) {
  const size_t at = random.below(calls.size());
  switch (random.below(6)) {
    case 0:
      calls.erase(calls.begin() + static_cast<ptrdiff_t>(at));
      break;
    case 1:
      calls.insert(calls.begin() + static_cast<ptrdiff_t>(random.below(calls.size())), calls[at]);
      break;
    case 2:
      std::swap(calls[at], random.one_of(calls));
      break;
    case 3:
      calls.resize(at + 1);
      break;
    case 4:
      std::erase_if(calls, [](const Call& call) { return call.name == "clSetUserEventStatus"; });
      break;
    default: {
      std::vector<Object> events;
      for (const Call& call : calls) {
        for (const Object object : call.created) {
          if (object.kind == ObjectKind::kEvent) events.push_back(object);
        }
      }
      std::reverse(events.begin(), events.end());
      for (Call& call : calls) {
        for (Value& value : call.arguments) {
          if (value.type == Value::Type::kObjects && !value.objects.empty() &&
              value.objects.front().kind == ObjectKind::kEvent && !events.empty()) {
            value.objects.front() = random.one_of(events);
          }
        }
      }
      break;
    }
  }
}

void write_calls(Random& random, std::vector<Call> calls, const std::string& folder) {
  std::string all(kCallsMagic);
  // One kind of damage alone, mostly: it is found before another one can hide it.
  const uint64_t kind = random.below(10);
  for (uint64_t times = random.one_in(3) ? 5 : 1; times > 0 && !calls.empty(); --times) {
    if (kind < 6) damage_call(random, calls, random.one_of(calls));
    if (kind == 6 || kind == 7) damage_order(random, calls);
  }
  const size_t chosen = calls.empty() ? 0 : random.below(calls.size());
  for (size_t i = 0; i < calls.size(); ++i) {
    std::string body = record::encode(calls[i]);
    const bool launch = calls[i].name == "clEnqueueNDRangeKernel";
    if (kind == 8 && i == chosen && !launch) damage_bytes(random, body);
    all += entry_of(body);
  }
  if (kind == 9) damage_bytes(random, all);
  write_file(calls_file(folder), all);
}

/// The heads of pieces get right checksums again; content does not, being named by its own.
void write_content(Random& random, std::string all, const std::string& folder) {
  if (random.one_in(4)) {
    const size_t first = kContentMagic.size();
    if (random.one_in(3) || all.size() < first + sizeof(PieceHead)) {
      damage_bytes(random, all);
    } else {
      PieceHead head;
      std::memcpy(&head, all.data() + first, sizeof head);
      (random.one_in(2) ? head.stored : head.size) =
          static_cast<uint32_t>(odd_number(random, head.size));
      const auto bytes = std::as_bytes(std::span(&head, 1)).subspan(sizeof head.check);
      head.check = static_cast<uint32_t>(record::hash_of(bytes).low);
      std::memcpy(all.data() + first, &head, sizeof head);
    }
  }
  write_file(content_file(folder), all);
}

std::string damaged_record(Case& made, uint64_t programs_one_in) {
  const std::string folder = made.folder + "/record";
  const std::string good =
      made.random.one_in(programs_one_in) ? made.good.record_with_programs() : made.good.record();
  write_calls(made.random, entries_of(good), folder);
  write_content(made.random, content_of(content_file(good)), folder);
  return folder;
}

void show(Case& made) {
  const std::string folder = damaged_record(made, 2);
  made.tutti({"record", "show", folder});
  made.tutti({"record", "show", "--json", folder});
  made.tutti({"record", "show", "--sources", folder});
  made.tutti({"record", "show", "--json", "--source", "9", folder});
}

/// The first cases are no random ones: what a record of several threads may look like.
bool replay_order(Case& made) {
  const std::string folder = made.folder + "/record";
  std::vector<Call> calls = entries_of(made.good.record());
  const auto sets = std::find_if(calls.begin(), calls.end(), [](const Call& call) {
    return call.name == "clSetUserEventStatus";
  });
  if (made.number == 0) {
    calls.erase(sets);
  } else if (made.number == 1) {  // it ended after those who had waited for it
    sets->end = calls.back().end + 1;
  } else {
    return false;
  }
  std::string all(kCallsMagic);
  for (const Call& call : calls) all += entry_of(record::encode(call));
  write_file(calls_file(folder), all);
  write_file(content_file(folder), content_of(content_file(made.good.record())));
  const std::string shown = made.tutti({"replay", folder});
  const bool ended =
      shown.find("which no call before it sets: it is set to an error") != shown.npos;
  const bool same = shown.find(", 0 different") != shown.npos;
  made.expect(ended == (made.number == 0) && same == (made.number == 1),
              "otherwise than it should");
  return true;
}

void replay(Case& made) {
  if (replay_order(made)) return;
  const std::string folder = damaged_record(made, 8);
  if (made.random.one_in(2)) {
    made.tutti({"replay", folder});
  } else {
    made.tutti({"replay", "--json", "--tolerance", "1e-5", folder});
  }
}

}  // namespace

const Subject kShow{"show", 40, show};
const Subject kReplay{"replay", 35, replay};

}  // namespace tutti::damage
