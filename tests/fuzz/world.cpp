// SPDX-License-Identifier: Apache-2.0
#include "world.h"

#include <algorithm>
#include <cstdio>

namespace tutti::api_fuzz {
namespace {

constexpr size_t kArenaBytes = size_t{1} << 20;
constexpr size_t kDeadHandles = 200;

}  // namespace

size_t Random::odd_size() {
  const size_t base = pick<size_t>({0, 1, 64, 4096, size_t{1} << 20, size_t{1} << 31,
                                    size_t{1} << 32, size_t{1} << 63, SIZE_MAX});
  return base + pick<size_t>({0, 1, SIZE_MAX, 3});
}

cl_int invalid_code(Kind kind) {
  switch (kind) {
    case Kind::kDevice:
      return CL_INVALID_DEVICE;
    case Kind::kContext:
      return CL_INVALID_CONTEXT;
    case Kind::kQueue:
      return CL_INVALID_COMMAND_QUEUE;
    case Kind::kMemory:
    case Kind::kImage:
      return CL_INVALID_MEM_OBJECT;
    case Kind::kSampler:
      return CL_INVALID_SAMPLER;
    case Kind::kProgram:
      return CL_INVALID_PROGRAM;
    case Kind::kKernel:
      return CL_INVALID_KERNEL;
    case Kind::kEvent:
      return CL_INVALID_EVENT;
  }
  return CL_INVALID_VALUE;
}

std::string Expected::text() const {
  if (success()) return "CL_SUCCESS";
  std::string text;
  for (const cl_int code : codes_) text += (text.empty() ? "" : " or ") + std::to_string(code);
  return text;
}

World::World(uint64_t seed, cl_platform_id chosen, cl_device_id device, bool is_alone,
             Tally& counts)
    : random(seed),
      tally(counts),
      platform(chosen),
      alone(is_alone),
      seed_(seed),
      arena_(kArenaBytes) {
  root = add(Kind::kDevice, device, nullptr);
  root->root = true;
}

World::~World() = default;

ObjectRef World::any(Kind kind) {
  const auto& list = all(kind);
  return list.empty() ? nullptr : random.pick(list);
}

ObjectRef World::any_of(Kind kind, const ObjectRef& context) {
  std::vector<ObjectRef> list;
  for (const ObjectRef& object : all(kind)) {
    if (object->context == context) list.push_back(object);
  }
  return list.empty() ? nullptr : random.pick(list);
}

ObjectRef World::add(Kind kind, void* handle, ObjectRef context) {
  // The address of a dead object may serve a new one, also an image's a buffer.
  std::erase_if(dead_, [handle](const auto& dead) { return dead.second == handle; });
  auto object = std::make_shared<Object>();
  object->kind = kind;
  object->handle = handle;
  object->context = std::move(context);
  live_[static_cast<size_t>(kind)].push_back(object);
  return object;
}

cl_int World::retain_handle(Kind kind, void* handle) {
  switch (kind) {
    case Kind::kDevice:
      return clRetainDevice(static_cast<cl_device_id>(handle));
    case Kind::kContext:
      return clRetainContext(static_cast<cl_context>(handle));
    case Kind::kQueue:
      return clRetainCommandQueue(static_cast<cl_command_queue>(handle));
    case Kind::kSampler:
      return clRetainSampler(static_cast<cl_sampler>(handle));
    case Kind::kMemory:
    case Kind::kImage:
      return clRetainMemObject(static_cast<cl_mem>(handle));
    case Kind::kProgram:
      return clRetainProgram(static_cast<cl_program>(handle));
    case Kind::kKernel:
      return clRetainKernel(static_cast<cl_kernel>(handle));
    case Kind::kEvent:
      return clRetainEvent(static_cast<cl_event>(handle));
  }
  return CL_INVALID_VALUE;
}

cl_int World::release_handle(Kind kind, void* handle) {
  switch (kind) {
    case Kind::kDevice:
      return clReleaseDevice(static_cast<cl_device_id>(handle));
    case Kind::kContext:
      return clReleaseContext(static_cast<cl_context>(handle));
    case Kind::kQueue:
      return clReleaseCommandQueue(static_cast<cl_command_queue>(handle));
    case Kind::kSampler:
      return clReleaseSampler(static_cast<cl_sampler>(handle));
    case Kind::kMemory:
    case Kind::kImage:
      return clReleaseMemObject(static_cast<cl_mem>(handle));
    case Kind::kProgram:
      return clReleaseProgram(static_cast<cl_program>(handle));
    case Kind::kKernel:
      return clReleaseKernel(static_cast<cl_kernel>(handle));
    case Kind::kEvent:
      return clReleaseEvent(static_cast<cl_event>(handle));
  }
  return CL_INVALID_VALUE;
}

void World::release(const ObjectRef& object) {
  check("clRelease…", {}, release_handle(object->kind, object->handle));
  if (object->root || --object->references > 0) return;
  std::erase(live_[static_cast<size_t>(object->kind)], object);
  if (alone && !object->lent) {
    dead_.emplace_back(object->kind, object->handle);
    if (dead_.size() > kDeadHandles) dead_.erase(dead_.begin());
  }
}

void* World::wrong_handle(Kind kind, bool in_list) {
  switch (random.below(in_list ? 4 : 2)) {
    case 0:
      return nullptr;
    case 1: {
      auto other = static_cast<Kind>(random.below(kKinds));
      // Images are memory objects, too.
      if (kind == Kind::kImage || (kind == Kind::kMemory && other == Kind::kImage)) {
        other = Kind::kQueue;
      }
      const ObjectRef object = any(other);
      return object && other != kind ? object->handle : platform;
    }
    case 2:
      return nothing_.data() + random.below(64) * 16;
    default:
      return nothing_.data() + random.below(1024);  // at an odd address, too
  }
}

void* World::dead_handle(Kind kind) {
  std::vector<void*> dead;
  for (const auto& [dead_kind, handle] : dead_) {
    if (dead_kind == kind) dead.push_back(handle);
  }
  return dead.empty() ? nullptr : random.pick(dead);
}

UserEvents World::still_open(const UserEvents& events) const {
  UserEvents open;
  for (const uint64_t event : events) {
    if (!settled(event)) open.insert(event);
  }
  return open;
}

bool World::pending(const UserEvents& events) const {
  return std::any_of(events.begin(), events.end(),
                     [this](uint64_t event) { return !settled(event); });
}

bool World::failed(const UserEvents& events) const {
  return std::any_of(events.begin(), events.end(), [this](uint64_t event) {
    const auto found = settled_.find(event);
    return found != settled_.end() && found->second < 0;
  });
}

void World::complete(const UserEvents& events) {
  for (const uint64_t number : events) {
    if (settled(number)) continue;
    for (const ObjectRef& event : all(Kind::kEvent)) {
      if (event->user_event != number) continue;
      const cl_int status = random.one_in(6) ? -77 : CL_COMPLETE;
      settle(number, status);
      check("clSetUserEventStatus", {}, clSetUserEventStatus(event->as<cl_event>(), status));
      break;
    }
  }
}

World::WaitList World::wait_list(const ObjectRef& context) {
  WaitList waits;
  const auto add_event = [&waits](const Object& event) {
    waits.handles.push_back(event.as<cl_event>());
    waits.needs.insert(event.needs.begin(), event.needs.end());
    waits.fails_with.insert(event.fails_with.begin(), event.fails_with.end());
    waits.failure_unknown |= event.failure_unknown;
  };
  for (uint64_t i = random.below(4); i > 0; --i) {
    if (const ObjectRef event = any_of(Kind::kEvent, context)) add_event(*event);
  }
  waits.count = static_cast<cl_uint>(waits.handles.size());
  if (!random.one_in(25)) return waits;
  switch (random.below(4)) {
    case 0:
      waits.handles.push_back(wrong<cl_event>(Kind::kEvent, true));
      ++waits.count;
      waits.expected.error(CL_INVALID_EVENT_WAIT_LIST);
      break;
    case 1:
      waits.handles.clear();
      waits.count = 3;
      waits.expected.error(CL_INVALID_EVENT_WAIT_LIST);
      break;
    case 2:
      if (waits.handles.empty()) break;
      waits.count = 0;
      waits.expected.error(CL_INVALID_EVENT_WAIT_LIST);
      break;
    default: {
      const ObjectRef event = any(Kind::kEvent);
      if (!event || event->context == context) break;
      add_event(*event);
      ++waits.count;
      waits.expected.error(CL_INVALID_CONTEXT);
      break;
    }
  }
  return waits;
}

void World::make_way(const ObjectRef& queue, const WaitList& waits, bool blocking) {
  if (!blocking) return;
  complete(waits.needs);
  complete(queue->out_of_order ? queue->barrier : queue->needs);
}

void World::enqueued(const ObjectRef& queue, const WaitList& waits, cl_event event,
                     bool waits_for_all, bool barrier) {
  UserEvents needs = queue->out_of_order ? queue->barrier : queue->needs;
  if (waits_for_all && waits.count == 0) needs = queue->needs;
  needs.insert(waits.needs.begin(), waits.needs.end());
  needs = still_open(needs);
  queue->needs = still_open(queue->needs);
  queue->needs.insert(needs.begin(), needs.end());
  if (barrier) queue->barrier = needs;
  if (event == nullptr) return;
  const ObjectRef object = add(Kind::kEvent, event, queue->context);
  object->needs = std::move(needs);
  object->fails_with = waits.fails_with;
  object->failure_unknown = waits.failure_unknown || (waits_for_all && waits.count == 0);
}

void World::expect_waiting(Expected& expected, const WaitList& waits, bool blocking) const {
  if (blocking && (waits.failure_unknown || failed(waits.fails_with))) {
    expected.error(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    if (waits.failure_unknown) expected.error(CL_SUCCESS);
  }
}

std::byte* World::host_memory(size_t size) {
  if (size > arena_.size()) return arena_.data();
  return arena_.data() + random.below(arena_.size() - size + 1);
}

std::byte* World::lasting_memory(size_t size) {
  lasting_.push_back(std::make_unique<std::byte[]>(size));
  return lasting_.back().get();
}

void World::fail(const std::string& text) {
  std::fprintf(stderr, "FAILED: seed %llu, step %llu (%s): %s\n",
               static_cast<unsigned long long>(seed_),
               static_cast<unsigned long long>(step_number_), step_, text.c_str());
  ++tally.failures;
}

void World::check(const char* call, const Expected& expected, cl_int code) {
  ++(code == CL_SUCCESS ? tally.successes : tally.refusals);
  if (expected.allows(code)) return;
  fail(std::string(call) + " answers " + std::to_string(code) + " in place of " + expected.text());
}

void World::close() {
  step_ = "close";
  UserEvents open;
  for (const ObjectRef& event : all(Kind::kEvent)) {
    if (event->user_event != 0) open.insert(event->user_event);
  }
  complete(open);
  for (const ObjectRef& queue : all(Kind::kQueue)) {
    check("clFinish", {}, clFinish(queue->as<cl_command_queue>()));
  }
  for (const ObjectRef& event : all(Kind::kEvent)) {
    // Of a queue that was released earlier, perhaps.
    const auto handle = event->as<cl_event>();
    const cl_int waited = clWaitForEvents(1, &handle);
    const bool bad = failed(event->fails_with);
    Expected expected;
    if (bad || event->failure_unknown) {
      expected.error(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    }
    if (event->failure_unknown) expected.error(CL_SUCCESS);
    check("clWaitForEvents", expected, waited);
  }
  for (const Kind kind : {Kind::kEvent, Kind::kKernel, Kind::kProgram, Kind::kSampler, Kind::kImage,
                          Kind::kMemory, Kind::kQueue, Kind::kContext, Kind::kDevice}) {
    auto list = all(kind);
    std::shuffle(list.begin(), list.end(), std::mt19937_64(random.bits()));
    for (const ObjectRef& object : list) {
      if (object->root) continue;
      for (int count = object->references; count > 0; --count) release(object);
    }
  }
}

}  // namespace tutti::api_fuzz
