// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "steps.h"

namespace tutti::api_fuzz {
namespace {

constexpr size_t kMostBuffers = 24, kMostBytes = 64 << 10;
constexpr cl_mem_flags kHostAccess =
    CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;

void CL_CALLBACK memory_gone(cl_mem, void* tally) {
  ++static_cast<Tally*>(tally)->destructors_called;
}

void create_buffer(World& w) {
  const ObjectRef context = w.any(Kind::kContext);
  if (!context || w.all(Kind::kMemory).size() >= kMostBuffers) return;
  cl_mem_flags flags = w.random.pick<cl_mem_flags>(
      {0, CL_MEM_READ_WRITE, CL_MEM_READ_WRITE, CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY});
  flags |= w.random.pick<cl_mem_flags>(
      {0, 0, CL_MEM_USE_HOST_PTR, CL_MEM_COPY_HOST_PTR, CL_MEM_ALLOC_HOST_PTR});
  flags |= w.random.pick<cl_mem_flags>(
      {0, 0, 0, 0, CL_MEM_HOST_WRITE_ONLY, CL_MEM_HOST_READ_ONLY, CL_MEM_HOST_NO_ACCESS});
  if (w.random.one_in(15)) flags |= w.random.below(1 << 12);
  size_t size = 1 + w.random.below(kMostBytes);
  if (w.random.one_in(3)) size = 4096;
  Expected expected;
  if (w.random.one_in(15)) {
    size = w.random.pick<size_t>({0, SIZE_MAX, SIZE_MAX - 4095, size_t{1} << 60});
    expected.error(CL_INVALID_BUFFER_SIZE);
  }
  const auto both = [flags](cl_mem_flags a, cl_mem_flags b) {
    return (flags & a) != 0 && (flags & b) != 0;
  };
  const cl_mem_flags access = flags & (CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY);
  const cl_mem_flags host_access = flags & kHostAccess;
  constexpr cl_mem_flags kKnown = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY |
                                  CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR |
                                  CL_MEM_COPY_HOST_PTR | kHostAccess;
  expected.error_if((access & (access - 1)) != 0 || (host_access & (host_access - 1)) != 0 ||
                        both(CL_MEM_USE_HOST_PTR, CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR) ||
                        (flags & ~kKnown) != 0,
                    CL_INVALID_VALUE);
  const bool wants_memory = (flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR)) != 0;
  const bool gives_memory = w.random.one_in(20) ? !wants_memory : wants_memory;
  expected.error_if(wants_memory != gives_memory, CL_INVALID_HOST_PTR);
  void* host = nullptr;
  if (gives_memory) host = w.lasting_memory(std::min(size, kMostBytes));
  cl_int code = 1;
  cl_mem made = clCreateBuffer(context->as<cl_context>(), flags, size, host, &code);
  w.check("clCreateBuffer", expected, code);
  if (made == nullptr) return;
  const ObjectRef buffer = w.add(Kind::kMemory, made, context);
  buffer->size = size;
  buffer->flags = flags;
  if (w.random.one_in(3)) {
    ++w.tally.destructors_set;
    w.check("clSetMemObjectDestructorCallback", {},
            clSetMemObjectDestructorCallback(made, memory_gone, &w.tally));
  }
}

void create_sub_buffer(World& w) {
  const ObjectRef parent = w.any(Kind::kMemory);
  if (!parent || w.all(Kind::kMemory).size() >= kMostBuffers) return;
  constexpr size_t kAlignment = 1024;  // enough for the devices of our tests
  cl_buffer_region region;
  region.origin = w.random.below(parent->size / kAlignment + 1) * kAlignment;
  region.size = w.random.below(parent->size + 2);
  if (w.random.one_in(10)) region.size = w.random.odd_size();
  if (w.random.one_in(10)) region.origin = w.random.odd_size();
  Expected expected;
  expected.error_if(region.size == 0, CL_INVALID_BUFFER_SIZE);
  expected.error_if(region.origin > parent->size ||
                        region.size > parent->size - std::min(region.origin, parent->size),
                    CL_INVALID_VALUE);
  expected.error_if(parent->parent != nullptr, CL_INVALID_MEM_OBJECT);
  expected.error_if(region.origin % kAlignment != 0, CL_MISALIGNED_SUB_BUFFER_OFFSET);
  cl_int code = 1;
  cl_mem made =
      clCreateSubBuffer(parent->as<cl_mem>(), 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
  if (made != nullptr && region.origin % kAlignment != 0) {
    code = CL_MISALIGNED_SUB_BUFFER_OFFSET;  // fine where the devices want less
  }
  w.check("clCreateSubBuffer", expected, code);
  if (made == nullptr) return;
  const ObjectRef buffer = w.add(Kind::kMemory, made, parent->context);
  buffer->size = region.size;
  buffer->flags = parent->flags;
  buffer->parent = parent;
}

/// A range of the buffer, sometimes beyond its end.
struct Range {
  size_t offset = 0, size = 0;
  bool wrong = false;
};
Range any_range(World& w, const Object& buffer) {
  Range range;
  range.offset = w.random.below(buffer.size);
  range.size = 1 + w.random.below(buffer.size - range.offset);
  if (w.random.one_in(25)) {
    switch (w.random.below(3)) {
      case 0:
        range.offset = w.random.odd_size();
        break;
      case 1:
        range.size = w.random.odd_size();
        break;
      default:
        range.offset = SIZE_MAX - range.size / 2;
    }
  }
  range.wrong =
      range.size == 0 || range.offset > buffer.size || range.size > buffer.size - range.offset;
  return range;
}

/// A queue, a buffer of its context and a wait list: what all these commands begin with.
struct Setting {
  QueueChoice on;
  ObjectRef buffer;
  cl_mem handle = nullptr;
  World::WaitList waits;
  Expected expected;
  cl_event event = nullptr;
  cl_event* event_place = nullptr;
};
bool choose(World& w, Setting& setting) {
  if (!choose_queue(w, setting.on)) return false;
  const ObjectRef& context = setting.on.queue->context;
  setting.buffer = w.any_of(Kind::kMemory, context);
  if (!setting.buffer) return false;
  setting.waits = w.wait_list(context);
  setting.expected = setting.waits.expected;
  setting.expected.error_if(setting.on.wrong, CL_INVALID_COMMAND_QUEUE);
  setting.handle = setting.buffer->as<cl_mem>();
  if (w.random.one_in(40)) {
    setting.handle = w.wrong<cl_mem>(Kind::kMemory, true);
    setting.expected.error(CL_INVALID_MEM_OBJECT);
  } else if (w.random.one_in(40)) {
    const ObjectRef other = w.any(Kind::kMemory);
    if (other->context != context) {
      setting.buffer = other;
      setting.handle = other->as<cl_mem>();
      setting.expected.error(CL_INVALID_CONTEXT);
    }
  }
  if (w.random.one_in(2)) setting.event_place = &setting.event;
  return true;
}
void finish_step(World& w, const char* call, Setting& s, bool blocking, cl_int code) {
  const bool valid = s.expected.success();
  w.expect_waiting(s.expected, s.waits, blocking && valid);
  w.check(call, s.expected, code);
  if (!valid) return;
  w.enqueued(s.on.queue, s.waits, s.event);
}

void transfer(World& w) {
  Setting s;
  if (!choose(w, s)) return;
  const bool write = w.random.one_in(2);
  bool blocking = w.random.one_in(3);
  const Range range = any_range(w, *s.buffer);
  if (range.size == 0) return;  // specifications differ
  void* host = w.host_memory(range.size);
  if (w.random.one_in(40)) host = nullptr;
  s.expected.error_if(range.wrong || host == nullptr, CL_INVALID_VALUE);
  s.expected.error_if(
      (s.buffer->flags &
       (CL_MEM_HOST_NO_ACCESS | (write ? CL_MEM_HOST_READ_ONLY : CL_MEM_HOST_WRITE_ONLY))) != 0,
      CL_INVALID_OPERATION);
  blocking = blocking && s.expected.success();
  w.make_way(s.on.queue, s.waits, blocking);
  const cl_bool block = blocking ? CL_TRUE : CL_FALSE;
  cl_int code;
  if (write) {
    code = clEnqueueWriteBuffer(s.on.handle, s.handle, block, range.offset, range.size, host,
                                s.waits.count, s.waits.list(), s.event_place);
  } else {
    code = clEnqueueReadBuffer(s.on.handle, s.handle, block, range.offset, range.size, host,
                               s.waits.count, s.waits.list(), s.event_place);
  }
  finish_step(w, write ? "clEnqueueWriteBuffer" : "clEnqueueReadBuffer", s, blocking, code);
}

void fill(World& w) {
  Setting s;
  if (!choose(w, s)) return;
  Range range = any_range(w, *s.buffer);
  const size_t pattern_size = w.random.pick<size_t>({1, 2, 4, 8, 16, 32, 64, 128, 3, 0, 256});
  const bool odd = pattern_size == 3 || pattern_size == 0 || pattern_size == 256;
  if (!odd && !range.wrong && !w.random.one_in(10)) {
    range.offset = range.offset / pattern_size * pattern_size;
    range.size = std::max(range.size / pattern_size, size_t{1}) * pattern_size;
    range.wrong = range.offset + range.size > s.buffer->size;
  }
  std::array<unsigned char, 256> pattern;
  pattern.fill(static_cast<unsigned char>(w.random.bits()));
  s.expected.error_if(range.wrong && range.size != 0, CL_INVALID_VALUE);
  s.expected.error_if(odd || range.offset % pattern_size != 0 || range.size % pattern_size != 0,
                      CL_INVALID_VALUE);
  if (range.size == 0) return;  // specifications differ
  const cl_int code =
      clEnqueueFillBuffer(s.on.handle, s.handle, pattern.data(), pattern_size, range.offset,
                          range.size, s.waits.count, s.waits.list(), s.event_place);
  finish_step(w, "clEnqueueFillBuffer", s, false, code);
}

void copy(World& w) {
  Setting s;
  if (!choose(w, s)) return;
  const ObjectRef to = w.any_of(Kind::kMemory, s.buffer->context);
  Range from_range = any_range(w, *s.buffer);
  Range to_range = any_range(w, *to);
  const size_t size = std::min(from_range.size, to_range.size);
  const auto outside = [size](const Object& buffer, size_t offset) {
    return offset > buffer.size || size > buffer.size - offset;
  };
  s.expected.error_if(outside(*s.buffer, from_range.offset) || outside(*to, to_range.offset),
                      CL_INVALID_VALUE);
  if (size == 0) return;
  // The same memory, perhaps through two sub-buffers of it: only the plain case is clear.
  const auto base = [](const ObjectRef& object) {
    return object->parent ? object->parent : object;
  };
  if (base(s.buffer) == base(to) && s.expected.success()) {
    const bool overlap =
        from_range.offset < to_range.offset + size && to_range.offset < from_range.offset + size;
    if (s.buffer != to) return;
    s.expected.error_if(overlap, CL_MEM_COPY_OVERLAP);
  } else if (s.buffer == to) {
    s.expected.error(CL_MEM_COPY_OVERLAP);
  }
  const cl_int code =
      clEnqueueCopyBuffer(s.on.handle, s.handle, to->as<cl_mem>(), from_range.offset,
                          to_range.offset, size, s.waits.count, s.waits.list(), s.event_place);
  finish_step(w, "clEnqueueCopyBuffer", s, false, code);
}

void rectangle(World& w) {
  Setting s;
  if (!choose(w, s)) return;
  if (s.buffer->size < 64 || s.buffer->flags & kHostAccess) return;
  // A rectangle of at most 4 x 4 x 4 bytes in rows of 8 bytes; sometimes anything.
  size_t region[3], origin[3], zero[3] = {0, 0, 0};
  for (int d = 0; d < 3; ++d) {
    region[d] = 1 + w.random.below(d == 2 ? 1 : 4);
    origin[d] = d == 2 ? 0 : w.random.below(4);
  }
  bool wrong = false;
  size_t row = 8, slice = 0;
  if (w.random.one_in(8)) {
    switch (w.random.below(4)) {
      case 0:
        region[w.random.below(3)] = 0;
        break;
      case 1:
        origin[w.random.below(3)] = SIZE_MAX - w.random.below(3);
        break;
      case 2:
        row = 1;
        region[0] = 4;
        break;
      default:
        region[w.random.below(3)] = s.buffer->size * 4;
        slice = 3;
    }
    wrong = true;
  }
  if (wrong) s.expected.error(CL_INVALID_VALUE);
  std::byte* host = w.host_memory(4096);
  const bool write = w.random.one_in(2);
  cl_int code;
  if (write) {
    code =
        clEnqueueWriteBufferRect(s.on.handle, s.handle, CL_FALSE, origin, zero, region, row, slice,
                                 0, 0, host, s.waits.count, s.waits.list(), s.event_place);
  } else {
    code = clEnqueueReadBufferRect(s.on.handle, s.handle, CL_FALSE, origin, zero, region, row,
                                   slice, 0, 0, host, s.waits.count, s.waits.list(), s.event_place);
  }
  finish_step(w, "clEnqueue…BufferRect", s, false, code);
}

void map(World& w) {
  Setting s;
  if (!choose(w, s)) return;
  const Range range = any_range(w, *s.buffer);
  const bool reads = w.random.one_in(2);
  const bool discards = !reads && w.random.one_in(2);
  cl_map_flags flags = reads      ? CL_MAP_READ
                       : discards ? CL_MAP_WRITE_INVALIDATE_REGION
                                  : CL_MAP_WRITE;
  s.expected.error_if(range.wrong, CL_INVALID_VALUE);
  if (w.random.one_in(30)) {
    flags = w.random.pick<cl_map_flags>({CL_MAP_READ | CL_MAP_WRITE_INVALIDATE_REGION, 0x700});
    s.expected.error(CL_INVALID_VALUE);
  }
  s.expected.error_if(
      (s.buffer->flags &
       (CL_MEM_HOST_NO_ACCESS | (reads ? CL_MEM_HOST_WRITE_ONLY : CL_MEM_HOST_READ_ONLY))) != 0,
      CL_INVALID_OPERATION);
  bool overlaps = false;
  for (const Mapping& other : s.buffer->mappings) {
    overlaps |= !reads && other.writes && range.offset < other.offset + other.size &&
                other.offset < range.offset + range.size;
  }
  if (s.expected.success() && overlaps) s.expected.error(CL_INVALID_OPERATION);
  if (s.buffer->mappings.size() > 6) return;
  const bool blocking = w.random.one_in(3) && s.expected.success();
  w.make_way(s.on.queue, s.waits, blocking);
  const bool valid = s.expected.success();
  cl_int code = 1;
  void* const pointer =
      clEnqueueMapBuffer(s.on.handle, s.handle, blocking ? CL_TRUE : CL_FALSE, flags, range.offset,
                         range.size, s.waits.count, s.waits.list(), s.event_place, &code);
  finish_step(w, "clEnqueueMapBuffer", s, blocking, code);
  if ((pointer != nullptr) != (code == CL_SUCCESS)) w.fail("a map gives a pointer and an error");
  if (!valid || code != CL_SUCCESS) return;
  s.buffer->mappings.push_back({pointer, range.offset, range.size, !reads});
  if (blocking && !reads) std::memset(pointer, 0x3C, std::min<size_t>(range.size, 64));
}

void unmap(World& w) {
  Setting s;
  if (!choose(w, s)) return;
  void* pointer = w.host_memory(1);
  const bool known = !s.buffer->mappings.empty() && !w.random.one_in(10);
  size_t index = 0;
  if (known) {
    index = w.random.below(s.buffer->mappings.size());
    pointer = s.buffer->mappings[index].pointer;
  } else {
    s.expected.error(CL_INVALID_VALUE);
  }
  const bool valid = s.expected.success();
  const cl_int code = clEnqueueUnmapMemObject(s.on.handle, s.handle, pointer, s.waits.count,
                                              s.waits.list(), s.event_place);
  finish_step(w, "clEnqueueUnmapMemObject", s, false, code);
  if (!valid) return;
  // Of several mappings with this pointer the newest goes.
  auto& list = s.buffer->mappings;
  for (size_t i = list.size(); i-- > 0;) {
    if (list[i].pointer != pointer) continue;
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
    break;
  }
}

void migrate(World& w) {
  Setting s;
  if (!choose(w, s)) return;
  cl_mem_migration_flags flags = w.random.below(4);
  cl_uint count = 1;
  if (w.random.one_in(10)) {
    flags = 0x70;
    s.expected.error(CL_INVALID_VALUE);
  }
  if (w.random.one_in(10)) {
    count = 0;
    s.expected.error(CL_INVALID_VALUE);
  }
  const cl_int code = clEnqueueMigrateMemObjects(s.on.handle, count, &s.handle, flags,
                                                 s.waits.count, s.waits.list(), s.event_place);
  finish_step(w, "clEnqueueMigrateMemObjects", s, false, code);
}

}  // namespace

Steps memory_steps() {
  return {
      {"create a buffer", 8, create_buffer},
      {"create a sub-buffer", 4, create_sub_buffer},
      {"read or write", 12, transfer},
      {"fill", 6, fill},
      {"copy", 6, copy},
      {"rectangle", 4, rectangle},
      {"map", 8, map},
      {"unmap", 8, unmap},
      {"migrate", 2, migrate},
  };
}

}  // namespace tutti::api_fuzz
