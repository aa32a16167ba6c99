// SPDX-License-Identifier: Apache-2.0
// The files of a record: round trips, and what damage does to them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/temporary_folder.h"
#include "record/reader.h"
#include "record/text.h"
#include "record/writer.h"

namespace tutti::record {
namespace {

using testing::HasSubstr;

std::vector<std::byte> bytes_of(size_t size, unsigned seed) {
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) {
    seed = seed * 1664525u + 1013904223u;
    byte = static_cast<std::byte>(seed >> 24);
  }
  return bytes;
}

Call a_call(Writer& writer, int number) {
  Call call;
  call.name = "clEnqueueSomething" + std::to_string(number);
  call.begin = writer.tick();
  call.thread = 3;
  call.start_ns = 1000;
  call.duration_ns = 77;
  call.code = -30;
  const auto raw = bytes_of(9, 5);
  call.arguments = {
      Value::null(),
      Value::pointer(),
      Value::of_number(UINT64_MAX),
      Value::of_numbers({1, 2, 3}),
      Value::of_object({ObjectKind::kMemory, 12}),
      Value::of_objects({{ObjectKind::kEvent, 1}, {ObjectKind::kEvent, 0}}),
      Value::of_text("a \"text\"\n"),
      Value::of_texts({"one", ""}),
      Value::of_bytes(raw),
      Value::of_content(writer.put(bytes_of(100, static_cast<unsigned>(number))).value())};
  call.created = {{ObjectKind::kKernel, 44}};
  return call;
}

std::string contents(const std::string& name) {
  std::ifstream in(name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void replace_contents(const std::string& name, const std::string& text) {
  std::ofstream(name, std::ios::binary | std::ios::trunc) << text;
}

class RecordTest : public testing::Test {
 protected:
  std::string folder(const char* name = "record") { return temporary_ / name; }

  std::vector<Call> write(int count) {
    auto writer = Writer::create(folder());
    EXPECT_TRUE(writer);
    std::vector<Call> calls;
    for (int i = 0; i < count; ++i) {
      calls.push_back(a_call(**writer, i));
      EXPECT_TRUE((*writer)->write(calls.back()));
    }
    return calls;
  }

  TemporaryFolder temporary_;
};

TEST_F(RecordTest, GivesBackWhatWasWritten) {
  const std::vector<Call> calls = write(4);
  auto record = read(folder());
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->calls, calls);
  EXPECT_THAT(record->warnings, testing::IsEmpty());
  for (int i = 0; i < 4; ++i) {
    const auto content = record->content.get(calls[static_cast<size_t>(i)].arguments[9].content);
    ASSERT_TRUE(content);
    EXPECT_EQ(*content, bytes_of(100, static_cast<unsigned>(i)));
  }
}

TEST_F(RecordTest, SupplementsBelongToTheirCalls) {
  {
    auto writer = Writer::create(folder());
    Call data;
    data.name = kDataEntry;
    data.arguments = {Value::of_number(7),
                      Value::of_content((*writer)->put(bytes_of(10, 1)).value())};
    ASSERT_TRUE((*writer)->write(data));
    Call time;
    time.name = kTimeEntry;
    for (uint64_t value : {7, 10, 20, 30, 40}) time.arguments.push_back(Value::of_number(value));
    ASSERT_TRUE((*writer)->write(time));
  }
  const auto record = read(folder());
  ASSERT_TRUE(record);
  EXPECT_THAT(record->calls, testing::IsEmpty());
  EXPECT_EQ(record->data.at(7), content_of(bytes_of(10, 1)));
  EXPECT_EQ(record->times.at(7).started, 30u);
  EXPECT_EQ(record->times.at(7).ended, 40u);
}

TEST_F(RecordTest, StoresEqualPiecesOnce) {
  const auto large = bytes_of(kPieceBytes * 2 + 5, 3);
  Content first;
  {
    auto writer = Writer::create(folder());
    first = (*writer)->put(large).value();
    EXPECT_EQ((*writer)->put(large).value(), first);
    EXPECT_EQ((*writer)->put({}).value(), Content{});
    auto changed = large;
    changed[kPieceBytes] ^= std::byte{1};  // one piece of three
    EXPECT_NE((*writer)->put(changed).value(), first);
  }
  auto record = read(folder());
  ASSERT_TRUE(record);
  EXPECT_EQ(record->content.pieces(), 4u);
  EXPECT_EQ(record->content.get(first).value(), large);
}

TEST_F(RecordTest, CompressesWhatRepeats) {
  { ASSERT_TRUE((*Writer::create(folder()))->put(std::vector<std::byte>(1 << 20))); }
  EXPECT_LT(std::filesystem::file_size(content_file(folder())), 10000u);
}

TEST_F(RecordTest, ReadsWhatStandsBeforeACut) {
  const std::vector<Call> calls = write(3);
  const std::string whole = contents(calls_file(folder()));
  size_t seen = 0;
  for (size_t size = 0; size < whole.size(); ++size) {
    replace_contents(calls_file(folder()), whole.substr(0, size));
    const auto record = read(folder());
    if (!record) {
      EXPECT_LT(size, kCallsMagic.size());
      continue;
    }
    ASSERT_LE(record->calls.size(), 2u) << size;
    EXPECT_TRUE(std::equal(record->calls.begin(), record->calls.end(), calls.begin()));
    EXPECT_GE(record->calls.size(), seen);
    seen = record->calls.size();
    EXPECT_FALSE(record->damaged);
    if (record->warnings.empty()) {  // between two entries
      continue;
    }
    EXPECT_THAT(record->warnings.front(), HasSubstr("is cut off at byte"));
  }
  EXPECT_EQ(seen, 2u);
}

TEST_F(RecordTest, NoticesEveryDamagedByte) {
  const std::vector<Call> calls = write(2);
  const std::string whole = contents(calls_file(folder()));
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string text = whole;
    text[at] = static_cast<char>(text[at] ^ 0x10);
    replace_contents(calls_file(folder()), text);
    const auto record = read(folder());
    if (!record) {
      EXPECT_LT(at, kCallsMagic.size());
      continue;
    }
    ASSERT_FALSE(record->warnings.empty()) << at;
    ASSERT_LT(record->calls.size(), 2u) << at;
    EXPECT_TRUE(std::equal(record->calls.begin(), record->calls.end(), calls.begin()));
  }
}

TEST_F(RecordTest, NoticesEveryDamagedByteOfContent) {
  const std::vector<Call> calls = write(1);
  const Content& content = calls[0].arguments[9].content;
  const std::string whole = contents(content_file(folder()));
  size_t failures = 0;
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string text = whole;
    text[at] = static_cast<char>(text[at] ^ 0x10);
    replace_contents(content_file(folder()), text);
    auto record = read(folder());
    if (!record) {
      EXPECT_LT(at, kContentMagic.size());
      continue;
    }
    // zstd ignores a bit of its header: then the bytes are right.
    const auto found = record->content.get(content);
    EXPECT_EQ(found.value_or(bytes_of(100, 0)), bytes_of(100, 0)) << at;
    failures += found ? 0 : 1;
  }
  EXPECT_GE(failures + 1, whole.size() - kContentMagic.size());
  replace_contents(content_file(folder()), whole.substr(0, whole.size() - 1));
  auto record = read(folder());
  ASSERT_TRUE(record);
  EXPECT_THAT(record->warnings.at(0), HasSubstr("is cut off"));
  EXPECT_THAT(record->content.get(content).error().message, HasSubstr("is missing"));
}

