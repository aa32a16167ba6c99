// SPDX-License-Identifier: Apache-2.0
// How data comes and goes: mappings, the application's own memory, images, fills and copies,
// sub-buffers; and several queues.
#include <algorithm>
#include <array>
#include <cstring>

#include "scenario_table.h"

namespace tutti::faults {
namespace {

constexpr size_t kWidth = 64, kHeight = 37;
constexpr size_t kItems = kWidth * kHeight;
constexpr size_t kBytes = kItems * sizeof(cl_uint);

void times_three(Numbers& x) {
  for (cl_uint& value : x) value = value * 3 + 1;
}

void next(Numbers& x, cl_uint step) {
  for (cl_uint& value : x) value = value * 5 + step;
}

/// Maps `count` numbers from `first`; null where that was refused, which then is told.
cl_uint* map(World& w, cl_mem memory, cl_map_flags flags, size_t first, size_t count) {
  cl_int code = CL_SUCCESS;
  void* mapped = clEnqueueMapBuffer(w.queue(), memory, CL_TRUE, flags, first * sizeof(cl_uint),
                                    count * sizeof(cl_uint), 0, nullptr, w.hold(), &code);
  w.call("clEnqueueMapBuffer", code);
  return code == CL_SUCCESS ? static_cast<cl_uint*>(mapped) : nullptr;
}

void unmap(World& w, cl_mem memory, void* mapped) {
  if (mapped == nullptr) return;
  w.call("clEnqueueUnmapMemObject",
         clEnqueueUnmapMemObject(w.queue(), memory, mapped, 0, nullptr, w.hold()));
}

/// What is read is what a mapping shows.
void compare_mapped(World& w, cl_mem memory, const Numbers& expected) {
  cl_uint* mapped = map(w, memory, CL_MAP_READ, 0, expected.size());
  w.delivered("clEnqueueMapBuffer", mapped != nullptr ? CL_SUCCESS : CL_MAP_FAILURE,
              mapped != nullptr && std::equal(expected.begin(), expected.end(), mapped));
  unmap(w, memory, mapped);
}

void set_next(World& w, cl_kernel kernel, cl_mem in, cl_mem out, cl_uint step) {
  w.set(kernel, 0, in);
  w.set(kernel, 1, out);
  w.set(kernel, 2, step);
}

void launch_waiting(World& w, cl_command_queue queue, cl_kernel kernel,
                    const std::vector<cl_event>& wait, cl_event* event) {
  const size_t items = kItems, local = 64;
  std::vector<cl_event> made;
  for (cl_event one : wait) {
    if (one != nullptr) made.push_back(one);
  }
  w.call("clEnqueueNDRangeKernel",
         clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, &local,
                                static_cast<cl_uint>(made.size()),
                                made.empty() ? nullptr : made.data(), event));
}

}  // namespace

void maps(World& w) {
  Numbers x = noise(kItems);
  const cl_mem memory = w.buffer(kBytes);
  if (cl_uint* mapped = map(w, memory, CL_MAP_WRITE_INVALIDATE_REGION, 0, kItems)) {
    std::copy(x.begin(), x.end(), mapped);
    unmap(w, memory, mapped);
  }
  const cl_kernel kernel = w.kernel("in_place");
  w.set(kernel, 0, memory);
  w.launch(kernel, kItems);
  times_three(x);
  compare_mapped(w, memory, x);
  // Part of it, changed where it lies.
  cl_uint* mapped = map(w, memory, CL_MAP_READ | CL_MAP_WRITE, 500, 700);
  w.delivered("clEnqueueMapBuffer", mapped != nullptr ? CL_SUCCESS : CL_MAP_FAILURE,
              mapped != nullptr && std::equal(mapped, mapped + 700, x.begin() + 500));
  for (size_t i = 0; mapped != nullptr && i < 700; ++i) mapped[i] += 9;
  for (size_t i = 500; i < 1200; ++i) x[i] += 9;
  unmap(w, memory, mapped);
  w.launch(kernel, kItems);
  times_three(x);
  w.read(memory, x);
}

void host_pointer(World& w) {
  Numbers x = noise(kItems);
  Numbers& own = World::kept(x);
  const cl_mem memory = w.buffer(kBytes, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, own.data());
  const cl_kernel kernel = w.kernel("in_place");
  w.set(kernel, 0, memory);
  w.launch(kernel, kItems);
  times_three(x);
  compare_mapped(w, memory, x);
  w.launch(kernel, kItems);
  w.launch(kernel, kItems);
  times_three(x);
  times_three(x);
  w.read(memory, x);
  compare_mapped(w, memory, x);
  w.delivered("CL_MEM_USE_HOST_PTR", CL_SUCCESS, own == x);
}

