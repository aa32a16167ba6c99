// SPDX-License-Identifier: Apache-2.0
#include "base/safe_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/kept_file.h"
#include "base/output_file.h"
#include "temporary_folder.h"

namespace tutti {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

mode_t mode_of(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 ? status.st_mode & 0777 : 0;
}

std::string why_not(const std::string& path, const ReadRules& rules) {
  const auto content = read_file(path, rules);
  return content ? "it was read" : content.error().message;
}

TEST(SafeFile, ReadsRegularFilesOfABoundedSize) {
  TemporaryFolder folder;
  const std::string file = folder.write("f", std::string(5000, 'x'));
  EXPECT_EQ(read_file(file, {}).value(), std::string(5000, 'x'));
  EXPECT_EQ(read_file(file, {.most_bytes = 5000}).value().size(), 5000u);
  EXPECT_EQ(why_not(file, {.most_bytes = 4999}), "it is larger than 4 KiB");
  EXPECT_EQ(why_not(folder / "none", {}), "No such file or directory");
  EXPECT_EQ(why_not(folder.path(), {}), "it is a folder");
  EXPECT_EQ(why_not("/dev/zero", {}), "it is no regular file");
  EXPECT_EQ(why_not("/dev/zero", {.most_bytes = 1 << 20, .kind = FileKind::kStream}),
            "it is larger than 1 MiB");
  // Files that say nothing of their size.
  EXPECT_GT(read_file("/proc/self/stat", {}).value().size(), 20u);
  EXPECT_EQ(first_line_of(folder.write("g", "one\ntwo\n")), "one");
  EXPECT_EQ(first_line_of(folder / "none"), "");
}

TEST(SafeFile, WaitsForNoPipe) {
  TemporaryFolder folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(why_not(pipe, {}), "it is a pipe, not a file");
  EXPECT_FALSE(read_kept(pipe));
  for (const Content content : {Content::kIsReplaced, Content::kIsAppendedTo, Content::kStays}) {
    const auto output = open_output(pipe, content);
    ASSERT_FALSE(output);
    EXPECT_EQ(output.error().message, "it is a pipe, not a file");
  }
  // Not even where somebody reads, who may stop doing so.
  const Descriptor reader(open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  EXPECT_FALSE(open_output(pipe, Content::kIsReplaced));
  EXPECT_TRUE(open_output(pipe, Content::kIsReplaced, Waiting::kAccepted));
}

TEST(SafeFile, TrustsThoseWhoMayWriteIt) {
  TemporaryFolder folder;
  const std::string file = folder.write("f", "x");
  ASSERT_EQ(chmod(file.c_str(), 0664), 0);
  EXPECT_TRUE(read_file(file, {kMiB, Owner::kUserOrRoot}));
  EXPECT_EQ(why_not(file, {kMiB, Owner::kUser}), "others may write to it");
  ASSERT_EQ(chmod(file.c_str(), 0666), 0);
  EXPECT_EQ(why_not(file, {kMiB, Owner::kUserOrRoot}), "others may write to it");
  EXPECT_TRUE(read_file(file, {}));
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  ASSERT_EQ(chmod(file.c_str(), 0644), 0);
  ASSERT_EQ(chown(file.c_str(), 65534, 65534), 0);
  EXPECT_EQ(why_not(file, {kMiB, Owner::kUser}), "it belongs to another user");
  EXPECT_EQ(why_not(file, {kMiB, Owner::kUserOrRoot}), "it belongs to another user");
  EXPECT_TRUE(read_file(file, {}));
}

TEST(OwnFolder, IsMadeForThisUserAlone) {
  TemporaryFolder folder;
  ASSERT_TRUE(keep_file(folder / "a/tutti/probe/x", "1"));
  for (const char* made : {"a", "a/tutti", "a/tutti/probe"}) {
    EXPECT_EQ(mode_of(folder / made), mode_t{0700}) << made;
  }
  EXPECT_EQ(mode_of(folder / "a/tutti/probe/x"), mode_t{0600});
}

TEST(OwnFolder, IsMadePrivateWhereTheNameIsOurs) {
  TemporaryFolder folder;
  std::filesystem::create_directories(folder / "a/tutti/probe");
  for (const char* made : {"a", "a/tutti", "a/tutti/probe"}) {
    ASSERT_EQ(chmod((folder / made).c_str(), 0755), 0);
  }
  folder.write("a/tutti/probe/old", "1");
  ASSERT_EQ(chmod((folder / "a/tutti/probe/old").c_str(), 0644), 0);
  EXPECT_EQ(read_kept(folder / "a/tutti/probe/old"), "1");
  EXPECT_EQ(mode_of(folder / "a"), mode_t{0755}) << "a person's own";
  EXPECT_EQ(mode_of(folder / "a/tutti"), mode_t{0700});
  EXPECT_EQ(mode_of(folder / "a/tutti/probe"), mode_t{0700});
  EXPECT_EQ(mode_of(folder / "a/tutti/probe/old"), mode_t{0600});
}

TEST(OwnFolder, IsNotTrustedWhereOthersWrite) {
  TemporaryFolder folder;
  const std::string file = folder / "a/x";
  ASSERT_TRUE(keep_file(file, "1"));
  for (const mode_t mode : {mode_t{0770}, mode_t{0703}}) {
    ASSERT_EQ(chmod((folder / "a").c_str(), mode), 0);
    EXPECT_FALSE(read_kept(file));
    const Status kept = keep_file(file, "2");
    ASSERT_FALSE(kept);
    EXPECT_THAT(kept.error().message, HasSubstr("x cannot be written: others may write there"));
  }
  ASSERT_EQ(chmod((folder / "a").c_str(), 0700), 0);
  EXPECT_EQ(read_kept(file), "1");
  if (geteuid() != 0) GTEST_SKIP() << "only root can give folders away";
  ASSERT_EQ(chown((folder / "a").c_str(), 65534, 65534), 0);
  EXPECT_FALSE(read_kept(file));
  EXPECT_FALSE(keep_file(file, "2"));
}

TEST(OwnFolder, FollowsNoLinkOfItsEntries) {
  TemporaryFolder folder;
  folder.write("elsewhere", "secret");
  ASSERT_TRUE(keep_file(folder / "a/x", "1"));
  std::filesystem::create_symlink("../elsewhere", folder / "a/link");
  EXPECT_FALSE(read_kept(folder / "a/link"));
  ASSERT_TRUE(keep_file(folder / "a/link", "new"));  // takes the link's place
  EXPECT_EQ(read_kept(folder / "a/link"), "new");
  EXPECT_EQ(read_file(folder / "elsewhere", {}).value(), "secret");
  const auto own = OwnFolder::open(folder / "a", OwnFolder::Missing::kFails);
  ASSERT_TRUE(own);
  EXPECT_THAT(own->names(10), UnorderedElementsAre("x", "link"));
  EXPECT_EQ(own->names(1).size(), 1u);
  own->remove("x");
  EXPECT_FALSE(own->has("x"));
  EXPECT_EQ(std::filesystem::path(own->path()), std::filesystem::canonical(folder / "a"));
  // The folder itself may be a link of the user's.
  std::filesystem::create_symlink("a", folder / "b");
  EXPECT_EQ(read_kept(folder / "b/link"), "new");
}

TEST(OutputFile, IsMadeAsUsualAndReplacedAsAWhole) {
  TemporaryFolder folder;
  const std::string file = folder / "out";
  const mode_t before = umask(022);
  ASSERT_TRUE(write_output(file, "a longer text"));
  umask(before);
  EXPECT_EQ(mode_of(file), mode_t{0644});
  ASSERT_TRUE(write_output(file, "short"));
  EXPECT_EQ(read_file(file, {}).value(), "short");
  EXPECT_TRUE(write_output("/dev/null", "gone"));
  EXPECT_FALSE(write_output(folder / "none/out", ""));
  EXPECT_FALSE(write_output(folder.path(), ""));
}

}  // namespace
}  // namespace tutti
