// SPDX-License-Identifier: Apache-2.0
// Launches are planned around what other processes have given to the devices: a process stands
// still, and files say in its name what it does.
#include <grp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "base/clock.h"
#include "base/temporary_folder.h"
#include "engine_fixture.h"
#include "scheduler/plan/planner.h"

namespace tutti::testing {
namespace {
using namespace scheduler;

constexpr uint64_t kMillisecond = 1'000'000;

constexpr uid_t kNobody = 65534;

/// A process that does nothing until it is ended, and the file in which it publishes. Root may have
/// one of another user's.
class Other {
 public:
  explicit Other(const TemporaryFolder& folder, uid_t user = geteuid())
      : folder_(folder), user_(user) {
    int ready[2] = {-1, -1};
    if (pipe2(ready, O_CLOEXEC) != 0) ADD_FAILURE() << "no pipe";
    process_ = fork();
    if (process_ == 0) {
      if (user != geteuid()) {
        // As a program that this user has started: who changes its user else hides in /proc.
        if (setgroups(0, nullptr) != 0 || setgid(user) != 0 || setuid(user) != 0) _exit(1);
        prctl(PR_SET_DUMPABLE, 1);
      }
      // It holds the test's output open, for whose end ctest waits, also when the test crashes.
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (write(ready[1], "", 1) != 1) _exit(1);
      for (;;) pause();
    }
    close(ready[1]);
    char byte = 0;
    EXPECT_EQ(read(ready[0], &byte, 1), 1) << "it has not become another user's";
    close(ready[0]);
    device("Fake", "fake 0", 0);
    device("Fake", "fake 1", 1);
  }
  ~Other() { end(); }
  Other(const Other&) = delete;
  Other& operator=(const Other&) = delete;
  void end() {
    if (process_ == 0) return;
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    process_ = 0;
  }

  live::Device& device(const std::string& platform, const std::string& name, uint32_t index) {
    live::Device& made = devices_[count_++];
    made.index = index;
    std::strncpy(made.platform.data(), platform.c_str(), made.platform.size() - 1);
    std::strncpy(made.name.data(), name.c_str(), made.name.size() - 1);
    return made;
  }
  live::Device& at(size_t index) { return devices_[index]; }
  std::string name() const { return live::file_name(process_, live::start_ticks(process_)); }
  /// `of_device`: bytes of a record.
  void publish(size_t of_device = sizeof(live::Device)) {
    live::Header header;
    header.version = version_;
    header.magic = live::kMagic;
    header.header_bytes = sizeof header;
    header.device_bytes = static_cast<uint32_t>(of_device);
    header.device_records = static_cast<uint32_t>(devices_.size());
    header.kernel_bytes = sizeof(live::Kernel);
    header.process = process_;
    header.start_ticks = live::start_ticks(process_);
    header.pid_namespace = live::pid_namespace();
    header.devices = count_;
    std::string text(reinterpret_cast<const char*>(&header), sizeof header);
    for (const live::Device& device : devices_) {
      text.append(reinterpret_cast<const char*>(&device), std::min(of_device, sizeof device));
      text.append(of_device - std::min(of_device, sizeof device), '\0');
    }
    const std::string file = folder_.write(name(), text);
    EXPECT_EQ(chmod(file.c_str(), user_ == geteuid() ? 0600 : 0644), 0);
    EXPECT_TRUE(user_ == geteuid() || chown(file.c_str(), user_, user_) == 0);
  }
  void set_version(uint32_t version) { version_ = version; }

 private:
  const TemporaryFolder& folder_;
  const uid_t user_;
  uint32_t version_ = live::kVersion;
  pid_t process_ = 0;
  std::array<live::Device, 4> devices_;
  uint32_t count_ = 0;
};

class OtherProcessesTest : public EngineTest {
 protected:
  /// Two devices that need 10 ms each.
  void begin(SplitMode split = SplitMode::kAuto) {
    start({kSharesHost, kSharesHost}, SplitMode::kAuto);
    work_ = known_kernel(KernelForm::kMap, buffer(1), buffer(0), 0.01,
                         [](const FakeItem& item) { run_item(KernelForm::kMap, item); });
    settings_.split = split;
    planner_ = std::make_unique<Planner>(*set, settings_);
    set->others().watch(folder_.path());
  }
  KernelPlan plan() const { return *planner_->plan(work_, set->real_devices()); }
  /// Device 0's part of a split.
  double part(const KernelPlan& plan) const {
    if (!plan.split || plan.shares.size() != 2) return plan.backend == 0 ? 1 : 0;
    return static_cast<double>(plan.shares[0]) /
           static_cast<double>(plan.shares[0] + plan.shares[1]);
  }

