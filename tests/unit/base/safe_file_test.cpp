// SPDX-License-Identifier: Apache-2.0
#include "base/safe_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
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

std::string why_not_shared(const std::string& path) {
  const auto opened = SharedFolder::open(path);
  return opened ? "" : opened.error().message;
}

TEST(SharedFolder, IsRootsOrOursAndLetsNobodyRemoveWhatIsAnothers) {
  TemporaryFolder folder;
  const std::string own = folder / "own";
  EXPECT_EQ(SharedFolder::open(own).error().code, CL_INVALID_OPERATION);
  std::filesystem::create_directory(own);
  for (const mode_t mode : {0700, 0755, 01777, 01770}) {
    ASSERT_EQ(chmod(own.c_str(), mode), 0);
    EXPECT_EQ(why_not_shared(own), "") << std::oct << mode;
  }
  for (const mode_t mode : {0777, 0770, 0702}) {
    ASSERT_EQ(chmod(own.c_str(), mode), 0);
    EXPECT_EQ(why_not_shared(own), kNotSticky) << std::oct << mode;
  }
  EXPECT_EQ(why_not_shared(folder.write("file", "")), "Not a directory");
  ASSERT_EQ(chmod(own.c_str(), 01777), 0);
  const std::string link = folder / "link";
  ASSERT_EQ(symlink(own.c_str(), link.c_str()), 0);
  EXPECT_EQ(why_not_shared(link), "") << "our own link";
  if (geteuid() != 0) GTEST_SKIP() << "only root can give folders away";
  ASSERT_EQ(lchown(link.c_str(), 65534, 65534), 0);
  EXPECT_EQ(why_not_shared(link), "it is another user's link");
  ASSERT_EQ(chown(own.c_str(), 65534, 65534), 0);
  EXPECT_EQ(why_not_shared(own), "it belongs to another user");
}

TEST(SharedFolder, WhatLiesThereNeitherWaitsNorLeadsElsewhere) {
  TemporaryFolder folder;
  folder.write("a", "12345");
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0666), 0);
  ASSERT_EQ(symlink((folder / "a").c_str(), (folder / "link").c_str()), 0);
  std::filesystem::create_directory(folder / "folder");
  const auto why = [&folder](const std::string& name, uint64_t most_bytes = 100) {
    const auto file = SharedFolder::open(folder.path())->open_anybodys(name, most_bytes);
    return file ? read_rest(*file, most_bytes).value() : file.error().message;
  };
  EXPECT_EQ(why("a"), "12345");
  EXPECT_EQ(why("a", 4), "it is too large");
  EXPECT_EQ(why("pipe"), "it is no regular file");
  EXPECT_EQ(why("folder"), "it is no regular file");
  EXPECT_EQ(why("link"), strerror(ELOOP));
  EXPECT_EQ(why("none"), strerror(ENOENT));
  EXPECT_EQ(why("../" + std::filesystem::path(folder.path()).filename().string() + "/a"),
            strerror(EXDEV));
  // A user may mount over its file what answers late, or never.
  const pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWNS) != 0 || mount("", "/", "", MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("/dev/null", (folder / "a").c_str(), "", MS_BIND, nullptr) != 0) {
      _exit(2);
    }
    _exit(why("a") == strerror(EXDEV) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "nothing can be mounted here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
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
