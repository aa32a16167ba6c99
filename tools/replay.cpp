// SPDX-License-Identifier: Apache-2.0
#include "tools/replay.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <stdexcept>

#include "base/clock.h"
#include "base/printable.h"
#include "base/progress_line.h"
#include "record/text.h"
#include "tools/recorded_arguments.h"
#include "tools/replay_frame.h"
#include "tools/replayed_calls.h"

namespace tutti::tools {

using record::Call;
using record::Object;
using record::ObjectKind;
using record::Value;

struct Replay::InFlight {
  std::unique_ptr<ReplayFrame> frame;
  cl_event event = nullptr;  // a reference of our own
};

struct Replay::Mapping {
  void* pointer = nullptr;
  cl_event event = nullptr;
  std::shared_ptr<ReplayFrame> rows;
};

namespace {

constexpr uint64_t kMostSourceBytes = 256 * kMiB;

uint64_t key(Object object) { return static_cast<uint64_t>(object.kind) << 56 | object.number; }

bool is_launch(const Call& call) {
  return call.name == "clEnqueueNDRangeKernel" || call.name == "clEnqueueTask";
}

/// Reads, writes and maps, whose third argument says whether they wait.
bool may_block(const Call& call) {
  return call.name.starts_with("clEnqueueRead") || call.name.starts_with("clEnqueueWrite") ||
         call.name.starts_with("clEnqueueMap");
}
bool blocks(const Call& call) {
  return may_block(call) && call.arguments.size() > 2 && call.arguments[2].number != 0;
}

/// Times of kernels are wanted, whatever the application wanted.
void ask_for_times(Call& call) {
  if (call.name == "clCreateCommandQueue" && call.arguments.size() > 2) {
    call.arguments[2].number |= CL_QUEUE_PROFILING_ENABLE;
  } else if (call.name.starts_with("clCreateCommandQueueWithProperties") &&
             call.arguments.size() > 2) {
    std::vector<uint64_t>& list = call.arguments[2].numbers;
    for (size_t i = 0; i + 1 < list.size(); i += 2) {
      if (list[i] != CL_QUEUE_PROPERTIES) continue;
      list[i + 1] |= CL_QUEUE_PROFILING_ENABLE;
      return;
    }
    list.insert(list.begin(), {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE});
    if (list.size() == 2) list.push_back(0);
    call.arguments[2].type = Value::Type::kNumbers;
  }
}

}  // namespace

Replay::Replay(record::Record& record, cl_platform_id platform, double tolerance,
               std::atomic<uint64_t>& at)
    : record_(record),
      platform_(platform),
      cl_(**reinterpret_cast<const cl_icd_dispatch* const*>(platform)),
      tolerance_(tolerance),
      at_(at) {
  cl_.clGetDeviceIDs(platform_, CL_DEVICE_TYPE_ALL, 1, &device_, nullptr);
  cl_ulong most = 0;
  cl_.clGetDeviceInfo(device_, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof most, &most, nullptr);
  most_bytes_ = most;
}

Replay::~Replay() = default;

void* Replay::live(Object object) const {
  const auto found = objects_.find(key(object));
  if (found != objects_.end()) return found->second;
  if (object.number == 0) return nullptr;
  // There is one platform, and one device that is not made by a call.
  if (object.kind == ObjectKind::kPlatform) return platform_;
  return object.kind == ObjectKind::kDevice ? device_ : nullptr;
}

void Replay::set_live(Object object, void* handle) {
  objects_[key(object)] = handle;
  references_[key(object)] = 1;
}

void Replay::note(const std::string& text) {
  if (std::find(result_.notes.begin(), result_.notes.end(), text) == result_.notes.end()) {
    result_.notes.push_back(text);
  }
}

ReplayResult Replay::run() {
  // What is done when: commands at the begin of their calls, waits and all else at the end. Where
  // nothing of other threads lies between, a blocking command waits itself.
  struct Step {
    uint64_t tick;
    size_t index;
    enum { kWhole, kIssue, kWait } part;
  };
  std::vector<Step> steps;
  uint64_t first_ns = UINT64_MAX, last_ns = 0;
  for (size_t i = 0; i < record_.calls.size(); ++i) {
    const Call& call = record_.calls[i];
    if (call.name.starts_with("@")) {
      if (!call.arguments.empty() && !call.arguments[0].texts.empty()) {
        note(call.arguments[0].texts[0]);
      }
      continue;
    }
    first_ns = std::min(first_ns, call.start_ns);
    last_ns = std::max(last_ns, call.start_ns + call.duration_ns);
    if (blocks(call) && call.end > call.begin + 1) {
      steps.push_back({call.begin, i, Step::kIssue});
      steps.push_back({call.end, i, Step::kWait});
    } else {
      // Whoever waited for a user event may have gone on before the call that set it ended.
      const bool at_begin =
          call.name.starts_with("clEnqueue") || call.name == "clSetUserEventStatus";
      steps.push_back({at_begin ? call.begin : call.end, i, Step::kWhole});
    }
  }
  std::stable_sort(steps.begin(), steps.end(),
                   [](const Step& a, const Step& b) { return a.tick < b.tick; });
  result_.recorded_ns = steps.empty() ? 0 : last_ns - first_ns;
  const uint64_t start = now_ns();
  ProgressLine progress;
  for (size_t done = 0; done < steps.size(); ++done) {
    const Step& next = steps[done];
    progress.count("calls", done, steps.size());
    if (next.part != Step::kWait) {
      step(next.index, next.part == Step::kIssue);
      continue;
    }
    const auto waiting = blocked_.find(record_.calls[next.index].begin);
    if (waiting == blocked_.end()) continue;
    end_user_events(waits_.of_command(waiting->first), next.index);
    cl_.clWaitForEvents(1, &waiting->second);
    cl_.clReleaseEvent(waiting->second);
    blocked_.erase(waiting);
    settle(false);
  }
  settle(true);
  progress.end();
  result_.replayed_ns = now_ns() - start;
  finish();
  return std::move(result_);
}

/// Nothing uses memory of ours any more.
void Replay::finish() {
  if (const auto open = waits_.open(); !open.empty()) {
    note(fmt::format("{} user events are never set in the record: what waits for them is not run",
                     open.size()));
    for (const uint64_t event : open) end_user_event(event);
  }
  for (InFlight& command : in_flight_) {
    cl_.clWaitForEvents(1, &command.event);
    cl_.clReleaseEvent(command.event);
  }
  in_flight_.clear();
}

/// What a wait would wait for, for ever.
void Replay::end_user_events(const ReplayWaits::UserEvents& events, size_t index) {
  for (const uint64_t event : events) {
    note(fmt::format("call {} waits for {}, which no call before it sets: it is set to an error",
                     index + 1, record::text_of(Object{ObjectKind::kEvent, event})));
    end_user_event(event);
  }
}

void Replay::end_user_event(uint64_t event) {
  cl_.clSetUserEventStatus(static_cast<cl_event>(live({ObjectKind::kEvent, event})),
                           CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  waits_.has_ended(event);
}

void Replay::step(size_t index, bool wait_later) {
  at_.store(index + 1, std::memory_order_relaxed);
  Call call = record_.calls[index];
  // Nothing is known of what stood behind the pointers of a call that failed.
  const bool without_data =
      call.code != CL_SUCCESS &&
      std::any_of(call.arguments.begin(), call.arguments.end(),
                  [](const Value& value) { return value.type == Value::Type::kPointer; });
  if (call.name == "clEnqueueNativeKernel" && call.code == CL_SUCCESS &&
      call.arguments.size() > 3) {
    // Its place in the order stays.
    const size_t events = call.arguments.size() - 3;
    call.name = "clEnqueueMarkerWithWaitList";
    call.arguments.erase(call.arguments.begin() + 1,
                         call.arguments.begin() + static_cast<ptrdiff_t>(events));
  }
  const bool creates =
      call.name == "clGetPlatformIDs" || call.name == "clGetDeviceIDs" ||
      call.name == "clCreateSubDevices" || call.name == "clCreateKernelsInProgram" ||
      call.name == "clCreateProgramWithSource" || call.name == "clCreateProgramWithBinary";
  if ((without_data && !call.name.starts_with("clBuild")) ||
      (!creates && !is_replayed(call.name)) || (creates && call.created.empty())) {
    ++result_.passed_over;
    return;
  }
  auto frame = std::make_unique<ReplayFrame>(*this, index);
  if (wait_later) call.arguments[2].number = 0;
  try {
    make(*frame, call, creates);
  } catch (const std::bad_alloc&) {
    frame->failure = "there is not enough memory";
  } catch (const std::length_error&) {
    frame->failure = "there is not enough memory";
  }
  if (!frame->failure.empty()) {
    result_.failures.push_back(
        fmt::format("call {}: {}: {}", index + 1, printable(call.name), frame->failure));
    return;
  }
  ++result_.calls;
  if (frame->code != call.code) {
    result_.other_codes.push_back(
        {index + 1, record::text_of(record_.calls[index]), call.code, frame->code});
  }
  after(std::move(frame), wait_later);
  if (blocks(call) || call.name == "clFinish" || call.name == "clWaitForEvents") settle(false);
}

void Replay::make(ReplayFrame& frame, Call& call, bool creates) {
  ask_for_times(call);
  if (creates) return create_objects(frame, call);
  const bool retains = call.name.starts_with("clRetain");
  const bool releases = call.name.starts_with("clRelease");
  uint64_t none = 0;
  uint64_t& references = retains || releases ? references_[key(object_at(call, 0))] : none;
  // We hold references of our own, which a damaged record must not give up.
  if (releases && references == 0) {
    if (call.code == CL_SUCCESS) frame.failure = "it was not made, or is released already";
    frame.code = call.code;
    return;
  }
  if (call.name.starts_with("clEnqueue")) {
    waits_.enqueued(call);
    if (blocks(call)) end_user_events(waits_.of_command(call.begin), frame.index);
  } else if (call.name == "clFinish" || call.name == "clWaitForEvents") {
    end_user_events(waits_.of_wait(call), frame.index);
  }
  issue(frame, call);
  if (!frame.called || frame.code != CL_SUCCESS) return;
  if (retains) ++references;
  if (releases) --references;
  waits_.made(call);
}

/// Bytes of a pixel of the image that a command reads or writes; 0: it is none.
size_t Replay::pixel_of(const Call& call) const {
  size_t pixel = 0;
  const auto image = static_cast<cl_mem>(live(object_at(call, 1)));
  if (image != nullptr) {
    cl_.clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof pixel, &pixel, nullptr);
  }
  return pixel;
}

void Replay::issue(ReplayFrame& frame, Call& call) {
  pack_rows(call);
  if (call.name == "clEnqueueUnmapMemObject") {
    unmap(frame, call);
  } else if (call.name.starts_with("clEnqueueRead")) {
    prepare_read(frame, call);
  } else {
    const size_t pixel = call.name == "clEnqueueWriteImage" ? pixel_of(call) : 0;
    frame.failure = data_problem(call, pixel, most_bytes_);
  }
  if (!frame.failure.empty()) return;
  void* made = call_recorded(cl_, frame, call);
  if (!frame.called && frame.failure.empty()) frame.failure = "no way to replay it";
  if (frame.code != CL_SUCCESS || !frame.called) return;
  const bool maps = call.name.starts_with("clEnqueueMap");
  if (maps) finish_map(frame, call, made);
  // The first reference to an event is the application's; ours is taken in after().
  void* const object = frame.event != nullptr ? static_cast<void*>(frame.event) : made;
  if (object != nullptr && !call.created.empty()) set_live(call.created.front(), object);
  if (call.name == "clCreateKernel" && !call.created.empty()) {
    kernel_names_[call.created.front().number] = printable(call.arguments[1].texts.front());
  } else if (call.name == "clCloneKernel" && !call.created.empty()) {
    kernel_names_[call.created.front().number] = kernel_names_[object_at(call, 0).number];
  }
  const bool host = call.name == "clCreateBuffer" || call.name == "clCreateImage" ||
                    call.name.ends_with("WithProperties");
  if (host && made != nullptr) {
    for (auto& bytes : frame.memory) kept_.push_back(std::move(bytes));
  }
}

/// The memory that a read goes to: packed, whatever the application's was.
void Replay::prepare_read(ReplayFrame& frame, Call& call) {
  const bool buffer = call.name == "clEnqueueReadBuffer";
  const bool rectangle = call.name == "clEnqueueReadBufferRect";
  const size_t pointer = buffer ? 5 : rectangle ? 10 : 7;
  if (pointer >= call.arguments.size()) return;  // too few to be called at all
  const auto memory = static_cast<cl_mem>(live(object_at(call, 1)));
  size_t holds = 0;
  const bool known = memory != nullptr && cl_.clGetMemObjectInfo(memory, CL_MEM_SIZE, sizeof holds,
                                                                 &holds, nullptr) == CL_SUCCESS;
  if (call.code != CL_SUCCESS || !known) {  // it fails again
    call.arguments[pointer] = Value::null();
    return;
  }
  const uint64_t size = buffer      ? number_at(call, 4)
                        : rectangle ? product_at(call, 5)
                                    : product(product_at(call, 4), pixel_of(call));
  const auto data = record_.data.find(call.begin);
  if (data != record_.data.end() && data->second.size != size) {
    frame.failure = "the recorded data have another size";
  } else if (size > holds) {
    frame.failure = fmt::format("it reads {} bytes of {}", size, holds);
  }
  if (!frame.failure.empty()) return;
  frame.rows = frame.memory.emplace_back(size).data();
  frame.pointer = frame.rows;
  frame.row_bytes = size;
  frame.gives_data = true;
  call.arguments[pointer] = Value::pointer();
}

void Replay::finish_map(ReplayFrame& frame, const Call& call, void* pointer) {
  frame.rows = static_cast<std::byte*>(pointer);
  frame.gives_data = (number_at(call, 3) & CL_MAP_READ) != 0;
  if (call.name == "clEnqueueMapBuffer") {
    frame.row_bytes = number_at(call, 5);
  } else {
    const auto memory = static_cast<cl_mem>(live(object_at(call, 1)));
    const size_t pixel = pixel_of(call);
    cl_mem_object_type type = 0;
    cl_.clGetMemObjectInfo(memory, CL_MEM_TYPE, sizeof type, &type, nullptr);
    const auto& region = call.arguments[5].numbers;
    if (region.size() != 3) {  // the driver would not have taken it
      frame.failure = "its region has no three sizes";
      return;
    }
    frame.row_bytes = region[0] * pixel;
    frame.row_count = region[1];
    frame.slice_count = region[2];
    frame.row_pitch = frame.sizes[0];
    frame.slice_pitch = frame.sizes[1];
    if (type == CL_MEM_OBJECT_IMAGE1D_ARRAY && frame.sizes[1] != 0) {
      frame.row_pitch = frame.sizes[1];
    }
  }
  Mapping& mapping = mappings_[call.begin];
  mapping.pointer = pointer;
  mapping.event = frame.event;
  cl_.clRetainEvent(frame.event);
  mapping.rows = std::make_shared<ReplayFrame>(*this, frame.index);
  mapping.rows->rows = frame.rows;
  mapping.rows->row_bytes = frame.row_bytes;
  mapping.rows->row_count = frame.row_count;
  mapping.rows->slice_count = frame.slice_count;
  mapping.rows->row_pitch = frame.row_pitch;
  mapping.rows->slice_pitch = frame.slice_pitch;
}

/// Writes what the application had written into the mapped memory.
void Replay::unmap(ReplayFrame& frame, Call& call) {
  if (call.arguments.size() < 3) return;  // too few to be called at all
  const auto found = mappings_.find(number_at(call, 6));
  if (found == mappings_.end() || call.code != CL_SUCCESS) {
    call.arguments[2] = Value::null();
    return;
  }
  Mapping mapping = found->second;
  mappings_.erase(found);
  end_user_events(waits_.of_command(number_at(call, 6)), frame.index);
  const bool mapped = cl_.clWaitForEvents(1, &mapping.event) == CL_SUCCESS;
  cl_.clReleaseEvent(mapping.event);
  settle(false);  // what the map gave is compared before it changes
  if (mapped && call.arguments[2].type == Value::Type::kContent) {
    auto bytes = record_.content.get(call.arguments[2].content, mapping.rows->size());
    if (!bytes) {
      frame.failure = bytes.error().message;
    } else {
      mapping.rows->unpack(*bytes);
    }
  }
  call.arguments[2] = Value::pointer();
  frame.pointer = mapping.pointer;
}

void Replay::create_objects(ReplayFrame& frame, Call& call) {
  const auto count = static_cast<cl_uint>(call.created.size());
  if (call.name == "clGetPlatformIDs") {
    set_live(call.created.front(), platform_);
  } else if (call.name == "clGetDeviceIDs") {
    // Whatever type the application asked for: it got Tutti's device.
    set_live(call.created.front(), device_);
  } else if (call.name == "clCreateKernelsInProgram") {
    std::vector<cl_kernel> kernels(count);
    frame.code = cl_.clCreateKernelsInProgram(static_cast<cl_program>(live(object_at(call, 0))),
                                              count, kernels.data(), nullptr);
    for (size_t i = 0; frame.code == CL_SUCCESS && i < kernels.size(); ++i) {
      set_live(call.created[i], kernels[i]);
      char name[256] = "";
      cl_.clGetKernelInfo(kernels[i], CL_KERNEL_FUNCTION_NAME, sizeof name, name, nullptr);
      kernel_names_[call.created[i].number] = printable(name);
    }
  } else if (call.name == "clCreateSubDevices") {
    if (call.arguments.size() < 2) {
      frame.failure = kArgumentsMissing;
      return;
    }
    std::vector<cl_device_id> devices(count, device_);
    const auto* properties = frame.argument<const cl_context_properties*>(call.arguments[1]);
    const cl_int code = cl_.clCreateSubDevices(static_cast<cl_device_id>(live(object_at(call, 0))),
                                               properties, count, devices.data(), nullptr);
    if (code != CL_SUCCESS) {
      note(
          "these devices cannot be divided as the record's: the whole device stands for each part");
      std::fill(devices.begin(), devices.end(), device_);
    }
    for (size_t i = 0; i < devices.size(); ++i) set_live(call.created[i], devices[i]);
  } else {
    create_program(frame, call);
  }
}

void Replay::create_program(ReplayFrame& frame, const Call& call) {
  const auto context = static_cast<cl_context>(live(object_at(call, 0)));
  const bool binary = call.name == "clCreateProgramWithBinary";
  const size_t first = binary ? 3 : 2;
  if (call.arguments.size() < first) {
    frame.failure = kArgumentsMissing;
    return;
  }
  // No program is this large.
  frame.failure = data_problem(call, 0, kMostSourceBytes);
  if (!frame.failure.empty()) return;
  std::vector<const unsigned char*> texts;
  std::vector<size_t> sizes;
  for (size_t i = first; i < call.arguments.size(); ++i) {
    const Value& value = call.arguments[i];
    texts.push_back(static_cast<const unsigned char*>(frame.argument<const void*>(value)));
    sizes.push_back(value.content.size);
  }
  if (!frame.failure.empty()) return;
  cl_program program = nullptr;
  if (binary) {
    const auto* devices = frame.argument<const cl_device_id*>(call.arguments[2]);
    if (devices != nullptr && call.arguments[2].objects.size() != texts.size()) {
      frame.failure = kListsContradict;
      return;
    }
    program = cl_.clCreateProgramWithBinary(context, static_cast<cl_uint>(texts.size()), devices,
                                            sizes.data(), texts.data(), nullptr, &frame.code);
  } else if (texts.size() == 1) {
    const char* text = texts[0] != nullptr ? reinterpret_cast<const char*>(texts[0]) : "";
    program = cl_.clCreateProgramWithSource(context, 1, &text, sizes.data(), &frame.code);
  }
  set_live(call.created.front(), program);
}

void Replay::after(std::unique_ptr<ReplayFrame> frame, bool wait_later) {
  const Call& call = record_.calls[frame->index];
  if (frame->code != CL_SUCCESS || frame->event == nullptr) return;
  if (wait_later) {
    cl_.clRetainEvent(frame->event);
    cl_event& blocked = blocked_[call.begin];
    if (blocked != nullptr) cl_.clReleaseEvent(blocked);  // of a damaged record
    blocked = frame->event;
  }
  const bool wanted = !call.created.empty() && call.created.front().kind == ObjectKind::kEvent;
  if (wanted) cl_.clRetainEvent(frame->event);
  const cl_event event = frame->event;
  in_flight_.push_back({std::move(frame), event});
}

void Replay::settle(bool wait) {
  std::deque<InFlight> still;
  for (InFlight& command : in_flight_) {
    const Call& call = record_.calls[command.frame->index];
    // At the end: what had ended when it was recorded ends now too.
    if (wait && (record_.data.contains(call.begin) || record_.times.contains(call.begin))) {
      end_user_events(waits_.of_command(call.begin), command.frame->index);
      cl_.clWaitForEvents(1, &command.event);
    }
    cl_int status = CL_QUEUED;
    cl_.clGetEventInfo(command.event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                       nullptr);
    if (status > CL_COMPLETE) {
      still.push_back(std::move(command));
      continue;
    }
    if (status == CL_COMPLETE) {
      complete(command);
    } else {
      result_.other_codes.push_back(
          {command.frame->index + 1, record::text_of(call), CL_SUCCESS, status});
    }
    cl_.clReleaseEvent(command.event);
  }
  in_flight_ = std::move(still);
}

void Replay::complete(InFlight& command) {
  const Call& call = record_.calls[command.frame->index];
  if (command.frame->gives_data) compare(command, command.frame->packed());
  if (!is_launch(call)) return;
  ReplayResult::Kernel& kernel = result_.kernels[kernel_names_[object_at(call, 1).number]];
  ++kernel.launches;
  cl_ulong start = 0, end = 0;
  const bool known = cl_.clGetEventProfilingInfo(command.event, CL_PROFILING_COMMAND_START,
                                                 sizeof start, &start, nullptr) == CL_SUCCESS &&
                     cl_.clGetEventProfilingInfo(command.event, CL_PROFILING_COMMAND_END,
                                                 sizeof end, &end, nullptr) == CL_SUCCESS;
  const auto recorded = record_.times.find(call.begin);
  if (!known || recorded == record_.times.end()) return;
  kernel.recorded_ns += recorded->second.ended - recorded->second.started;
  kernel.replayed_ns += end - start;
}

void Replay::compare(const InFlight& command, const std::vector<std::byte>& found) {
  const Call& call = record_.calls[command.frame->index];
  const auto recorded = record_.data.find(call.begin);
  if (recorded == record_.data.end()) {
    ++result_.unknown;
    return;
  }
  ++result_.compared;
  if (record::content_of(found) == recorded->second) {
    ++result_.equal;
    return;
  }
  const auto expected = record_.content.get(recorded->second, found.size());
  if (!expected) {
    --result_.compared;
    ++result_.unknown;
    result_.failures.push_back(
        fmt::format("call {}: {}", command.frame->index + 1, expected.error().message));
    return;
  }
  bool near = tolerance_ > 0 && expected->size() == found.size() && found.size() % 4 == 0;
  for (size_t i = 0; near && i < found.size(); i += 4) {
    float a = 0, b = 0;
    std::memcpy(&a, expected->data() + i, 4);
    std::memcpy(&b, found.data() + i, 4);
    near = std::memcmp(&a, &b, 4) == 0 || (std::isnan(a) && std::isnan(b)) ||
           std::fabs(double{a} - b) <= tolerance_ * std::max(std::fabs(a), std::fabs(b));
  }
  if (near) {
    ++result_.within_tolerance;
    return;
  }
  const auto differs =
      std::mismatch(found.begin(), found.end(), expected->begin(), expected->end());
  result_.differences.push_back({command.frame->index + 1, record::text_of(call),
                                 static_cast<uint64_t>(differs.first - found.begin()),
                                 found.size()});
}

}  // namespace tutti::tools