  const TemporaryFolder folder_;
  EngineSettings settings_;
  KernelWork work_;
  std::unique_ptr<Planner> planner_;
};

TEST_F(OtherProcessesTest, ALongLaunchTakesHalfOfADevice) {
  Other other(folder_);
  other.at(0).busy_until_ns = now_ns() + 20'000 * kMillisecond;
  other.publish();
  begin();
  const KernelPlan found = plan();
  EXPECT_TRUE(found.beside_others);
  EXPECT_NEAR(part(found), 1.0 / 3, 0.02);
  EXPECT_NEAR(found.split_seconds, 0.01 * 2 / 3, 1e-3);
}

TEST_F(OtherProcessesTest, AShortOneIsWaitedFor) {
  begin();
  EXPECT_NEAR(part(plan()), 0.5, 0.02) << "nobody publishes";
  Other other(folder_);
  other.at(0).busy_until_ns = now_ns() + 20'000 * kMillisecond;
  other.publish();
  set->others().watch(folder_.path());
  EXPECT_LT(part(plan()), 0.4);
  const Contention shorter =
      set->others().contention(0, other.at(0).busy_until_ns - 2 * kMillisecond, 0.005);
  EXPECT_EQ(shorter.beside, 0u);
  EXPECT_NEAR(shorter.wait, 0.002, 1e-6);
  EXPECT_FALSE(set->others().contention(1, 0, 0.005).any());
}

TEST_F(OtherProcessesTest, AWholeLaunchGoesToTheFreeDevice) {
  Other other(folder_);
  other.at(0).busy_until_ns = now_ns() + 20'000 * kMillisecond;
  other.publish();
  begin(SplitMode::kNever);
  EXPECT_EQ(plan().backend, 1u);
}

TEST_F(OtherProcessesTest, ThreeTakeThreeQuarters) {
  Other a(folder_), b(folder_), c(folder_);
  for (Other* other : {&a, &b, &c}) {
    other->at(1).busy_until_ns = now_ns() + 20'000 * kMillisecond;
    other->publish();
  }
  begin();
  EXPECT_NEAR(part(plan()), 0.8, 0.02);
  EXPECT_EQ(set->others().beside(1, now_ns()), 3u);
}

// Whoever has one device alone expects nothing of its launches.
TEST_F(OtherProcessesTest, WhatIsBusyWithoutAnEndGoesOn) {
  Other other(folder_);
  other.at(0).busy.begin();
  other.publish();
  begin();
  // It lasts as long as it has lasted: here the clock's tick may be later than the last one.
  while (set->others().beside(0, now_ns()) == 0) {
    set->others().look(now_ns());
  }
  other.publish(offsetof(live::Device, busy_until_ns));  // an older version's
  set->others().watch(folder_.path());
  while (set->others().beside(0, now_ns()) == 0) set->others().look(now_ns());
  SUCCEED();
}

TEST_F(OtherProcessesTest, NothingIsBelieved) {
  const auto equally = [this](const char* what) {
    SCOPED_TRACE(what);
    begin();
    const KernelPlan found = plan();
    EXPECT_FALSE(found.beside_others);
    EXPECT_NEAR(part(found), 0.5, 0.02);
  };
  {
    Other other(folder_);
    other.at(0).busy_until_ns = now_ns() + 3'600'000 * kMillisecond;
    other.publish();
    equally("an hour");
    other.at(0).busy_until_ns = UINT64_MAX;
    other.publish();
    equally("for ever");
    other.at(0).busy_until_ns = now_ns();
    other.publish();
    equally("it has ended");
  }
  {
    Other other(folder_);
    other.at(0).busy_until_ns = now_ns() + 20'000 * kMillisecond;
    other.publish();
    other.end();
    equally("the process has gone");
  }
  {
    Other other(folder_);
    other.at(0).busy_until_ns = other.at(1).busy_until_ns = now_ns() + 20'000 * kMillisecond;
    other.publish(8);
    equally("records are too short");
    other.set_version(live::kVersion + 1);
    other.publish(1 << 10);
    equally("of a version that means something else");
  }
  {
    Other other(folder_);
    std::strncpy(other.at(0).name.data(), "fake 9", 8);
    std::strncpy(other.at(1).platform.data(), "Foreign", 8);
    other.at(0).busy_until_ns = other.at(1).busy_until_ns = now_ns() + 20'000 * kMillisecond;
    other.publish();
    equally("other devices");
  }
  folder_.write("1-2", "no such file");
  folder_.write("x", std::string(5000, 'T'));
  equally("damaged files");
}

// What another process makes of its file, also while it is read, and what else may lie there.
TEST_F(OtherProcessesTest, HostileFilesCountAsNothing) {
  Other other(folder_);
  other.at(0).busy_until_ns = now_ns() + 50'000 * kMillisecond;
  const std::string file = folder_ / other.name(), aside = folder_ / "aside";
  // By a process that has not seen any before.
  const auto seen = [this] {
    begin();
    set->others().look(now_ns());
    return set->others().beside(0, now_ns());
  };
  other.publish(1 << 10);
  EXPECT_EQ(seen(), 1u) << "a later version's records are longer";
  other.publish();
  EXPECT_EQ(seen(), 1u);
  // It is open by now. What is cut off is neither read nor waited for.
  for (const off_t length : {off_t{300}, off_t{1}, off_t{0}}) {
    ASSERT_EQ(truncate(file.c_str(), length), 0);
    set->others().look(now_ns() + 150 * kMillisecond);
    EXPECT_EQ(set->others().beside(0, now_ns()), 0u) << length << " bytes are left";
    EXPECT_EQ(seen(), 0u) << length;
    other.publish();
    EXPECT_EQ(seen(), 1u);
  }
  std::filesystem::rename(file, aside);
  EXPECT_EQ(seen(), 0u) << "under another name";
  std::filesystem::create_symlink(aside, file);
  EXPECT_EQ(seen(), 0u) << "a link";
  std::filesystem::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0666), 0);
  EXPECT_EQ(seen(), 0u) << "a pipe";
  std::filesystem::remove(file);
  std::filesystem::create_directory(file);
  EXPECT_EQ(seen(), 0u) << "a folder";
  std::filesystem::remove(file);
  std::string noise(5 << 20, '\0');
  uint64_t state = 88172645463325252u;
  for (char& byte : noise) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    byte = static_cast<char>(state);
  }
  for (const size_t bytes : {noise.size(), size_t{200} << 10}) {
    folder_.write(other.name(), noise.substr(0, bytes));
    EXPECT_EQ(seen(), 0u) << bytes << " bytes of noise";
    // With the header's beginning as it should be.
    live::Header header;
    header.magic = live::kMagic;
    std::memcpy(noise.data(), &header, offsetof(live::Header, header_bytes));
  }
  other.publish();
  std::filesystem::resize_file(file, uint64_t{1} << 40);
  EXPECT_EQ(seen(), 0u) << "a hole of a TiB";
  // More entries than are looked at.
  std::filesystem::remove(file);
  for (int i = 0; i < 3000; ++i)
    folder_.write(std::to_string(getppid()) + "-" + std::to_string(i), "x");
  EXPECT_EQ(seen(), 0u);
  EXPECT_EQ(part(plan()), 0.5);
}