TEST_F(RecordTest, DecodingRefusesWhatEncodingCannotHaveMade) {
  EXPECT_FALSE(decode(""));
  EXPECT_FALSE(decode(encode(Call{}) + "x"));
  std::string huge_count = encode(Call{});
  huge_count.replace(huge_count.size() - 8, 4, "\xff\xff\xff\xff");
  EXPECT_FALSE(decode(huge_count));
}

TEST_F(RecordTest, AFolderHoldsOneRecord) {
  write(1);
  const auto second = Writer::create(folder());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, CL_INVALID_OPERATION);
  EXPECT_EQ(read(folder())->calls.size(), 1u);
}

TEST_F(RecordTest, SaysWhyAFolderCannotBeMade) {
  replace_contents(folder("file"), "");
  const auto writer = Writer::create(folder("file") + "/record");
  ASSERT_FALSE(writer);
  EXPECT_THAT(writer.error().message, HasSubstr("Not a directory"));
  EXPECT_THAT(read(folder("none")).error().message, HasSubstr("No such file"));
}

TEST_F(RecordTest, NothingHalfStaysBehindOnAFullDisk) {
  auto writer = Writer::create(folder());
  Call call = a_call(**writer, 0);
  ASSERT_TRUE((*writer)->write(call));
  // A limit of the file size fails a write in its middle, as a full disk does.
  signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit limit = before;
  limit.rlim_cur = std::filesystem::file_size(calls_file(folder())) + 50;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  Call lost = call;
  const Status failed = (*writer)->write(lost);
  setrlimit(RLIMIT_FSIZE, &before);
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, HasSubstr("calls.tutti"));
  const auto record = read(folder());
  ASSERT_TRUE(record);
  EXPECT_EQ(record->calls, std::vector<Call>{call});
  EXPECT_THAT(record->warnings, testing::IsEmpty());
}

