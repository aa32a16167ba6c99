// SPDX-License-Identifier: Apache-2.0
// What a program does is drawn; what it should find is computed beside it, on plain bytes, as if
// all went well: a command that succeeds has to deliver just that. Commands that share bytes are
// ordered by as few events as it takes, or by the queue.
#include <algorithm>
#include <cstring>
#include <map>

#include "issued.h"
#include "threads.h"
#include "world.h"

namespace tutti::simulation {
namespace {

using namespace scheduler;
using testing::KernelForm;

constexpr uint32_t kLocal = 16;

class Program {
 public:
  Program(World& world, uint64_t begin, uint64_t end) : world_(world), begin_(begin), end_(end) {
    for (uint64_t left = 1 + draw(3); left > 0; --left) {
      Queue queue;
      queue.out_of_order = draw(3) == 0;
      StreamOptions options{.out_of_order = queue.out_of_order, .profiling = draw(8) == 0};
      queue.stream = world.engine->create_stream(options);
      queues_.push_back(queue);
    }
  }

  void run() {
    for (uint64_t left = 3 + draw(22); left > 0; --left) step();
    set_user_events();
    for (uint32_t queue = 0; queue < queues_.size(); ++queue) finish(queue);
    for (uint32_t buffer = 0; buffer < kBuffers; ++buffer) check(buffer);
    for (Queue& queue : queues_) world_.engine->abandon(*queue.stream);
  }