TEST_F(OtherProcessesTest, AFolderInWhichOthersRemoveWhatIsNotTheirsIsNotUsed) {
  Other other(folder_);
  other.at(0).busy_until_ns = now_ns() + 20'000 * kMillisecond;
  other.publish();
  begin();
  for (const auto& [mode, counted] : {std::pair{0777, 0u}, {01777, 1u}, {0777, 0u}}) {
    ASSERT_EQ(chmod(folder_.path().c_str(), static_cast<mode_t>(mode)), 0);
    begin();
    set->others().look(now_ns());
    EXPECT_EQ(set->others().beside(0, now_ns()), counted) << std::oct << mode;
  }
}

TEST_F(OtherProcessesTest, OtherUsersCountInTheirOwnName) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be two users";
  Other other(folder_, kNobody);
  other.at(0).busy_until_ns = now_ns() + 20'000 * kMillisecond;
  other.publish();
  begin();
  EXPECT_TRUE(plan().beside_others);
  EXPECT_NEAR(part(plan()), 1.0 / 3, 0.02);
  const std::string file = folder_ / other.name();
  for (const auto& [user, counted] : {std::pair{kNobody - 1, 0u}, {kNobody, 1u}}) {
    ASSERT_EQ(chown(file.c_str(), user, user), 0);
    begin();
    set->others().look(now_ns());
    EXPECT_EQ(set->others().beside(0, now_ns()), counted) << user;
  }
  other.end();
  begin();
  EXPECT_FALSE(plan().beside_others) << "the process has gone";
  EXPECT_TRUE(std::filesystem::exists(file)) << "it is not ours to remove";
}

