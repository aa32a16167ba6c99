// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "steps.h"

namespace tutti::api_fuzz {
namespace {

constexpr size_t kMostContexts = 4, kMostQueues = 8, kMostParts = 12;

void CL_CALLBACK context_gone(cl_context, void* tally) {
  ++static_cast<Tally*>(tally)->destructors_called;
}
void CL_CALLBACK notify(const char*, const void*, size_t, void*) {}

void create_sub_devices(World& w) {
  const ObjectRef parent = w.any(Kind::kDevice);
  using Property = cl_device_partition_property;
  cl_uint units = 0;
  w.check("clGetDeviceInfo", {},
          clGetDeviceInfo(parent->as<cl_device_id>(), CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units,
                          &units, nullptr));
  std::vector<Property> properties;
  Property asked = 0;
  bool wrong = false;
  switch (w.random.below(4)) {
    case 0:
      properties = {CL_DEVICE_PARTITION_EQUALLY, w.random.pick<Property>({-1, 0, 1, 1, 1, 2, 64}),
                    0};
      wrong = properties[1] <= 0;
      break;
    case 1:
    case 2:
      properties = {CL_DEVICE_PARTITION_BY_COUNTS};
      for (uint64_t i = w.random.below(4); i > 0; --i) {
        properties.push_back(w.random.pick<Property>({1, 1, 1, 2, -5, INT32_MAX}));
        wrong |= properties.back() < 0;
        asked += properties.back();
      }
      wrong |= properties.size() == 1 || asked > static_cast<Property>(units);
      properties.insert(properties.end(), {CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0});
      break;
    default:
      properties = {static_cast<Property>(w.random.odd_size()), 1, 0};
      wrong = properties[0] != CL_DEVICE_PARTITION_EQUALLY;
  }
  if (properties[0] == 0) return;  // an empty list: nothing to be said
  cl_uint count = 0;
  const auto device =
      w.random.one_in(30) ? w.wrong<cl_device_id>(Kind::kDevice) : parent->as<cl_device_id>();
  if (device != parent->handle) {
    Expected expected;
    expected.error(CL_INVALID_DEVICE);
    w.check("clCreateSubDevices", expected,
            clCreateSubDevices(device, properties.data(), 0, nullptr, &count));
    return;
  }
  const cl_int code = clCreateSubDevices(device, properties.data(), 0, nullptr, &count);
  Expected allowed;
  allowed.error(CL_INVALID_VALUE);
  allowed.error(CL_INVALID_DEVICE_PARTITION_COUNT);
  allowed.error(CL_DEVICE_PARTITION_FAILED);
  if (!wrong) allowed.error(CL_SUCCESS);
  w.check("clCreateSubDevices", allowed, code);
  if (code != CL_SUCCESS || w.all(Kind::kDevice).size() > kMostParts) return;
  std::vector<cl_device_id> parts(count);
  if (count > 0 && w.random.one_in(5)) {
    Expected expected;
    expected.error(CL_INVALID_VALUE);
    w.check("clCreateSubDevices", expected,
            clCreateSubDevices(device, properties.data(), count - 1, parts.data(), &count));
    return;
  }
  const cl_int made = clCreateSubDevices(device, properties.data(), count, parts.data(), nullptr);
  w.check("clCreateSubDevices", {}, made);
  if (made != CL_SUCCESS) return;
  for (const cl_device_id part : parts) w.add(Kind::kDevice, part, nullptr);
}

void create_context(World& w) {
  if (w.all(Kind::kContext).size() >= kMostContexts) return;
  std::vector<cl_device_id> handles;
  std::vector<ObjectRef> devices;
  for (uint64_t i = w.random.below(4) + 1; i > 0; --i) {
    const ObjectRef device = w.random.one_in(2) ? w.root : w.any(Kind::kDevice);
    handles.push_back(device->as<cl_device_id>());
    if (std::find(devices.begin(), devices.end(), device) == devices.end()) {
      devices.push_back(device);
    }
  }
  Expected expected;
  auto count = static_cast<cl_uint>(handles.size());
  const cl_device_id* list = handles.data();
  void* user_data = nullptr;
  std::vector<cl_context_properties> properties = {
      CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(w.platform), 0};
  const bool with_notify = w.random.one_in(2);
  switch (w.random.below(20)) {
    case 0:
      handles.push_back(w.wrong<cl_device_id>(Kind::kDevice, true));
      list = handles.data();
      ++count;
      // The loader looks at the first one.
      expected.error(CL_INVALID_DEVICE);
      break;
    case 1:
      count = 0;
      expected.error(CL_INVALID_VALUE);
      break;
    case 2:
      if (!with_notify) expected.error(CL_INVALID_VALUE);
      user_data = &w;
      break;
    case 3:
      properties = {0x7777, 1, 0};
      expected.error(CL_INVALID_PROPERTY);
      break;
    case 4:
      properties.insert(properties.begin(), properties.begin(), properties.begin() + 2);
      expected.error(CL_INVALID_PROPERTY);
      break;
    default:
      break;
  }
  cl_int code = 1;
  cl_context made = clCreateContext(
      w.random.one_in(3) && properties.size() == 3 && expected.success() ? nullptr
                                                                         : properties.data(),
      count, list, with_notify ? notify : nullptr, user_data, &code);
  w.check("clCreateContext", expected, code);
  if (made == nullptr) return;
  const ObjectRef context = w.add(Kind::kContext, made, nullptr);
  context->devices = std::move(devices);
  if (w.random.one_in(2)) {
    ++w.tally.destructors_set;
    w.check("clSetContextDestructorCallback", {},
            clSetContextDestructorCallback(made, context_gone, &w.tally));
  }
}

void create_queue(World& w) {
  const ObjectRef context = w.any(Kind::kContext);
  if (!context || w.all(Kind::kQueue).size() >= kMostQueues) return;
  const ObjectRef device = w.random.pick(context->devices);
  cl_command_queue_properties bits = w.random.below(4);
  auto context_handle = context->as<cl_context>();
  auto device_handle = device->as<cl_device_id>();
  Expected expected;
  if (w.random.one_in(20)) {
    device_handle = w.wrong<cl_device_id>(Kind::kDevice, true);
    expected.error(CL_INVALID_DEVICE);
  }
  if (w.random.one_in(20)) {
    bits |= cl_command_queue_properties{1} << (10 + w.random.below(50));
    expected.error(CL_INVALID_VALUE);
  }
  if (w.random.one_in(20)) {
    context_handle = w.wrong<cl_context>(Kind::kContext);
    expected.error(CL_INVALID_CONTEXT);
  }
  cl_int code = 1;
  cl_command_queue made = nullptr;
  const cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, bits, 0};
  if (w.random.one_in(2)) {
    made = clCreateCommandQueue(context_handle, device_handle, bits, &code);
  } else {
    made = clCreateCommandQueueWithProperties(context_handle, device_handle, list, &code);
  }
  w.check("clCreateCommandQueue…", expected, code);
  if (made == nullptr) return;
  const ObjectRef queue = w.add(Kind::kQueue, made, context);
  queue->out_of_order = (bits & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0;
}

Kind any_kind(World& w) { return static_cast<Kind>(w.random.below(kKinds)); }

bool may_release(const World& w, const ObjectRef& object) {
  // A user event without a handle could never be completed; one context stays.
  if (object->user_event != 0 && object->references == 1) return w.settled(object->user_event);
  return object->kind != Kind::kContext || w.all(Kind::kContext).size() > 1;
}

void retain(World& w) {
  const Kind kind = any_kind(w);
  const ObjectRef object = w.any(kind);
  if (!object || object->references > 5) return;
  w.check("clRetain…", {}, w.retain_handle(kind, object->handle));
  if (!object->root) ++object->references;
}

void release(World& w) {
  const ObjectRef object = w.any(any_kind(w));
  if (object && may_release(w, object)) w.release(object);
}

void count_wrong_handles(World& w) {
  const Kind kind = any_kind(w);
  Expected expected;
  expected.error(invalid_code(kind));
  w.check("clRetain…", expected, w.retain_handle(kind, w.wrong_handle(kind, false)));
  w.check("clRelease…", expected, w.release_handle(kind, w.wrong_handle(kind, false)));
  // One given back cannot be given back again; taken back it may be, while something needs it.
  if (void* const dead = w.dead_handle(kind)) {
    w.check("clRelease…", expected, w.release_handle(kind, dead));
    expected.error(CL_SUCCESS);
    const cl_int code = w.retain_handle(kind, dead);
    w.check("clRetain…", expected, code);
    if (code == CL_SUCCESS) w.check("clRelease…", {}, w.release_handle(kind, dead));
  }
}

cl_int query(World& w, Kind kind, void* handle, cl_uint what, size_t size, void* value,
             size_t* size_ret) {
  switch (kind) {
    case Kind::kDevice:
      return clGetDeviceInfo(static_cast<cl_device_id>(handle), what, size, value, size_ret);
    case Kind::kContext:
      return clGetContextInfo(static_cast<cl_context>(handle), what, size, value, size_ret);
    case Kind::kQueue:
      return clGetCommandQueueInfo(static_cast<cl_command_queue>(handle), what, size, value,
                                   size_ret);
    case Kind::kSampler:
      return clGetSamplerInfo(static_cast<cl_sampler>(handle), what, size, value, size_ret);
    case Kind::kImage:
      if (w.random.one_in(2)) {
        return clGetImageInfo(static_cast<cl_mem>(handle), what, size, value, size_ret);
      }
      [[fallthrough]];
    case Kind::kMemory:
      return clGetMemObjectInfo(static_cast<cl_mem>(handle), what, size, value, size_ret);
    case Kind::kProgram:
      if (w.random.one_in(2)) {
        const ObjectRef device = w.any(Kind::kDevice);
        return clGetProgramBuildInfo(static_cast<cl_program>(handle), device->as<cl_device_id>(),
                                     what, size, value, size_ret);
      }
      return clGetProgramInfo(static_cast<cl_program>(handle), what, size, value, size_ret);
    case Kind::kKernel:
      switch (w.random.below(3)) {
        case 0:
          return clGetKernelWorkGroupInfo(static_cast<cl_kernel>(handle),
                                          w.any(Kind::kDevice)->as<cl_device_id>(), what, size,
                                          value, size_ret);
        case 1:
          return clGetKernelArgInfo(static_cast<cl_kernel>(handle),
                                    static_cast<cl_uint>(w.random.below(6)), what, size, value,
                                    size_ret);
        default:
          return clGetKernelInfo(static_cast<cl_kernel>(handle), what, size, value, size_ret);
      }
    case Kind::kEvent:
      if (w.random.one_in(2)) {
        return clGetEventProfilingInfo(static_cast<cl_event>(handle), what, size, value, size_ret);
      }
      return clGetEventInfo(static_cast<cl_event>(handle), what, size, value, size_ret);
  }
  return CL_INVALID_VALUE;
}

cl_uint any_query(World& w) {
  // The queries of all kinds lie in a few ranges.
  const cl_uint first = w.random.pick<cl_uint>(
      {0x1000, 0x1030, 0x1080, 0x1090, 0x1100, 0x1160, 0x1180, 0x1190, 0x11B0, 0x11D0, 0x1280});
  if (w.random.one_in(10)) return static_cast<cl_uint>(w.random.bits());
  return first + static_cast<cl_uint>(w.random.below(0x30));
}

void ask(World& w) {
  const Kind kind = any_kind(w);
  const ObjectRef object = w.any(kind);
  if (!object) return;
  const cl_uint what = any_query(w);
  if (kind == Kind::kProgram && what == CL_PROGRAM_BINARIES) return;  // takes pointers
  std::array<unsigned char, 8192> value;
  value.fill(0xA5);
  const size_t room = w.random.one_in(2) ? w.random.below(64) : value.size() - 64;
  size_t size = 0;
  const cl_int code = query(w, kind, object->handle, what, room, value.data(), &size);
  for (size_t i = room; i < value.size(); ++i) {
    if (value[i] == 0xA5) continue;
    w.fail("query " + std::to_string(what) + " wrote beyond the room given");
    break;
  }
  if (code > 0) w.fail("a query answers a positive code");
  if (code == CL_SUCCESS && size > room && size != 0) {
    w.fail("query " + std::to_string(what) + " succeeded with too little room");
  }
}

void ask_wrong_handles(World& w) {
  const Kind kind = any_kind(w);
  void* handle = w.wrong_handle(kind, false);
  void* const dead = w.random.one_in(2) ? w.dead_handle(kind) : nullptr;
  if (dead != nullptr) handle = dead;
  size_t size = 0;
  const cl_int code = query(w, kind, handle, any_query(w), 0, nullptr, &size);
  Expected expected;
  expected.error(invalid_code(kind));
  if (dead == nullptr) {
    w.check("clGet…Info", expected, code);
  } else if (code > 0) {
    w.fail("a query answers a positive code");
  }
}

void list_devices(World& w) {
  cl_uint count = 0;
  const auto type = static_cast<cl_device_type>(w.random.below(64));
  cl_device_id found = nullptr;
  const cl_int code = clGetDeviceIDs(w.platform, type, 1, &found, &count);
  Expected expected;
  expected.error_if((type & ~cl_device_type{31}) != 0 || type == 0, CL_INVALID_DEVICE_TYPE);
  if (expected.success()) {
    expected.error(CL_SUCCESS);
    expected.error(CL_DEVICE_NOT_FOUND);
  }
  w.check("clGetDeviceIDs", expected, code);
  Expected invalid;
  invalid.error(CL_INVALID_VALUE);
  w.check("clGetDeviceIDs", invalid,
          clGetDeviceIDs(w.platform, CL_DEVICE_TYPE_ALL, 0, &found, &count));
}

}  // namespace

Steps object_steps() {
  return {
      {"create sub-devices", 2, create_sub_devices},
      {"create a context", 3, create_context},
      {"create a queue", 5, create_queue},
      {"retain", 6, retain},
      {"release", 14, release},
      {"count wrong handles", 3, count_wrong_handles},
      {"ask", 20, ask},
      {"ask wrong handles", 3, ask_wrong_handles},
      {"list devices", 1, list_devices},
  };
}

}  // namespace tutti::api_fuzz
