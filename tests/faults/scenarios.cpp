// SPDX-License-Identifier: Apache-2.0
// Kernels and what follows them. Sizes are small, so that a run is short, and no multiples of what
// packages are cut by.
#include <algorithm>
#include <array>
#include <atomic>
#include <numeric>

#include "scenario_table.h"

namespace tutti::faults {
namespace {

constexpr size_t kItems = 64 * 37;
constexpr size_t kBytes = kItems * sizeof(cl_uint);

void times_three(Numbers& x) {
  for (cl_uint& value : x) value = value * 3 + 1;
}

}  // namespace

void in_place(World& w) {
  Numbers x = noise(kItems);
  const cl_mem memory = w.buffer_of(x);
  const cl_kernel kernel = w.kernel("in_place");
  w.set(kernel, 0, memory);
  w.launch(kernel, kItems);
  times_three(x);
  w.read(memory, x);
}

void in_place_chain(World& w) {
  Numbers x = noise(kItems);
  const cl_mem memory = w.buffer_of(x);
  const cl_kernel kernel = w.kernel("in_place");
  w.set(kernel, 0, memory);
  for (int i = 0; i < 5; ++i) {
    w.launch(kernel, kItems);
    times_three(x);
  }
  w.read(memory, x);
  w.launch(kernel, kItems);
  times_three(x);
  w.finish();
  w.read(memory, x);
}

void counters(World& w) {
  const Numbers in = noise(kItems);
  Numbers expected(16, 5);
  const cl_mem from = w.buffer_of(in), to = w.buffer_of(expected);
  const cl_kernel kernel = w.kernel("count");
  w.set(kernel, 0, from);
  w.set(kernel, 1, to);
  for (int i = 0; i < 2; ++i) {
    w.launch(kernel, kItems);
    for (cl_uint value : in) ++expected[value % 16];
    w.read(to, expected);
  }
}

void merges(World& w) {
  const Numbers in = noise(kItems);
  const cl_mem from = w.buffer_of(in), most = w.buffer(64), counts = w.buffer(64);
  const cl_uint zero = 0, least = 3;
  Numbers greatest(16, least), count(16, zero);
  w.call("clEnqueueFillBuffer",
         clEnqueueFillBuffer(w.queue(), most, &least, sizeof least, 0, 64, 0, nullptr, w.hold()));
  w.call("clEnqueueFillBuffer",
         clEnqueueFillBuffer(w.queue(), counts, &zero, sizeof zero, 0, 64, 0, nullptr, w.hold()));
  const cl_kernel first = w.kernel("greatest"), second = w.kernel("count");
  w.set(first, 0, from);
  w.set(first, 1, most);
  w.set(second, 0, from);
  w.set(second, 1, counts);
  w.launch(first, kItems);
  w.launch(second, kItems);
  for (cl_uint value : in) {
    greatest[value % 16] = std::max(greatest[value % 16], value);
    ++count[value % 16];
  }
  w.read(most, greatest);
  w.read(counts, count);
}

void chain(World& w) {
  Numbers x = noise(kItems);
  const std::array<cl_mem, 3> memory = {w.buffer_of(x), w.buffer(kBytes), w.buffer(kBytes)};
  const cl_kernel kernel = w.kernel("next");
  for (cl_uint step = 0; step < 6; ++step) {
    w.set(kernel, 0, memory[step % 3]);
    w.set(kernel, 1, memory[(step + 1) % 3]);
    w.set(kernel, 2, step);
    w.launch(kernel, kItems);
    for (cl_uint& value : x) value = value * 5 + step;
  }
  w.read(memory[0], x);
}

void to_and_fro(World& w) {
  Numbers x = noise(kItems);
  const std::array<cl_mem, 2> memory = {w.buffer_of(x), w.buffer(kBytes)};
  const cl_kernel kernel = w.kernel("neighbours");
  w.set(kernel, 2, static_cast<cl_uint>(kItems));
  for (cl_uint step = 0; step < 6; ++step) {
    w.set(kernel, 0, memory[step % 2]);
    w.set(kernel, 1, memory[(step + 1) % 2]);
    w.launch(kernel, kItems);
    Numbers y(kItems);
    for (size_t i = 0; i < kItems; ++i) {
      y[i] = (i > 0 ? x[i - 1] : 0) + 2 * x[i] + (i + 1 < kItems ? x[i + 1] : 0);
    }
    x = y;
  }
  w.read(memory[0], x);
}

void scattered(World& w) {
  const Numbers in = noise(kItems);
  Numbers where(kItems), expected(2 * kItems, 9);
  for (size_t i = 0; i < kItems; ++i) {
    where[i] = static_cast<cl_uint>(i * 1009 % kItems * 2);
    expected[where[i]] = in[i] + 7;
  }
  const cl_mem to = w.buffer_of(Numbers(2 * kItems, 9));
  const cl_kernel kernel = w.kernel("scatter");
  w.set(kernel, 0, w.buffer_of(where));
  w.set(kernel, 1, w.buffer_of(in));
  w.set(kernel, 2, to);
  w.launch(kernel, kItems);
  w.read(to, expected);
}

void small_launches(World& w) {
  constexpr size_t kFew = 256;
  Numbers x = noise(kFew), y = noise(kFew, 2);
  const cl_mem a = w.buffer_of(x), b = w.buffer_of(y);
  const cl_kernel kernel = w.kernel("in_place"), next = w.kernel("next");
  for (cl_uint i = 0; i < 30; ++i) {
    w.set(kernel, 0, i % 3 == 0 ? b : a);
    w.launch(kernel, kFew);
    times_three(i % 3 == 0 ? y : x);
  }
  w.read(a, x);
  w.set(next, 0, a);
  w.set(next, 1, b);
  w.set(next, 2, cl_uint{4});
  for (int i = 0; i < 10; ++i) w.launch(next, kFew);
  for (size_t i = 0; i < kFew; ++i) y[i] = x[i] * 5 + 4;
  w.finish();
  w.read(b, y);
}

void early_reads(World& w) {
  Numbers x = noise(kItems);
  const cl_mem memory = w.buffer_of(x), other = w.buffer(kBytes);
  const cl_kernel kernel = w.kernel("in_place"), next = w.kernel("next");
  w.set(kernel, 0, memory);
  w.launch(kernel, kItems);
  times_three(x);
  Numbers& seen = World::kept(Numbers(kItems, 0xdeadbeef));
  std::vector<cl_event> reads;
  constexpr size_t kParts = 4, kPart = kItems / kParts;
  for (size_t part = 0; part < kParts; ++part) {
    cl_event* event = w.event();
    w.call("clEnqueueReadBuffer",
           clEnqueueReadBuffer(w.queue(), memory, CL_FALSE, part * kPart * sizeof(cl_uint),
                               kPart * sizeof(cl_uint), seen.data() + part * kPart, 0, nullptr,
                               event));
    reads.push_back(*event);
  }
  w.set(next, 0, memory);
  w.set(next, 1, other);
  w.set(next, 2, cl_uint{11});
  w.launch(next, kItems);
  w.wait(reads);
  w.delivered("early read", CL_SUCCESS, seen == x);
  for (cl_uint& value : x) value = value * 5 + 11;
  Numbers& second = World::kept(Numbers(kItems, 0xdeadbeef));
  w.call("clEnqueueReadBuffer", clEnqueueReadBuffer(w.queue(), other, CL_FALSE, 0, kBytes,
                                                    second.data(), 0, nullptr, w.hold()));
  w.finish();
  w.delivered("read and clFinish", CL_SUCCESS, second == x);
}

void uploads(World& w) {
  Numbers x = noise(kItems), y = noise(kItems, 2);
  const cl_mem a = w.buffer(kBytes), b = w.buffer(kBytes), out = w.buffer(kBytes);
  const cl_kernel kernel = w.kernel("add");
  Numbers &first = World::kept(x), &second = World::kept(y);
  w.call("clEnqueueWriteBuffer", clEnqueueWriteBuffer(w.queue(), a, CL_FALSE, 0, kBytes,
                                                      first.data(), 0, nullptr, w.hold()));
  w.call("clEnqueueWriteBuffer", clEnqueueWriteBuffer(w.queue(), b, CL_FALSE, 0, kBytes,
                                                      second.data(), 0, nullptr, w.hold()));
  w.set(kernel, 0, a);
  w.set(kernel, 1, b);
  w.set(kernel, 2, out);
  w.launch(kernel, kItems);
  for (size_t i = 0; i < kItems; ++i) x[i] += y[i];
  w.read(out, x);
  // Parts of what a kernel has just read.
  Numbers& part = World::kept(noise(300, 3));
  w.call("clEnqueueWriteBuffer",
         clEnqueueWriteBuffer(w.queue(), b, CL_FALSE, 1000 * sizeof(cl_uint),
                              part.size() * sizeof(cl_uint), part.data(), 0, nullptr, w.hold()));
  std::copy(part.begin(), part.end(), y.begin() + 1000);
  w.launch(kernel, kItems);
  for (size_t i = 0; i < kItems; ++i) x[i] = first[i] + y[i];
  w.read(out, x);
}

// A launch that waits for the application, which waits for its callback.
void callbacks(World& w) {
  Numbers x = noise(kItems);
  const cl_mem memory = w.buffer_of(x);
  const cl_kernel kernel = w.kernel("in_place");
  w.set(kernel, 0, memory);
  cl_event* const gate = w.event();
  cl_int code = CL_SUCCESS;
  *gate = clCreateUserEvent(w.context(), &code);
  w.call("clCreateUserEvent", code);
  if (*gate == nullptr) return w.read(memory, x);
  cl_event* const done = w.event();
  const size_t items = kItems, local = 64;
  w.call("clEnqueueNDRangeKernel",
         clEnqueueNDRangeKernel(w.queue(), kernel, 1, nullptr, &items, &local, 1, gate, done));
  auto& called = *new std::atomic<bool>(false);  // by a thread that may outlive this
  bool registered = false;
  if (*done != nullptr) {
    code = clSetEventCallback(
        *done, CL_COMPLETE,
        [](cl_event, cl_int, void* flag) {
          static_cast<std::atomic<bool>*>(flag)->store(true);
          static_cast<std::atomic<bool>*>(flag)->notify_all();
        },
        &called);
    w.call("clSetEventCallback", code);
    registered = code == CL_SUCCESS;
  }
  code = clSetUserEventStatus(*gate, CL_COMPLETE);
  w.call("clSetUserEventStatus", code);
  if (code != CL_SUCCESS) clSetUserEventStatus(*gate, CL_COMPLETE);
  if (*done != nullptr) w.wait({*done});
  if (registered) called.wait(false);
  times_three(x);
  w.read(memory, x);
}

}  // namespace tutti::faults