// One user cannot fill the board.
TEST_F(OtherProcessesTest, OfAnotherUserSoManyCount) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be two users";
  std::vector<std::unique_ptr<Other>> many;
  for (int i = 0; i < 70; ++i) {
    many.push_back(std::make_unique<Other>(folder_, kNobody));
    many.back()->at(0).busy_until_ns = now_ns() + 20'000 * kMillisecond;
    many.back()->publish();
  }
  begin();
  set->others().look(now_ns());
  EXPECT_EQ(set->others().beside(0, now_ns()), 8u) << "as many as count at all";
  // A folder shows what was made last first, or last; there is room for ours either way.
  Other ours(folder_);
  ours.at(1).busy_until_ns = now_ns() + 20'000 * kMillisecond;
  ours.publish();
  for (uint64_t now = now_ns(); set->others().beside(1, now_ns()) == 0; now += 100'000'000) {
    set->others().look(now);
    many.pop_back();
    ASSERT_FALSE(many.empty());
  }
}

TEST_F(OtherProcessesTest, SameDevicesAreFound) {
  backends::DeviceTraits gpu, twin, cpu;
  gpu.index = 0, twin.index = 1, cpu.index = 2;
  for (auto* traits : {&gpu, &twin, &cpu}) traits->platform_name = "P", traits->device_name = "D";
  gpu.pci_address = "0000:3b:00.0";
  const std::vector<const backends::DeviceTraits*> devices{&gpu, &twin, &cpu};
  live::LiveProcess process;
  process.devices.resize(3);
  for (uint32_t i = 0; i < 3; ++i) {
    process.devices[i].index = i;
    process.devices[i].platform = "P", process.devices[i].name = "D";
  }
  process.devices[2].pci_address = gpu.pci_address;
  process.devices[2].platform = "another vendor's";
  EXPECT_EQ(same_device(gpu, devices, process), &process.devices[2]);
  EXPECT_EQ(same_device(twin, devices, process), &process.devices[1]);
  EXPECT_EQ(same_device(cpu, devices, process), nullptr) << "two of that name, none of that number";
  process.devices.resize(1);
  const std::vector<const backends::DeviceTraits*> alone{&cpu};
  EXPECT_EQ(same_device(cpu, alone, process), process.devices.data())
      << "the only one of that name";
}

TEST_F(OtherProcessesTest, APlanIsPublishedUntilItHasEnded) {
  const std::string board = folder_ / "board";
  std::filesystem::create_directory(board);
  live::start(folder_ / "own", live::board_for(board, folder_ / "own"));
  begin();
  live::Device* own = live::device({0, CL_DEVICE_TYPE_CPU, "", "", "", ""});
  ASSERT_NE(own, nullptr);
  live::Device* shown = live::on_board(own);
  ASSERT_NE(shown, own);
  const KernelPlan first = plan();
  const Expectation expected = planner_->begin(work_, first);
  EXPECT_GT(shown->busy_until_ns, first.from_ns + 4 * kMillisecond);
  planner_->ended(expected);
  EXPECT_LE(shown->busy_until_ns, now_ns());
  live::stop();
}

// A device that others slow down is no slower for that.
TEST_F(OtherProcessesTest, WhatOthersSlowDownTellsNothing) {
  Other other(folder_);
  other.at(0).busy_until_ns = now_ns() + 20'000 * kMillisecond;
  other.publish();
  begin();
  set->others().look(now_ns());
  EXPECT_EQ(set->part_of_device(model_key(work_), 0), std::nullopt);
  EXPECT_EQ(set->part_of_device(model_key(work_), 1), 1);
  EXPECT_EQ(set->part_of_device(123, 0), 0.5) << "a kernel that was never measured";
}

}  // namespace
}  // namespace tutti::testing
