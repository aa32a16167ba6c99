// SPDX-License-Identifier: Apache-2.0
// Random programs on fake devices, with memory of their own and shared, compared byte by byte with
// the same program on plain vectors: order, residency, splits, gathers, unordered streams.
// TUTTI_TEST_SEED=N and TUTTI_TEST_COUNT=N: from which seed on, and how many programs of each kind.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>

#include "fake_kernels.h"
#include "scheduler/engine/engine.h"

namespace tutti::testing {
namespace {
using namespace scheduler;

constexpr uint32_t kBufferBytes = 4096;
constexpr uint32_t kBuffers = 3;
constexpr uint32_t kLocal = 16;

struct Scenario {
  FakeKinds devices;
  SplitMode split;
  bool out_of_order;
  uint64_t buffers_fit = UINT64_MAX;  // into each device's memory
  ShardMode shards = ShardMode::kNeeded;
};
constexpr uint64_t kShardBytes = 64;
constexpr auto kAlways = ShardMode::kAlways;
constexpr auto kStream = ShardMode::kStream;

std::unique_ptr<BackendSet> make_backends(const Scenario& setup) {
  std::vector<std::unique_ptr<backends::Backend>> list;
  for (size_t i = 0; i < setup.devices.size(); ++i) {
    auto fake = std::make_unique<FakeBackend>(static_cast<uint32_t>(i), setup.devices[i]);
    if (setup.buffers_fit != UINT64_MAX) fake->memory_left = setup.buffers_fit * kBufferBytes;
    list.push_back(std::move(fake));
  }
  // Vendors may promise more than there is; of the others it is known.
  const bool known = setup.out_of_order && setup.buffers_fit != UINT64_MAX;
  return std::make_unique<BackendSet>(std::move(list),
                                      known ? setup.buffers_fit * kBufferBytes : UINT64_MAX);
}

BufferView view_of(const Ref<LogicalBuffer>& buffer, uint64_t origin, uint64_t size) {
  return {buffer, origin, size};
}

ArgumentSlot bytes_slot(uint32_t value) {
  ArgumentSlot slot;
  slot.kind = ArgumentSlot::Kind::kBytes;
  slot.bytes.resize(4);
  std::memcpy(slot.bytes.data(), &value, 4);
  return slot;
}

ArgumentSlot buffer_slot(BufferView view) {
  ArgumentSlot slot;
  slot.kind = ArgumentSlot::Kind::kBuffer;
  slot.view = std::move(view);
  return slot;
}

/// One stream's random program, confined to the window [origin, origin + size) of every buffer, so
/// that several of them may run unordered.
class Program {
 public:
  Program(Engine& engine, const Scenario& setup, std::vector<Ref<LogicalBuffer>>& buffers,
          std::vector<std::vector<std::byte>>& model, uint64_t origin, uint64_t size, uint64_t seed)
      : engine_(engine),
        setup_(setup),
        buffers_(buffers),
        model_(model),
        origin_(origin),
        size_(size),
        random_(seed),
        stream_(engine.create_stream({.out_of_order = setup.out_of_order})) {}
  /// Commands may still use what it keeps, where a check has failed.
  ~Program() { static_cast<void>(engine_.finish(*stream_)); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// In an in-order stream whoever is seen to be complete is so after all before it.
  void check_order() {
    if (setup_.out_of_order) return;
    bool complete = false;
    for (auto it = commands_.rbegin(); it != commands_.rend(); ++it) {
      const bool now = it->second->status() == CL_COMPLETE;
      ASSERT_TRUE(now || !complete) << "a command is complete before the one ahead of it";
      complete = now;
    }
  }

  void step() {
    const bool blocking = pick(0, 3) == 0;
    switch (pick(0, 9)) {
      case 0:
        return write(blocking);
      case 1:
        return read(blocking);
      case 2:
        return copy();
      case 3:
        return fill();
      case 4:
        return rect(blocking);
      case 5:
        return map();
      case 6:
        return static_cast<void>(pick(0, 1) ? engine_.finish(*stream_) : engine_.flush(*stream_));
      default:
        return kernel();
    }
  }

  void check() {
    ASSERT_TRUE(engine_.finish(*stream_));
    for (const auto& [kind, command] : commands_) {
      ASSERT_EQ(command->status(), CL_COMPLETE) << "a command, work of kind " << kind;
    }
    for (auto& pending : reads_) {
      ASSERT_EQ(pending->got, pending->expected) << "a non-blocking read";
    }
    for (uint32_t b = 0; b < kBuffers; ++b) {
      std::vector<std::byte> got(size_);
      enqueue(ReadWork{view_of(buffers_[b], 0, kBufferBytes), origin_, size_, got.data()}, true);
      const std::vector<std::byte> expected(model_[b].begin() + static_cast<long>(origin_),
                                            model_[b].begin() + static_cast<long>(origin_ + size_));
      ASSERT_EQ(got, expected) << "buffer " << b;
    }
    engine_.abandon(*stream_);
  }

 private:
  struct PendingRead {
    std::vector<std::byte> got, expected;
  };

  uint64_t pick(uint64_t low, uint64_t high) {
    return std::uniform_int_distribution<uint64_t>(low, high)(random_);
  }
  std::vector<std::byte> random_bytes(uint64_t count) {
    std::vector<std::byte> bytes(count);
    for (auto& byte : bytes) byte = std::byte(static_cast<uint8_t>(pick(0, 255)));
    return bytes;
  }
  std::pair<uint64_t, uint64_t> range() {  // absolute begin, size
    const uint64_t begin = pick(0, size_ - 1);
    return {origin_ + begin, pick(1, size_ - begin)};
  }
  /// A view whose window may begin inside the buffer, as a sub-buffer's; offset relative to it.
  std::pair<BufferView, uint64_t> view(uint32_t buffer, uint64_t begin) {
    const uint64_t origin = pick(0, 1) ? 0 : pick(origin_, begin);
    return {view_of(buffers_[buffer], origin, kBufferBytes - origin), begin - origin};
  }

  void enqueue(Work work, bool blocking, bool observed = true) {
    EnqueueOptions options;
    options.blocking = blocking;
    options.observed = observed;
    options.type = std::holds_alternative<KernelWork>(work) ? CL_COMMAND_NDRANGE_KERNEL
                                                            : CL_COMMAND_READ_BUFFER;
    Command* last = last_.get();
    if (last && (setup_.out_of_order || pick(0, 3) == 0)) options.wait_list = {&last, 1};
    const size_t kind = work.index();
    auto command = engine_.enqueue(*stream_, std::move(work), options);
    ASSERT_TRUE(command) << command.error().message;
    if (observed) note(kind, *command);  // else it may be one with others
  }
  void note(size_t kind, const Ref<Command>& command) {
    last_ = command;
    commands_.emplace_back(kind, command);
  }

  void write(bool blocking) {
    const uint32_t b = static_cast<uint32_t>(pick(0, kBuffers - 1));
    const auto [begin, size] = range();
    kept_.push_back(random_bytes(size));
    std::copy(kept_.back().begin(), kept_.back().end(),
              model_[b].begin() + static_cast<long>(begin));
    const auto [window, offset] = view(b, begin);
    const bool observed = setup_.out_of_order || pick(0, 1) == 1;
    enqueue(WriteWork{window, offset, size, kept_.back().data()}, blocking, observed);
  }
  void read(bool blocking) {
    const uint32_t b = static_cast<uint32_t>(pick(0, kBuffers - 1));
    const auto [begin, size] = range();
    auto pending = std::make_unique<PendingRead>();
    pending->got.resize(size);
    pending->expected.assign(model_[b].begin() + static_cast<long>(begin),
                             model_[b].begin() + static_cast<long>(begin + size));
    const auto [window, offset] = view(b, begin);
    enqueue(ReadWork{window, offset, size, pending->got.data()}, blocking);
    if (blocking) {
      ASSERT_EQ(pending->got, pending->expected) << "a blocking read";
    }
    reads_.push_back(std::move(pending));
  }
  void copy() {
    const uint32_t from = static_cast<uint32_t>(pick(0, kBuffers - 1));
    const uint32_t to = (from + 1) % kBuffers;
    const uint64_t size = pick(1, size_);
    const uint64_t a = origin_ + pick(0, size_ - size), b = origin_ + pick(0, size_ - size);
    std::copy_n(model_[from].begin() + static_cast<long>(a), size,
                model_[to].begin() + static_cast<long>(b));
    const auto [from_window, from_offset] = view(from, a);
    const auto [to_window, to_offset] = view(to, b);
    enqueue(CopyWork{from_window, to_window, from_offset, to_offset, size}, false);
  }
  void fill() {
    const uint32_t b = static_cast<uint32_t>(pick(0, kBuffers - 1));
    FillWork work;
    work.pattern_size = 1u << pick(0, 3);
    const uint64_t units = size_ / work.pattern_size;
    const uint64_t first = pick(0, units - 1), count = pick(1, units - first);
    const auto pattern = random_bytes(work.pattern_size);
    std::copy(pattern.begin(), pattern.end(), work.pattern.begin());
    work.to = view_of(buffers_[b], 0, kBufferBytes);
    work.offset = origin_ + first * work.pattern_size;
    work.size = count * work.pattern_size;
    for (uint64_t i = 0; i < work.size; ++i) {
      model_[b][work.offset + i] = pattern[i % work.pattern_size];
    }
    enqueue(work, false);
  }
  void rect(bool blocking) {
    const uint32_t b = static_cast<uint32_t>(pick(0, kBuffers - 1));
    RectWork work;
    work.write = pick(0, 1) == 1;
    work.view = view_of(buffers_[b], 0, kBufferBytes);
    const size_t pitch = pick(4, 32), width = pick(1, pitch);
    const size_t rows = pick(1, size_ / pitch);
    const uint64_t begin = origin_ + pick(0, size_ - rows * pitch);
    work.region = {width, rows, 1};
    work.buffer_rect = {{begin, 0, 0}, pitch, pitch * rows};
    work.host_rect = {{0, 0, 0}, width, width * rows};
    auto pending = std::make_unique<PendingRead>();
    pending->got = random_bytes(width * rows);
    pending->expected = pending->got;
    for (size_t y = 0; y < rows; ++y) {
      for (size_t x = 0; x < width; ++x) {
        std::byte& cell = model_[b][begin + y * pitch + x];
        if (work.write) {
          cell = pending->got[y * width + x];
        } else {
          pending->expected[y * width + x] = cell;
        }
      }
    }
    work.host = pending->got.data();
    enqueue(work, blocking);
    reads_.push_back(std::move(pending));
  }
  void map() {
    const uint32_t b = static_cast<uint32_t>(pick(0, kBuffers - 1));
    const auto [begin, size] = range();
    MapWork work;
    work.view = view_of(buffers_[b], 0, kBufferBytes);
    work.offset = begin;
    work.size = size;
    work.discard = pick(0, 3) == 0;
    enqueue(work, true);
    std::byte* mapped = *buffers_[b]->host_memory() + begin;
    if (!work.discard) {
      ASSERT_TRUE(std::equal(mapped, mapped + size, model_[b].begin() + static_cast<long>(begin)));
    }
    const bool written = work.discard || pick(0, 1) == 1;
    if (written) {
      const auto bytes = random_bytes(size);
      std::copy(bytes.begin(), bytes.end(), mapped);
      std::copy(bytes.begin(), bytes.end(), model_[b].begin() + static_cast<long>(begin));
    }
    enqueue(UnmapWork{work.view, begin, size, written}, false);
  }
  struct Launch {
    KernelForm form = KernelForm::kMap;
    uint32_t from = 0, to = 0, n = 0;
    uint64_t begin = 0;
  };
  void kernel() {
    // Many with new numbers each become one command with those before them, and so do small writes.
    if (!setup_.out_of_order && pick(0, 2) == 0) {
      for (Launch& run : runs_) {
        if (run.n == 0 || pick(0, 2) == 0) run = some_launch();
      }
      const bool brief = pick(0, 1) == 1;
      const uint64_t observed = pick(0, 2), written = pick(0, 1);
      for (uint64_t times = pick(1, 20); times > 0; --times) {
        const Launch& run = runs_[pick(0, 3) == 0 ? 1 : 0];
        launch(run, run_kernel(run.form), pick(0, 2) < observed, brief ? 1e-6 : 0);
        if (pick(0, 3) < written) write(pick(0, 3) == 0);
      }
      return;
    }
    const Launch one = some_launch();
    // Of known times, so that launches are placed where they end first.
    const double seconds = pick(0, 1) == 1 ? 1e-3 * static_cast<double>(pick(1, 20)) : 0;
    launch(one, fake_kernel(one.form, engine_.backends().count()), true, seconds);
  }
  Launch some_launch() {
    Launch one;
    one.form = static_cast<KernelForm>(pick(0, 3));
    one.from = static_cast<uint32_t>(pick(0, kBuffers - 1));
    one.to = (one.from + 1 + static_cast<uint32_t>(pick(0, 1))) % kBuffers;
    one.begin = origin_ + pick(0, size_ / 2);
    one.n = static_cast<uint32_t>(pick(1, origin_ + size_ - one.begin));
    return one;
  }
  std::shared_ptr<FakeKernel> run_kernel(KernelForm form) {
    auto& kernel = run_kernels_[form];
    if (!kernel) kernel = fake_kernel(form, engine_.backends().count());
    return kernel;
  }
  /// Known to take `seconds`, 0: what it takes.
  void launch(const Launch& one, std::shared_ptr<FakeKernel> kernel, bool observed,
              double seconds) {
    const auto& [form, from, to, n, begin] = one;
    const uint32_t c = static_cast<uint32_t>(pick(0, 255));
    auto arguments = std::make_shared<ArgumentSet>();
    // The windows end with n: what lies behind belongs to other streams.
    arguments->push_back(buffer_slot(view_of(buffers_[from], begin, n)));
    arguments->push_back(buffer_slot(view_of(buffers_[to], begin, n)));
    arguments->push_back(bytes_slot(n));
    arguments->push_back(bytes_slot(c));
    KernelWork work;
    work.kernel = std::move(kernel);
    work.arguments = arguments;
    work.shape.dims = 1;
    work.shape.global[0] = (n + kLocal - 1) / kLocal * kLocal;
    work.shape.local[0] = kLocal;
    work.local_given = true;
    const std::vector<std::byte> before(model_[from].begin() + static_cast<long>(begin),
                                        model_[from].begin() + static_cast<long>(begin + n));
    for (uint32_t i = 0; i < n; ++i) {
      apply(form, before.data(), model_[to].data() + begin, i, n, c);
    }
    for (uint32_t device = 0; seconds > 0 && device < engine_.backends().count(); ++device) {
      engine_.backends().model().add(model_key(work), device, work.shape.items(),
                                     seconds * static_cast<double>(pick(1, 3)));
    }
    LaunchObserver observer{CL_COMMAND_NDRANGE_KERNEL};
    if (!setup_.out_of_order &&
        launch_again(engine_, *stream_, work, observed ? &observer : nullptr)) {
      if (observed) note(Work(work).index(), observer.command);
      return;
    }
    enqueue(work, false, observed);
  }

  Engine& engine_;
  const Scenario& setup_;
  std::vector<Ref<LogicalBuffer>>& buffers_;
  std::vector<std::vector<std::byte>>& model_;
  const uint64_t origin_, size_;
  std::mt19937_64 random_;
  Ref<Stream> stream_;
  Ref<Command> last_;
  std::vector<std::pair<size_t, Ref<Command>>> commands_;  // kind of work
  std::deque<std::vector<std::byte>> kept_;
  std::vector<std::unique_ptr<PendingRead>> reads_;
  std::array<Launch, 2> runs_;  // what was launched many times of late
  std::map<KernelForm, std::shared_ptr<FakeKernel>> run_kernels_;
};

class EngineProperty : public ::testing::TestWithParam<Scenario> {};

TEST_P(EngineProperty, RandomProgramsGiveTheSameBytesAsPlainVectors) {
  const Scenario& setup = GetParam();
  const auto number = [](const char* name, uint64_t otherwise) {
    const char* chosen = std::getenv(name);
    return chosen ? std::strtoull(chosen, nullptr, 10) : otherwise;
  };
  const uint64_t first = number("TUTTI_TEST_SEED", 1);
  const uint64_t count = number("TUTTI_TEST_COUNT", std::getenv("TUTTI_TEST_SEED") ? 1 : 25);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    auto set = make_backends(setup);
    EngineSettings settings;
    settings.split = setup.split;
    settings.seed = seed;
    settings.shards = setup.shards;
    settings.look_ahead = seed % 3 == 0 ? LookAhead::kNever : LookAhead::kAlways;
    settings.shard_unit = kShardBytes;
    Engine engine(*set, settings);
    std::mt19937_64 random(seed);
    std::vector<Ref<LogicalBuffer>> buffers;
    std::vector<std::vector<std::byte>> model(kBuffers, std::vector<std::byte>(kBufferBytes));
    for (auto& content : model) {
      for (auto& byte : content) byte = std::byte(static_cast<uint8_t>(random()));
      LogicalBuffer::Options options;
      options.size = kBufferBytes;
      auto buffer = engine.create_buffer(options, content.data());
      ASSERT_TRUE(buffer);
      buffers.push_back(std::move(*buffer));
    }
    // Two streams in windows of their own, nothing ordering them.
    std::deque<Program> programs;
    programs.emplace_back(engine, setup, buffers, model, 0, kBufferBytes / 2, seed * 2);
    programs.emplace_back(engine, setup, buffers, model, kBufferBytes / 2, kBufferBytes / 2,
                          seed * 2 + 1);
    for (int step = 0; step < 60; ++step) {
      programs[random() % 2].step();
      if (step % 8 == 0) programs[random() % 2].check_order();
      if (HasFatalFailure()) return;
    }
    for (auto& program : programs) {
      program.check();
      if (HasFatalFailure()) return;
    }
    for (uint32_t i = 0; setup.buffers_fit != UINT64_MAX && i < set->count(); ++i) {
      EXPECT_LE(set->memory(i).peak(), setup.buffers_fit * kBufferBytes) << "device " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Devices, EngineProperty,
    ::testing::Values(
        Scenario{{kSharesHost}, SplitMode::kAuto, false},
        Scenario{{kOwnMemory}, SplitMode::kAuto, false},
        Scenario{{kSharesHost, kSharesHost}, SplitMode::kForce, false},
        Scenario{{kOwnMemory, kOwnMemory}, SplitMode::kForce, false},
        Scenario{{kSharesHost, kOwnMemory}, SplitMode::kForce, false},
        Scenario{{kOwnMemory, kSharesHost, kOwnMemory}, SplitMode::kForce, false},
        Scenario{{kOwnMemory, kSharesHost, kOwnMemory}, SplitMode::kForce, true},
        Scenario{{kOwnMemory, kOwnMemory, kOwnMemory, kOwnMemory}, SplitMode::kForce, true},
        Scenario{{kSharesHost, kOwnMemory}, SplitMode::kNever, true},
        Scenario{{kSharesHost, kSharesHost, kOwnMemory}, SplitMode::kNever, false},
        Scenario{{kOwnMemory, kOwnMemory, kOwnMemory}, SplitMode::kNever, false},
        Scenario{{kCostlyTimes, kCostlyTimes}, SplitMode::kNever, false},
        Scenario{{kCostlyTimes}, SplitMode::kAuto, false},
        Scenario{{kCostlyTimes}, SplitMode::kNever, true},
        Scenario{{kSharesHost, kCostlyTimes}, SplitMode::kForce, false},
        Scenario{{kCostlyTimes, kCostlyTimes}, SplitMode::kAuto, true},
        Scenario{{kWholeBuffers}, SplitMode::kAuto, false},
        Scenario{{kWholeBuffers, kWholeBuffers}, SplitMode::kForce, true},
        Scenario{{kWholeBuffers, kSharesHost}, SplitMode::kNever, false},
        Scenario{{kWholeBuffers, kOwnMemory}, SplitMode::kForce, false, 2, kAlways},
        Scenario{{kWholeBuffers, kWholeBuffers}, SplitMode::kForce, true, UINT64_MAX, kStream},
        Scenario{{kOwnMemory}, SplitMode::kAuto, false, 2},
        Scenario{{kOwnMemory}, SplitMode::kAuto, true, 2},
        Scenario{{kSharesHost, kOwnMemory}, SplitMode::kNever, true, 2},
        Scenario{{kOwnMemory, kOwnMemory}, SplitMode::kForce, false, 2},
        Scenario{{kOwnMemory, kOwnMemory, kSharesHost}, SplitMode::kForce, true, 2},
        Scenario{{kSerial, kSerial}, SplitMode::kForce, false},
        Scenario{{kSerial, kSharesHost, kSerial}, SplitMode::kForce, true},
        Scenario{{kSerial, kSerial}, SplitMode::kForce, false, 2},
        Scenario{{kOwnMemory, kOwnMemory}, SplitMode::kForce, false, UINT64_MAX, kAlways},
        Scenario{
            {kOwnMemory, kSharesHost, kOwnMemory}, SplitMode::kForce, true, UINT64_MAX, kAlways},
        Scenario{{kOwnMemory, kOwnMemory, kOwnMemory, kOwnMemory},
                 SplitMode::kForce,
                 true,
                 UINT64_MAX,
                 kAlways},
        Scenario{{kCostlyTimes, kCostlyTimes}, SplitMode::kAuto, true, UINT64_MAX, kAlways},
        Scenario{{kOwnMemory, kOwnMemory, kSharesHost}, SplitMode::kForce, false, 2, kAlways},
        Scenario{{kOwnMemory, kOwnMemory, kOwnMemory}, SplitMode::kForce, true, 2, kAlways},
        Scenario{{kSerial, kSharesHost, kSerial}, SplitMode::kForce, true, UINT64_MAX, kAlways},
        Scenario{{kSerial, kSerial}, SplitMode::kForce, false, 2, kAlways},
        Scenario{{kOwnMemory, kOwnMemory}, SplitMode::kForce, false, UINT64_MAX, kStream},
        Scenario{
            {kOwnMemory, kSharesHost, kOwnMemory}, SplitMode::kForce, true, UINT64_MAX, kStream},
        Scenario{{kOwnMemory, kOwnMemory, kOwnMemory, kOwnMemory},
                 SplitMode::kForce,
                 true,
                 UINT64_MAX,
                 kStream},
        Scenario{{kCostlyTimes, kCostlyTimes}, SplitMode::kAuto, true, UINT64_MAX, kStream},
        Scenario{{kOwnMemory, kOwnMemory, kOwnMemory}, SplitMode::kForce, true, 2, kStream},
        Scenario{{kSerial, kSharesHost, kSerial}, SplitMode::kForce, true, UINT64_MAX, kStream},
        Scenario{{kSerial, kSerial}, SplitMode::kForce, false, 2, kStream}),
    [](const auto& chosen) {
      const Scenario& setup = chosen.param;
      std::string devices = to_string(setup.devices);
      // A test's name is made of letters, digits and underscores.
      std::ranges::replace_if(
          devices, [](char c) { return c == '-' || c == '+'; }, '_');
      return devices +
             (setup.split == SplitMode::kForce   ? "_force"
              : setup.split == SplitMode::kNever ? "_never"
                                                 : "_auto") +
             (setup.out_of_order ? "_unordered" : "_ordered") +
             (setup.buffers_fit == UINT64_MAX ? "" : "_full") +
             (setup.shards == kAlways   ? "_shards"
              : setup.shards == kStream ? "_streamed"
                                        : "");
    });

}  // namespace
}  // namespace tutti::testing