void images(World& w) {
  Numbers x = noise(kItems);
  const cl_mem in = w.buffer_of(x), out = w.buffer(kBytes);
  const cl_mem image = w.image(kWidth, kHeight), copy = w.image(kWidth, kHeight);
  const cl_kernel to = w.kernel("to_image"), from = w.kernel("from_image");
  w.set(to, 0, in);
  w.set(to, 1, image);
  w.set(to, 2, static_cast<cl_uint>(kWidth));
  w.launch(to, kItems);
  for (cl_uint& value : x) value += 1;
  const std::array<size_t, 3> origin = {0, 0, 0}, all = {kWidth, kHeight, 1};
  Numbers seen(kItems, 0xdeadbeef);
  const cl_int code = clEnqueueReadImage(w.queue(), image, CL_TRUE, origin.data(), all.data(), 0, 0,
                                         seen.data(), 0, nullptr, w.hold());
  w.delivered("clEnqueueReadImage", code, seen == x);
  w.call("clEnqueueCopyImage", clEnqueueCopyImage(w.queue(), image, copy, origin.data(),
                                                  origin.data(), all.data(), 0, nullptr, w.hold()));
  const std::array<cl_uint, 4> colour = {77, 0, 0, 0};
  const std::array<size_t, 3> corner = {8, 4, 0}, part = {16, 20, 1};
  w.call("clEnqueueFillImage", clEnqueueFillImage(w.queue(), copy, colour.data(), corner.data(),
                                                  part.data(), 0, nullptr, w.hold()));
  for (size_t y = 4; y < 24; ++y) {
    for (size_t column = 8; column < 24; ++column) x[y * kWidth + column] = 77;
  }
  w.set(from, 0, copy);
  w.set(from, 1, out);
  w.set(from, 2, static_cast<cl_uint>(kWidth));
  w.launch(from, kItems);
  for (cl_uint& value : x) value *= 2;
  w.read(out, x);
  Numbers& fresh = World::kept(noise(kItems, 5));
  w.call("clEnqueueWriteImage",
         clEnqueueWriteImage(w.queue(), copy, CL_FALSE, origin.data(), all.data(), 0, 0,
                             fresh.data(), 0, nullptr, w.hold()));
  w.launch(from, kItems);
  x = fresh;
  for (cl_uint& value : x) value *= 2;
  w.read(out, x);
}

void fills_and_copies(World& w) {
  Numbers x = noise(kItems), y(kItems, 0x01020304);
  const cl_mem a = w.buffer_of(x), b = w.buffer(kBytes);
  const cl_uint pattern = 0x01020304;
  w.call("clEnqueueFillBuffer", clEnqueueFillBuffer(w.queue(), b, &pattern, sizeof pattern, 0,
                                                    kBytes, 0, nullptr, w.hold()));
  const cl_kernel kernel = w.kernel("in_place");
  w.set(kernel, 0, a);
  w.launch(kernel, kItems);
  times_three(x);
  w.call("clEnqueueCopyBuffer",
         clEnqueueCopyBuffer(w.queue(), a, b, 100 * sizeof(cl_uint), 200 * sizeof(cl_uint),
                             1500 * sizeof(cl_uint), 0, nullptr, w.hold()));
  std::copy(x.begin() + 100, x.begin() + 1600, y.begin() + 200);
  w.set(kernel, 0, b);
  w.launch(kernel, kItems);
  times_three(y);
  // A rectangle of rows of 64 numbers.
  const size_t row = kWidth * sizeof(cl_uint);
  const std::array<size_t, 3> from = {16, 2, 0}, to = {32, 5, 0}, region = {96, 20, 1};
  w.call("clEnqueueCopyBufferRect",
         clEnqueueCopyBufferRect(w.queue(), b, a, from.data(), to.data(), region.data(), row, 0,
                                 row, 0, 0, nullptr, w.hold()));
  for (size_t line = 0; line < 20; ++line) {
    std::copy_n(y.begin() + static_cast<ptrdiff_t>((line + 2) * kWidth + 4), 24,
                x.begin() + static_cast<ptrdiff_t>((line + 5) * kWidth + 8));
  }
  w.read(a, x);
  Numbers& seen = World::kept(Numbers(kItems, 0));
  Numbers expected(kItems, 0);
  const cl_int code =
      clEnqueueReadBufferRect(w.queue(), b, CL_TRUE, from.data(), to.data(), region.data(), row, 0,
                              row, 0, seen.data(), 0, nullptr, w.hold());
  for (size_t line = 0; line < 20; ++line) {
    std::copy_n(y.begin() + static_cast<ptrdiff_t>((line + 2) * kWidth + 4), 24,
                expected.begin() + static_cast<ptrdiff_t>((line + 5) * kWidth + 8));
  }
  w.delivered("clEnqueueReadBufferRect", code, seen == expected);
  w.call("clEnqueueWriteBufferRect",
         clEnqueueWriteBufferRect(w.queue(), a, CL_FALSE, from.data(), to.data(), region.data(),
                                  row, 0, row, 0, seen.data(), 0, nullptr, w.hold()));
  for (size_t line = 0; line < 20; ++line) {
    std::copy_n(seen.begin() + static_cast<ptrdiff_t>((line + 5) * kWidth + 8), 24,
                x.begin() + static_cast<ptrdiff_t>((line + 2) * kWidth + 4));
  }
  w.set(kernel, 0, a);
  w.launch(kernel, kItems);
  times_three(x);
  w.read(a, x);
}