TEST_F(RecordTest, IsForItsUserAlone) {
  write(1);
  const auto others = std::filesystem::perms::group_all | std::filesystem::perms::others_all;
  for (const std::string& made : {folder(), calls_file(folder()), content_file(folder())}) {
    EXPECT_EQ(std::filesystem::status(made).permissions() & others, std::filesystem::perms::none)
        << made;
  }
}

TEST_F(RecordTest, WaitsForNoPipe) {
  write(1);
  for (const std::string& file : {content_file(folder()), calls_file(folder())}) {
    std::filesystem::remove(file);
    ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
    const auto record = read(folder());
    ASSERT_FALSE(record);
    EXPECT_THAT(record.error().message, HasSubstr(file + ": it is a pipe, not a file"));
  }
}

TEST_F(RecordTest, ContentIsNoLargerThanIsAskedFor) {
  Content content;
  {
    auto writer = Writer::create(folder());
    content = (*writer)->put(bytes_of(100, 1)).value();
  }
  auto record = read(folder());
  ASSERT_TRUE(record);
  EXPECT_TRUE(record->content.get(content, 100));
  EXPECT_FALSE(record->content.get(content, 99));
  // One piece, a million times.
  content.pieces.assign(1000000, content.pieces.front());
  content.size = 100 * content.pieces.size();
  EXPECT_THAT(record->content.get(content, 1000).error().message, HasSubstr("100000000 bytes"));
}

TEST(RecordTextTest, ShowsWhatATerminalWouldObey) {
  Call call;
  call.name = "cl\x1b[2J";
  call.arguments = {Value::of_text("a\x1b\xc2\x9b\xffz\n")};
  EXPECT_EQ(text_of(call), "cl?[2J(\"a\\x1b\\xc2\\x9b\\xffz\\n\")");
}

TEST(RecordTextTest, ReadsLikeACall) {
  Call call;
  call.name = "clCreateKernel";
  call.arguments = {Value::of_object({ObjectKind::kProgram, 4}), Value::of_text("sum"),
                    Value::null()};
  call.created = {{ObjectKind::kKernel, 9}};
  EXPECT_EQ(text_of(call), "clCreateKernel(program 4, \"sum\", null) = kernel 9");
  call.created.clear();
  call.code = CL_INVALID_KERNEL_NAME;
  EXPECT_EQ(text_of(call), "clCreateKernel(program 4, \"sum\", null) -> CL_INVALID_KERNEL_NAME");
}

}  // namespace
}  // namespace tutti::record
