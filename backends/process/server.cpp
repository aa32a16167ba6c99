// SPDX-License-Identifier: Apache-2.0
#include "backends/process/server.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <thread>

#include "base/guarded.h"
#include "base/own_thread.h"

namespace tutti::backends::process {
tl::unexpected<Error> Server::damaged() { return fail(CL_INVALID_VALUE, "a request that is none"); }

Status Server::start(uint64_t offset) {
  head_ = reinterpret_cast<LanesHead*>(arena_.at(offset, sizeof(LanesHead)));
  if (head_ == nullptr) return damaged();
  std::vector<Lane*> lanes;
  for (uint32_t i = 0; i < kLanes; ++i) {
    auto* const lane = reinterpret_cast<Lane*>(arena_.at(offset + lane_offset(i), sizeof(Lane)));
    if (lane == nullptr) return damaged();
    lanes.push_back(lane);
    TUTTI_TRY(guarded([&] {
      start_unseen_thread([this, lane] {
        pthread_setname_np(pthread_self(), "tutti-lane");
        serve(*lane);
      });
    }));
  }
  for (const Lane* lane : lanes) {
    while (lane->ready.load(std::memory_order_acquire) == 0) std::this_thread::yield();
  }
  return {};
}

void Server::note_output() {
  if (head_ == nullptr) return;
  std::fflush(stdout);
  const off_t printed = lseek(STDOUT_FILENO, 0, SEEK_CUR);
  if (printed > 0) {
    head_->printed.store(static_cast<uint64_t>(printed), std::memory_order_release);
  }
}

void Server::serve(Lane& lane) {
  std::vector<std::byte> kept;  // an answer that there is no room for
  process::serve(lane, [&] {
    const std::byte* const from =
        lane.size <= kMessageBytes ? lane.message : arena_.at(lane.elsewhere, lane.size);
    if (from == nullptr || lane.size < sizeof(Op)) return false;
    const std::span request(from, lane.size);
    Reader reader(request);
    if (reader.get<Op>() == Op::kRest) {
      static_cast<void>(reader.block());
      std::byte* const to = arena_.at(reader.get<uint64_t>(), kept.size());
      if (to == nullptr) return false;
      std::copy(kept.begin(), kept.end(), to);
      lane.size = 0;
      return true;
    }
    kept = answer(request);
    lane.size = kept.size();
    if (kept.size() <= kMessageBytes) std::copy(kept.begin(), kept.end(), lane.message);
    return true;
  });
}

std::vector<std::byte> Server::answer(std::span<const std::byte> request) {
  Status status;
  Writer body;
  const Status ran = guarded([&] {
    Reader from(request);
    const auto op = from.get<Op>();
    for (const Dropped& dropped : from.list<Dropped>()) drop(dropped);
    status = from.whole() ? carry_out(op, from, body) : damaged();
    if (status && !from.whole()) status = damaged();
  });
  if (!ran) status = ran;
  Writer head;
  head.put<cl_int>(code_of(status)).text(status ? std::string() : status.error().message);
  std::vector<std::byte> all = head.take();
  if (status) all.insert(all.end(), body.bytes().begin(), body.bytes().end());
  return all;
}

void Server::drop(const Dropped& dropped) {
  switch (dropped.kind) {
    case ObjectKind::kQueue:
      queues_.remove(dropped.number);
      break;
    case ObjectKind::kMemory:
      memories_.remove(dropped.number);
      break;
    case ObjectKind::kPinned:
      pinned_.remove(dropped.number);
      break;
    case ObjectKind::kModule:
      modules_.remove(dropped.number);
      break;
    case ObjectKind::kObject:
      objects_.remove(dropped.number);
      break;
    case ObjectKind::kKernel:
      kernels_.remove(dropped.number);
      break;
    case ObjectKind::kCompletion:
      completions_.remove(dropped.number);
      break;
  }
}

Status Server::carry_out(Op op, Reader& from, Writer& to) {
  switch (op) {
    case Op::kInfo: {
      TUTTI_ASSIGN(const auto bytes, device_.device_info(from.get<cl_device_info>()));
      to.block(bytes);
      return {};
    }
    case Op::kCreateQueue:
    case Op::kAllocate:
    case Op::kImage:
    case Op::kImageOver:
    case Op::kImageFormats:
    case Op::kPin:
      return make(op, from, to);
    case Op::kBuild:
    case Op::kCompile:
    case Op::kLink:
    case Op::kCreateKernel:
    case Op::kBinary:
    case Op::kVariables:
      return build(op, from, to);
    case Op::kKernelInfo:
      return ask_kernel(from, to);
    case Op::kLaunch:
    case Op::kLaunchAgain:
      return launch(op, from, to);
    case Op::kRead:
    case Op::kWrite:
    case Op::kCopy:
    case Op::kFill:
    case Op::kMark:
      return enqueue(op, from, to);
    case Op::kReadImage:
    case Op::kWriteImage:
    case Op::kCopyImage:
    case Op::kFillImage:
      return enqueue_image(op, from, to);
    case Op::kReadNow:
    case Op::kWriteNow:
    case Op::kReadRows:
    case Op::kWriteRows:
      return transfer_now(op, from, to);
    case Op::kFlush: {
      TUTTI_ASSIGN(const auto served, queue(from));
      return served->queue->flush();
    }
    case Op::kFinish: {
      TUTTI_ASSIGN(const auto served, queue(from));
      const uint64_t before = served->returned.load();
      const Status finished = served->queue->finish();
      note_output();
      TUTTI_TRY(finished);
      to.put(before);
      return {};
    }
    case Op::kPoll:
    case Op::kWait:
      return ask_completion(op, from, to);
    case Op::kRest:
      break;
    case Op::kNothing:
      return {};
  }
  return damaged();
}

Result<std::shared_ptr<Server::ServedQueue>> Server::queue(Reader& from) {
  auto found = queues_.find(from.get<uint64_t>());
  if (!found) return damaged();
  return found;
}

Result<std::shared_ptr<Memory>> Server::memory(Reader& from) {
  auto found = memories_.find(from.get<uint64_t>());
  if (!found) return damaged();
  return found;
}

Result<std::byte*> Server::place(Place place, uint64_t size) const {
  std::byte* const found = arena_.at(place, size);
  if (found == nullptr) return damaged();
  return found;
}

Status Server::make(Op op, Reader& from, Writer& to) {
  const auto add = [&](Result<std::unique_ptr<Memory>> made) -> Status {
    if (!made) return tl::unexpected(std::move(made).error());
    to.put(memories_.add(std::move(*made)));
    return {};
  };
  switch (op) {
    case Op::kCreateQueue: {
      auto served = std::make_shared<ServedQueue>();
      TUTTI_ASSIGN(served->queue, device_.create_queue(from.get<QueueOptions>()));
      to.put(queues_.add(std::move(served)));
      return {};
    }
    case Op::kAllocate:
      return add(device_.allocate(from.get<uint64_t>(), nullptr));
    case Op::kImage:
      return add(device_.allocate_image(from.get<ImageShape>()));
    case Op::kImageOver: {
      TUTTI_ASSIGN(const auto buffer, memory(from));
      const auto origin = from.get<uint64_t>(), size = from.get<uint64_t>();
      TUTTI_ASSIGN(auto made, device_.image_over(*buffer, origin, size, from.get<ImageShape>()));
      // The buffer outlives its images.
      std::shared_ptr<Memory> image(made.release(), [buffer](const Memory* one) { delete one; });
      to.put(memories_.add(std::move(image)));
      return {};
    }
    case Op::kImageFormats: {
      const auto flags = from.get<cl_mem_flags>();
      TUTTI_ASSIGN(const auto formats,
                   device_.image_formats(flags, from.get<cl_mem_object_type>()));
      to.list(std::span(formats));
      return {};
    }
    default: {  // kPin
      const auto offset = from.get<uint64_t>(), size = from.get<uint64_t>();
      TUTTI_ASSIGN(std::byte* const data, place(offset, size));
      TUTTI_ASSIGN(auto made, device_.pin(data, size));
      to.put(pinned_.add(std::move(made)));
      return {};
    }
  }
}

Status Server::build(Op op, Reader& from, Writer& to) {
  const auto built = [&](BuildResult result) {
    to.put(result.code).text(result.log);
    to.put(result.module ? modules_.add(std::move(result.module)) : uint64_t{0});
    return Status();
  };
  if (op == Op::kBuild) {
    const ProgramText text = get_text(from);
    switch (text.kind) {
      case TextKind::kSource:
        return built(device_.build(text.text, text.options));
      case TextKind::kIl:
        return built(device_.build_il(text.text, text.options));
      case TextKind::kBuiltIn:
        return built(device_.take_built_in(text.text));
      case TextKind::kBinary:
        return built(device_.load(std::as_bytes(std::span(text.text))));
    }
    return damaged();
  }
  if (op == Op::kCompile) {
    const ProgramText text = get_text(from);
    ObjectResult result = text.kind == TextKind::kIl ? device_.compile_il(text.text, text.options)
                                                     : device_.compile(text.text, text.options);
    to.put(result.code).text(result.log);
    to.put(result.object ? objects_.add(std::move(result.object)) : uint64_t{0});
    return {};
  }
  if (op == Op::kLink) {
    std::vector<std::shared_ptr<Object>> kept;
    std::vector<Object*> objects;
    for (const uint64_t number : from.list<uint64_t>()) {
      kept.push_back(objects_.find(number));
      objects.push_back(kept.back().get());
      if (!kept.back()) return damaged();
    }
    return built(device_.link(objects, from.text()));
  }
  const auto module = modules_.find(from.get<uint64_t>());
  if (!module) return damaged();
  if (op == Op::kBinary) {
    TUTTI_ASSIGN(const auto binary, module->binary());
    to.block(binary);
  } else if (op == Op::kVariables) {
    TUTTI_ASSIGN(const uint64_t bytes, module->variable_bytes());
    to.put(bytes);
  } else {
    TUTTI_ASSIGN(auto made, module->create_kernel(from.text()));
    const uint64_t count = made->argument_count();
    std::shared_ptr<Kernel> kernel(made.release(), [module](const Kernel* one) { delete one; });
    to.put(kernels_.add(std::move(kernel))).put(count);
  }
  return {};
}

Status Server::ask_kernel(Reader& from, Writer& to) {
  const auto kernel = kernels_.find(from.get<uint64_t>());
  const auto question = from.get<KernelQuestion>();
  const auto what = from.get<cl_uint>(), index = from.get<cl_uint>();
  const auto input = from.list<size_t>();
  const auto size = from.get<uint64_t>();
  if (!kernel) return damaged();
  auto answer = question == KernelQuestion::kWorkGroup  ? kernel->work_group_info(what)
                : question == KernelQuestion::kSubGroup ? kernel->sub_group_info(what, input, size)
                                                        : kernel->argument_info(index, what);
  if (!answer) return tl::unexpected(std::move(answer).error());
  to.block(*answer);
  return {};
}

Status Server::ask_completion(Op op, Reader& from, Writer& to) {
  const auto completion = completions_.find(from.get<uint64_t>());
  if (!completion) return damaged();
  cl_int status = CL_COMPLETE;
  if (op == Op::kWait) {
    const Status waited = completion->wait();
    note_output();
    TUTTI_TRY(waited);
  } else {
    status = completion->poll();
    to.put(status);
    if (status == CL_COMPLETE) note_output();
  }
  Times times;
  if (status == CL_COMPLETE) {
    if (const auto known = completion->times()) {
      times.known = 1;
      times.times = *known;
    }
  }
  to.put(times);
  return {};
}

}  // namespace tutti::backends::process