void sub_buffers(World& w) {
  constexpr size_t kHalf = kItems / 2;
  Numbers x = noise(2 * kItems);
  const cl_mem whole = w.buffer_of(x);
  const cl_mem low = w.sub_buffer(whole, 0, kBytes), high = w.sub_buffer(whole, kBytes, kBytes);
  const cl_kernel kernel = w.kernel("in_place"), over = w.kernel("next");
  w.set(kernel, 0, low);
  w.launch(kernel, kItems);
  w.set(kernel, 0, high);
  w.launch(kernel, kItems);
  times_three(x);
  set_next(w, over, low, high, 3);
  w.launch(over, kItems);
  for (size_t i = 0; i < kItems; ++i) x[kItems + i] = x[i] * 5 + 3;
  w.read(high, Numbers(x.begin() + kItems, x.end()));
  w.set(kernel, 0, whole);
  w.launch(kernel, 2 * kItems);
  times_three(x);
  w.read(low, Numbers(x.begin(), x.begin() + kHalf));
  w.read(whole, x);
}

void queues(World& w) {
  Numbers x = noise(kItems);
  const cl_command_queue second = w.make_queue(), third = w.make_queue();
  const cl_mem a = w.buffer_of(x), b = w.buffer(kBytes), c = w.buffer(kBytes);
  const cl_kernel kernel = w.kernel("next"), add = w.kernel("add");
  cl_event *first_done = w.event(), *second_done = w.event(), *third_done = w.event();
  set_next(w, kernel, a, b, 1);
  launch_waiting(w, w.queue(), kernel, {}, first_done);
  w.call("clFlush", clFlush(w.queue()));
  set_next(w, kernel, b, c, 2);
  launch_waiting(w, second, kernel, {*first_done}, second_done);
  w.call("clFlush", clFlush(second));
  w.set(add, 0, b);
  w.set(add, 1, c);
  w.set(add, 2, a);
  launch_waiting(w, third, add, {*first_done, *second_done}, third_done);
  w.finish(third);
  next(x, 1);
  Numbers y = x;
  next(y, 2);
  for (size_t i = 0; i < kItems; ++i) x[i] += y[i];
  w.read(a, x);
  w.read(second, c, y);
  // What one queue has finished, another one uses without an event.
  const cl_kernel in_place_kernel = w.kernel("in_place");
  w.set(in_place_kernel, 0, a);
  w.launch(second, in_place_kernel, kItems);
  w.finish(second);
  w.launch(third, in_place_kernel, kItems);
  times_three(x);
  times_three(x);
  w.read(third, a, x);
}

void out_of_order(World& w) {
  Numbers &x = World::kept(noise(kItems)), &y = World::kept(noise(kItems, 2));
  const cl_command_queue queue = w.make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  const cl_mem a = w.buffer(kBytes), b = w.buffer(kBytes), out = w.buffer(kBytes);
  std::array<cl_event*, 2> writes = {w.event(), w.event()};
  w.call("clEnqueueWriteBuffer",
         clEnqueueWriteBuffer(queue, a, CL_FALSE, 0, kBytes, x.data(), 0, nullptr, writes[0]));
  w.call("clEnqueueWriteBuffer",
         clEnqueueWriteBuffer(queue, b, CL_FALSE, 0, kBytes, y.data(), 0, nullptr, writes[1]));
  const cl_kernel add = w.kernel("add"), kernel = w.kernel("in_place");
  w.set(add, 0, a);
  w.set(add, 1, b);
  w.set(add, 2, out);
  launch_waiting(w, queue, add, {*writes[0], *writes[1]}, w.hold());
  w.call("clEnqueueBarrierWithWaitList", clEnqueueBarrierWithWaitList(queue, 0, nullptr, w.hold()));
  w.set(kernel, 0, a);
  launch_waiting(w, queue, kernel, {}, w.hold());
  w.set(kernel, 0, out);
  cl_event* last = w.event();
  launch_waiting(w, queue, kernel, {}, last);
  Numbers sum(kItems), before = x;
  Numbers& seen = World::kept(Numbers(kItems, 0xdeadbeef));
  for (size_t i = 0; i < kItems; ++i) sum[i] = x[i] + y[i];
  times_three(sum);
  cl_event* read = w.event();
  const bool ordered = *last != nullptr;
  w.call("clEnqueueReadBuffer",
         clEnqueueReadBuffer(queue, out, CL_FALSE, 0, kBytes, seen.data(), ordered ? 1 : 0,
                             ordered ? last : nullptr, read));
  w.wait({*read});
  w.delivered("read and clWaitForEvents", CL_SUCCESS, seen == sum);
  w.finish(queue);
  times_three(before);
  w.read(queue, a, before);
}

}  // namespace tutti::faults