 private:
  void step() {
    switch (draw(16)) {
      case 0:
      case 1:
        return write();
      case 2:
      case 3:
        return read();
      case 4:
        return copy();
      case 5:
        return fill();
      case 6:
        return rect();
      case 7:
        return map();
      case 8:
        return finish(some_queue());
      case 9:
        return static_cast<void>(
            called<void>([&] { return world_.engine->flush(*queues_[some_queue()].stream); }));
      case 10:
        return user_event();
      case 11:
        return marker();
      case 12:
        if (draw(8) == 0) let_pass(draw(3'000'000'000));
        return;
      default:
        return kernels();
    }
  }

  uint32_t some_queue() const { return static_cast<uint32_t>(draw(queues_.size())); }
  uint32_t some_buffer() const { return static_cast<uint32_t>(draw(kBuffers)); }
  std::pair<uint64_t, uint64_t> some_range(uint64_t least = 1) const {  // begin, end
    const uint64_t size = least + draw(end_ - begin_ - least + 1);
    const uint64_t begin = begin_ + draw(end_ - begin_ - size + 1);
    return {begin, begin + size};
  }
  std::vector<std::byte> some_bytes(uint64_t count) const {
    std::vector<std::byte> bytes(count);
    for (std::byte& byte : bytes) byte = std::byte(draw(256));
    return bytes;
  }
  /// A view whose window may begin inside the buffer, as a sub-buffer's; its origin.
  std::pair<BufferView, uint64_t> some_view(const Range& range) const {
    const uint64_t origin = draw(2) == 0 ? 0 : begin_ + draw(range.begin - begin_ + 1);
    return {world_.view(range.buffer, origin, kBufferBytes - origin), origin};
  }
  std::vector<Expected> expected(const Range& range) const {
    const auto& all = world_.expected[range.buffer];
    return {all.begin() + static_cast<ptrdiff_t>(range.begin),
            all.begin() + static_cast<ptrdiff_t>(range.end)};
  }
  void expect(const Range& range, const std::byte* bytes) {
    for (uint64_t at = range.begin; at < range.end; ++at) {
      world_.expected[range.buffer][at] = {bytes[at - range.begin], true};
    }
  }
  void expect_anything(const Ranges& ranges) {
    for (const Range& range : ranges) {
      for (uint64_t at = range.begin; range.writes && at < range.end; ++at) {
        world_.expected[range.buffer][at].known = false;
      }
    }
  }

  void compare(const Issued& issued) {
    const auto& [expected, found] = issued.delivery;
    size_t first = expected.size(), last = 0;
    for (size_t at = 0; at < expected.size(); ++at) {
      if (!expected[at].known || expected[at].value == found[at]) continue;
      first = std::min(first, at);
      last = at;
    }
    if (first == expected.size()) return;
    const Range& range = issued.ranges[0];
    world_.wrong("%u (%s) delivers %d instead of %d at byte %zu of buffer %u, and others up to %zu",
                 issued.number, issued.what, int(found[first]), int(expected[first].value),
                 first + range.begin, range.buffer, last + range.begin);
  }

  // ---- the order of commands

  /// Everything before has ended, as far as the application waits for it.
  void set_user_events() {
    for (; !user_events_.empty(); user_events_.pop_back()) {
      const auto& [command, well] = user_events_.back();
      say("user event is set, %s", well ? "well" : "failed");
      if (!world_.engine->set_user_status(*command, well ? CL_COMPLETE : -1)) {
        world_.wrong("a user event cannot be set");
      }
    }
  }
  /// It is known to have ended so.
  void settle(const Issued& issued, cl_int status) {
    if (issued.called_off) {
      if (status == CL_COMPLETE) {
        world_.wrong("%u (%s) succeeds, though it was called off", issued.number, issued.what);
      }
    } else if (status < 0) {
      world_.told("%u (%s) has failed: %d", issued.number, issued.what, status);
    } else if (status != CL_COMPLETE) {
      world_.wrong("%u (%s) has not ended after a finish: %d", issued.number, issued.what, status);
    } else {
      compare(issued);
    }
  }
  void finish(uint32_t queue) {
    set_user_events();
    say("finish queue %u", queue);
    const Status finished =
        called<void>([&] { return world_.engine->finish(*queues_[queue].stream); });
    if (!finished) {
      // It may be one that was called off.
      const bool called_off = std::any_of(issued_.begin(), issued_.end(), [&](const Issued& one) {
        return one.queue == queue && one.called_off && !one.event;
      });
      if (!called_off) world_.told("finish: %d", finished.error().code);
    }
    for (const Issued& issued : issued_) {
      if (issued.queue != queue) continue;
      if (issued.event) {
        settle(issued, issued.event->status());
      } else if (finished && !named_a_failure(issued)) {
        settle(issued, issued.called_off ? -1 : CL_COMPLETE);
      }
    }
    std::erase_if(issued_, [&](const Issued& one) { return one.queue == queue; });
  }
  /// The program holds an event that says so.
  static bool named_a_failure(const Issued& issued) {
    return std::any_of(issued.named.begin(), issued.named.end(),
                       [](const Ref<Command>& command) { return command->status() < 0; });
  }
  void wait_for(Issued& issued) {
    set_user_events();
    say("wait for %u", issued.number);
    Command* command = issued.event.get();
    static_cast<void>(world_.engine->wait({&command, 1}));
    settle(issued, issued.event->status());
  }

  struct Order {
    std::vector<Command*> wait_list;
    bool called_off = false;
  };
  /// What a command of this queue has to name.
  Order order(uint32_t queue, const Ranges& ranges) {
    Order order;
    for (bool again = true; again;) {
      again = false;
      order = {};
      for (const Issued& before : issued_) {
        const bool named = draw(16) == 0;
        if (!named && !conflict(before.ranges, ranges)) continue;
        const bool by_queue = before.precedes && before.queue == queue;
        if (!named && by_queue && draw(3) != 0) continue;
        if (before.event) {
          order.wait_list.push_back(before.event.get());
          order.called_off |= before.called_off;
        } else if (conflict(before.ranges, ranges) && !by_queue) {
          finish(before.queue);
          again = true;
          break;
        }
      }
    }
    if (!user_events_.empty() && draw(4) == 0) {
      order.wait_list.push_back(user_events_.back().command.get());
      order.called_off |= !user_events_.back().well;
    }
    return order;
  }

  /// Enqueues it somewhere; false: that was refused. `blocking`: its end, as told, is known.
  bool enqueue(const char* what, Work work, const Ranges& ranges, bool blocking,
               Delivery delivery = {}) {
    if (blocking) set_user_events();
    Issued issued;
    issued.number = ++count_;
    issued.what = what;
    issued.queue = some_queue();
    issued.ranges = ranges;
    issued.delivery = std::move(delivery);
    const Order order = this->order(issued.queue, ranges);
    issued.called_off = off_ = order.called_off;
    for (Command* command : order.wait_list) issued.named.emplace_back(command);
    EnqueueOptions options;
    options.type = std::holds_alternative<KernelWork>(work) ? CL_COMMAND_NDRANGE_KERNEL
                                                            : CL_COMMAND_READ_BUFFER;
    options.wait_list = order.wait_list;
    options.blocking = blocking;
    options.observed = draw(3) != 0;
    log(issued, options);
    auto made = called<Ref<Command>>([&] {
      return world_.engine->enqueue(*queues_[issued.queue].stream, std::move(work), options);
    });
    if (!made) {
      say("%u: %d, %s", issued.number, made.error().code, made.error().message.c_str());
      if (!issued.called_off) world_.told("%u (%s): %d", issued.number, what, made.error().code);
      return false;
    }
    if (blocking) {
      settle(issued, CL_COMPLETE);
      return !issued.called_off;
    }
    if (options.observed) issued.event = *made;
    add(std::move(issued));
    return true;
  }
  void log(const Issued& issued, const EnqueueOptions& options) const {
    if (!logs) return;
    // With nothing allocated: a run is the same whether anybody looks at it or not.
    char ranges[256] = "", names[128] = "";
    const auto append = [](auto& text, const char* format, auto... values) {
      const size_t used = std::strlen(text);
      std::snprintf(text + used, sizeof text - used, format, values...);
    };
    for (const Range& range : issued.ranges) {
      append(ranges, " %c%u[%u,%u)", range.writes ? 'w' : 'r', static_cast<unsigned>(range.buffer),
             static_cast<unsigned>(range.begin), static_cast<unsigned>(range.end));
    }
    for (const Command* command : options.wait_list) {
      const auto at = std::find_if(issued_.begin(), issued_.end(),
                                   [&](const Issued& one) { return one.event.get() == command; });
      append(names, at != issued_.end() ? " %u" : " user", at != issued_.end() ? at->number : 0);
    }
    say("%u: %s%s, queue %u%s, after%s%s%s%s", issued.number, options.blocking ? "blocking " : "",
        issued.what, issued.queue, queues_[issued.queue].out_of_order ? " (out of order)" : "",
        names, ranges, options.observed ? "" : ", unobserved",
        issued.called_off ? ", called off" : "");
  }
  void add(Issued issued) {
    issued.precedes = !queues_[issued.queue].out_of_order;
    if (issued.event && draw(6) == 0) {
      ++world_.callbacks_set;
      issued.event->add_callback(CL_COMPLETE,
                                 [&world = world_](cl_int) { ++world.callbacks_called; });
    }
    issued_.push_back(std::move(issued));
    if (issued_.back().event && draw(12) == 0) {
      wait_for(issued_.back());
      issued_.pop_back();
    }
  }
  /// Of what was enqueued last.
  template <typename Effect>
  void after(bool enqueued, bool blocking, const Ranges& ranges, Effect effect) {
    if (enqueued && !off_) return effect();
    // Refused, or failed: the call itself has told.
    if (!enqueued && blocking && !off_) expect_anything(ranges);
  }

  // ---- commands

  bool some_blocking() const { return draw(4) == 0; }

  void write() {
    const auto [begin, end] = some_range();
    const Range range{some_buffer(), begin, end, true};
    const std::byte* bytes = world_.keep(some_bytes(end - begin));
    const auto [view, origin] = some_view(range);
    issue("write", WriteWork{view, begin - origin, end - begin, bytes}, {range}, some_blocking(),
          {}, [&, &range = range] { expect(range, bytes); });
  }
  void read() {
    const auto [begin, end] = some_range();
    const Range range{some_buffer(), begin, end, false};
    std::byte* const to = world_.keep(some_bytes(end - begin));
    const auto [view, origin] = some_view(range);
    issue("read", ReadWork{view, begin - origin, end - begin, to}, {range}, some_blocking(),
          {expected(range), to}, [] {});
  }
  void copy() {
    const uint64_t size = 1 + draw(end_ - begin_);
    const uint64_t a = begin_ + draw(end_ - begin_ - size + 1);
    const uint64_t b = begin_ + draw(end_ - begin_ - size + 1);
    const uint32_t source = some_buffer();
    const Range from{source, a, a + size, false}, to{(source + 1) % kBuffers, b, b + size, true};
    const auto [from_view, from_origin] = some_view(from);
    const auto [to_view, to_origin] = some_view(to);
    issue("copy", CopyWork{from_view, to_view, a - from_origin, b - to_origin, size}, {from, to},
          false, {}, [&, &from = from, &to = to, b = b] {
            const auto bytes = expected(from);
            std::copy(bytes.begin(), bytes.end(),
                      world_.expected[to.buffer].begin() + static_cast<ptrdiff_t>(b));
          });
  }
  void fill() {
    FillWork work;
    work.pattern_size = 1u << draw(4);
    const auto pattern = some_bytes(work.pattern_size);
    std::copy(pattern.begin(), pattern.end(), work.pattern.begin());
    const uint64_t units = (end_ - begin_) / work.pattern_size;
    const uint64_t first = draw(units), count = 1 + draw(units - first);
    work.offset = begin_ + first * work.pattern_size;
    work.size = count * work.pattern_size;
    const Range range{some_buffer(), work.offset, work.offset + work.size, true};
    work.to = world_.view(range.buffer);
    std::vector<std::byte> bytes(work.size);
    for (uint64_t i = 0; i < work.size; ++i) bytes[i] = pattern[i % work.pattern_size];
    issue("fill", work, {range}, false, {}, [&] { expect(range, bytes.data()); });
  }
  void rect() {
    RectWork work;
    work.write = draw(2) == 0;
    const size_t pitch = 4 + draw(29), width = 1 + draw(pitch);
    const size_t rows = 1 + draw((end_ - begin_) / pitch);
    const uint64_t begin = begin_ + draw(end_ - begin_ - rows * pitch + 1);
    const Range range{some_buffer(), begin, begin + (rows - 1) * pitch + width, work.write};
    work.view = world_.view(range.buffer);
    work.region = {width, rows, 1};
    work.buffer_rect = {{begin, 0, 0}, pitch, pitch * rows};
    work.host_rect = {{0, 0, 0}, width, width * rows};
    std::byte* const host = world_.keep(some_bytes(width * rows));
    work.host = host;
    Delivery delivery;
    auto& all = world_.expected[range.buffer];
    if (!work.write) {
      delivery.found = host;
      for (size_t i = 0; i < width * rows; ++i) {
        delivery.expected.push_back(all[begin + i / width * pitch + i % width]);
      }
    }
    issue(work.write ? "write rectangle" : "read rectangle", work, {range}, some_blocking(),
          delivery, [&] {
            for (size_t i = 0; work.write && i < width * rows; ++i) {
              all[begin + i / width * pitch + i % width] = {host[i], true};
            }
          });
  }
  void map() {
    const auto [begin, end] = some_range();
    MapWork work;
    work.discard = draw(4) == 0;
    const bool writes = work.discard || draw(2) == 0;
    const Range range{some_buffer(), begin, end, writes};
    work.view = world_.view(range.buffer);
    work.offset = begin;
    work.size = end - begin;
    auto host = world_.buffers[range.buffer]->host_memory();
    if (!host) return world_.told("map: %d", host.error().code);
    std::byte* const mapped = *host + begin;
    Delivery delivery{work.discard ? std::vector<Expected>{} : expected(range), mapped};
    if (!enqueue("map", work, {range}, true, delivery)) {
      if (work.discard) expect_anything({range});
      return;
    }
    if (writes) {
      const auto bytes = some_bytes(end - begin);
      std::copy(bytes.begin(), bytes.end(), mapped);
      expect(range, bytes.data());
    }
    const bool unmapped =
        enqueue("unmap", UnmapWork{work.view, begin, end - begin, writes}, {range}, false);
    // What is called off stays mapped, or is as it was: nobody can say what it holds.
    if (!unmapped || off_) expect_anything({range});
  }
  void user_event() {
    if (user_events_.size() >= 2) return set_user_events();
    user_events_.push_back({world_.engine->create_user_command(), draw(3) != 0});
  }
  void marker() {
    const uint32_t queue = some_queue();
    EnqueueOptions options;
    options.type = CL_COMMAND_MARKER;
    options.waits_for_all = true;
    options.barrier = draw(2) == 0;
    options.observed = draw(2) == 0;
    say("marker, queue %u%s", queue, options.barrier ? ", barrier" : "");
    const auto made = called<Ref<Command>>(
        [&] { return world_.engine->enqueue(*queues_[queue].stream, MarkerWork{}, options); });
    if (!made) return world_.told("marker: %d", made.error().code);
    for (Issued& issued : issued_) issued.precedes |= options.barrier && issued.queue == queue;
  }

  struct LaunchShapeDrawn {
    KernelForm form = KernelForm::kMap;
    uint32_t from = 0, to = 0, n = 0;
    uint64_t begin = 0;
  };
  LaunchShapeDrawn some_launch() const {
    LaunchShapeDrawn one;
    constexpr KernelForm kForms[] = {
        KernelForm::kMap,     KernelForm::kMap,     KernelForm::kSparse, KernelForm::kGather,
        KernelForm::kStencil, KernelForm::kScatter, KernelForm::kCount,  KernelForm::kCount};
    one.form = kForms[draw(std::size(kForms))];
    one.from = some_buffer();
    one.to = (one.from + 1 + static_cast<uint32_t>(draw(2))) % kBuffers;
    // In place, where no item uses what another one writes.
    const bool alone = one.form == KernelForm::kMap || one.form == KernelForm::kSparse;
    if (alone && draw(3) == 0) one.to = one.from;
    const bool counts = one.form == KernelForm::kCount;
    auto [begin, end] = some_range(counts ? 48 : 1);
    if (counts) begin = (begin + 3) / 4 * 4;
    one.begin = begin;
    one.n = static_cast<uint32_t>(end - begin);
    return one;
  }
  /// There and back again, as iterative programs do; with something in between now and then.
  void iterate() {
    LaunchShapeDrawn one = some_launch();
    const auto there = kernel(one.form), back = draw(2) == 0 ? there : world_.kernel(one.form);
    const uint64_t brief = draw(3);
    for (uint64_t left = 3 + draw(10); left > 0; --left) {
      launch(one, left % 2 == 0 ? there : back, brief, false);
      std::swap(one.from, one.to);
      if (draw(8) == 0) read();
    }
  }
  void kernels() {
    if (draw(4) == 0) return iterate();
    const uint64_t times = draw(4) == 0 ? 1 + draw(8) : 1;
    LaunchShapeDrawn one = some_launch();
    auto kernel = this->kernel(one.form);
    const uint64_t brief = draw(3);
    for (uint64_t i = 0; i < times; ++i) {
      if (i > 0 && draw(4) == 0) {
        one = some_launch();
        kernel = this->kernel(one.form);
      }
      launch(one, kernel, brief, times > 1);
    }
  }
  std::shared_ptr<LaunchableKernel> kernel(KernelForm form) {
    auto& kernel = kernels_[form];
    if (!kernel || draw(4) == 0) kernel = world_.kernel(form);
    return kernel;
  }
  static ArgumentSlot number(uint32_t value) {
    ArgumentSlot slot;
    slot.kind = ArgumentSlot::Kind::kBytes;
    slot.bytes.resize(4);
    std::memcpy(slot.bytes.data(), &value, 4);
    return slot;
  }
  ArgumentSlot memory(uint32_t buffer, uint64_t begin, uint64_t size) const {
    ArgumentSlot slot;
    slot.kind = ArgumentSlot::Kind::kBuffer;
    slot.view = world_.view(buffer, begin, size);
    return slot;
  }
  /// `brief`: how long it is known to take; 0: it is not.
  void launch(const LaunchShapeDrawn& one, const std::shared_ptr<LaunchableKernel>& kernel,
              uint64_t brief, bool again) {
    const auto& [form, from, to, n, begin] = one;
    const auto c = static_cast<uint32_t>(draw(256));
    auto arguments = std::make_shared<ArgumentSet>();
    arguments->push_back(memory(from, begin, n));
    arguments->push_back(memory(to, begin, n));
    arguments->push_back(number(n));
    arguments->push_back(number(c));
    KernelWork work;
    work.kernel = kernel;
    work.arguments = arguments;
    work.shape.global[0] = (n + kLocal - 1) / kLocal * kLocal;
    work.shape.local[0] = kLocal;
    work.local_given = true;
    for (uint32_t device = 0; brief > 0 && device < world_.set->count(); ++device) {
      world_.set->model().add(model_key(work), device, work.shape.items(),
                              (brief == 1 ? 1e-6 : 1e-3) * static_cast<double>(1 + draw(3)));
    }
    const Ranges ranges{{from, begin, begin + n, false}, {to, begin, begin + n, true}};
    const auto effect = [&] {
      const auto in = expected(ranges[0]);
      auto out = expected(ranges[1]);
      const auto known = [](const auto& bytes) {
        return std::all_of(bytes.begin(), bytes.end(), [](const auto& byte) { return byte.known; });
      };
      if (!known(in) || !known(out)) return expect_anything(ranges);
      std::vector<std::byte> before(n);
      alignas(4) std::byte after[kBufferBytes];
      for (uint32_t i = 0; i < n; ++i) {
        before[i] = in[i].value;
        after[i] = out[i].value;
      }
      for (uint32_t i = 0; i < n; ++i) testing::apply(form, before.data(), after, i, n, c);
      expect(ranges[1], after);
    };
    constexpr const char* kForms[] = {"map",     "sparse", "gather", "stencil",
                                      "scatter", "search", "count"};
    const char* const name = kForms[static_cast<size_t>(form)];
    if (again && repeat(name, work, ranges)) return after(true, false, ranges, effect);
    issue(name, std::move(work), ranges, false, {}, effect);
  }
  /// As the application's kernel object launches what repeats an earlier launch.
  bool repeat(const char* name, const KernelWork& work, const Ranges& ranges) {
    Issued issued;
    issued.what = name;
    issued.queue = some_queue();
    issued.ranges = ranges;
    const Order order = this->order(issued.queue, ranges);
    issued.called_off = off_ = order.called_off;
    for (Command* command : order.wait_list) issued.named.emplace_back(command);
    LaunchObserver observer{CL_COMMAND_NDRANGE_KERNEL};
    const bool observed = draw(2) == 0;
    if (!testing::launch_again(*world_.engine, *queues_[issued.queue].stream, work,
                               observed ? &observer : nullptr, order.wait_list)) {
      return false;
    }
    issued.number = ++count_;
    EnqueueOptions options;
    options.wait_list = order.wait_list;
    options.observed = observed;
    log(issued, options);
    if (observed) issued.event = observer.command;
    add(std::move(issued));
    return true;
  }

  /// Enqueues, and sees to what is expected afterwards.
  template <typename Effect>
  void issue(const char* what, Work work, const Ranges& ranges, bool blocking, Delivery delivery,
             Effect effect) {
    const bool enqueued = enqueue(what, std::move(work), ranges, blocking, std::move(delivery));
    after(enqueued, blocking, ranges, effect);
  }

  /// At the end: what is in the buffer, and that it can be written anew where that is lost.
  void check(uint32_t buffer) {
    const Range range{buffer, begin_, end_, false};
    for (int round = 0; round < 2; ++round) {
      std::byte* const found = world_.keep(some_bytes(end_ - begin_));
      const ReadWork read{world_.view(buffer), begin_, end_ - begin_, found};
      if (enqueue("last read", read, {range}, true, {expected(range), found})) return;
      const std::byte* bytes = world_.keep(some_bytes(end_ - begin_));
      const Range anew{buffer, begin_, end_, true};
      const WriteWork write{world_.view(buffer), begin_, end_ - begin_, bytes};
      if (!enqueue("last write", write, {anew}, true)) return expect_anything({anew});
      expect(anew, bytes);
    }
  }

  World& world_;
  const uint64_t begin_, end_;
  std::vector<Queue> queues_;
  std::deque<Issued> issued_;  // and not known to have ended
  std::vector<UserEvent> user_events_;
  std::map<KernelForm, std::shared_ptr<LaunchableKernel>> kernels_;
  uint32_t count_ = 0;
  bool off_ = false;  // what was enqueued last is called off
};

}  // namespace

void run_program(World& world, uint64_t begin, uint64_t end) { Program(world, begin, end).run(); }

}  // namespace tutti::simulation
