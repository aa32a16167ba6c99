// SPDX-License-Identifier: Apache-2.0
// What a helper does on queues.
#include <algorithm>

#include "backends/process/server.h"

namespace tutti::backends::process {
Result<std::vector<CompletionPtr>> Server::wait_list(Reader& from) {
  std::vector<CompletionPtr> list;
  for (const uint64_t number : from.list<uint64_t>()) {
    list.push_back(completions_.find(number));
    if (!list.back()) return damaged();
  }
  return list;
}

template <typename Call>
Status Server::enqueued(ServedQueue& queue, Writer& to, Call call) {
  Enqueued known;
  known.before = queue.returned.load();
  TUTTI_ASSIGN(CompletionPtr made, call());
  known.number = queue.returned.fetch_add(1) + 1;
  known.completion = completions_.add(std::move(made));
  to.put(known);
  return {};
}

Status Server::launch(Op op, Reader& from, Writer& to) {
  TUTTI_ASSIGN(const auto served, queue(from));
  const auto kernel = kernels_.find(from.get<uint64_t>());
  const auto shape = from.get<LaunchShape>();
  if (!kernel || shape.arguments > 4096) return damaged();
  std::vector<std::shared_ptr<Memory>> kept;
  std::vector<Argument> arguments(shape.arguments);
  for (Argument& argument : arguments) {
    const auto described = from.get<ArgumentShape>();
    argument.kind = described.kind;
    argument.bytes = from.block();
    argument.local_size = described.local_size;
    argument.origin = described.origin;
    argument.size = described.size;
    argument.sampler = described.sampler;
    if (described.memory != 0) {
      kept.push_back(memories_.find(described.memory));
      if (!kept.back()) return damaged();
      argument.memory = kept.back().get();
    }
  }
  Launch launch{kernel.get(), arguments,    shape.dims,         shape.offset,
                shape.global, std::nullopt, shape.observed != 0};
  if (shape.has_local != 0) launch.local = shape.local;
  if (op == Op::kLaunch) {
    TUTTI_ASSIGN(const auto wait, wait_list(from));
    if (!from.whole()) return damaged();
    return enqueued(*served, to, [&] { return served->queue->launch(launch, wait); });
  }
  const auto run_number = from.get<uint64_t>();
  CompletionPtr run = completions_.find(run_number);
  if (!run) return damaged();
  const Completion* const before = run.get();
  Enqueued known;
  known.before = served->returned.load();
  TUTTI_TRY(served->queue->launch_again(launch, run));
  known.number = served->returned.fetch_add(1) + 1;
  known.completion = run.get() == before ? run_number : completions_.add(std::move(run));
  to.put(known);
  return {};
}

Status Server::enqueue(Op op, Reader& from, Writer& to) {
  TUTTI_ASSIGN(const auto served, queue(from));
  Queue& queue = *served->queue;
  if (op == Op::kMark) {
    TUTTI_ASSIGN(const auto wait, wait_list(from));
    const bool observed = from.get<uint32_t>() != 0;
    return enqueued(*served, to, [&] { return queue.mark(wait, observed); });
  }
  TUTTI_ASSIGN(const auto first, memory(from));
  const auto offset = from.get<uint64_t>();
  if (op == Op::kCopy) {
    TUTTI_ASSIGN(const auto second, memory(from));
    const auto to_offset = from.get<uint64_t>(), size = from.get<uint64_t>();
    TUTTI_ASSIGN(const auto wait, wait_list(from));
    const bool observed = from.get<uint32_t>() != 0;
    return enqueued(*served, to, [&] {
      return queue.copy(*first, offset, *second, to_offset, size, {wait, observed});
    });
  }
  const auto size = from.get<uint64_t>();
  if (op == Op::kFill) {
    const auto pattern = from.block();
    TUTTI_ASSIGN(const auto wait, wait_list(from));
    const bool observed = from.get<uint32_t>() != 0;
    return enqueued(*served, to, [&] {
      return queue.fill(*first, offset, size, pattern, {wait, observed});
    });
  }
  TUTTI_ASSIGN(std::byte* const data, place(from.get<Place>(), size));
  TUTTI_ASSIGN(const auto wait, wait_list(from));
  const bool observed = from.get<uint32_t>() != 0;
  return enqueued(*served, to, [&] {
    return op == Op::kRead ? queue.read(*first, offset, size, data, {wait, observed})
                           : queue.write(*first, offset, size, data, {wait, observed});
  });
}

Status Server::enqueue_image(Op op, Reader& from, Writer& to) {
  TUTTI_ASSIGN(const auto served, queue(from));
  Queue& queue = *served->queue;
  TUTTI_ASSIGN(const auto image, memory(from));
  const auto box = from.get<ImageBox>();
  if (op == Op::kCopyImage) {
    TUTTI_ASSIGN(const auto target, memory(from));
    const auto origin = from.get<std::array<size_t, 3>>();
    TUTTI_ASSIGN(const auto wait, wait_list(from));
    return enqueued(*served, to,
                    [&] { return queue.copy_image(*image, box, *target, origin, wait); });
  }
  if (op == Op::kFillImage) {
    const auto color = from.get<std::array<std::byte, 16>>();
    TUTTI_ASSIGN(const auto wait, wait_list(from));
    return enqueued(*served, to, [&] { return queue.fill_image(*image, box, color, wait); });
  }
  const auto at = from.get<Place>();
  const auto second = from.get<uint64_t>(), third = from.get<uint64_t>();
  const uint64_t size = (box.extent[2] - 1) * third + (box.extent[1] - 1) * second +
                        box.extent[0] * image->pixel_size();
  TUTTI_ASSIGN(std::byte* const data, place(at, size));
  TUTTI_ASSIGN(const auto wait, wait_list(from));
  return enqueued(*served, to, [&] {
    return op == Op::kReadImage ? queue.read_image(*image, box, data, second, third, wait)
                                : queue.write_image(*image, box, data, second, third, wait);
  });
}

Status Server::transfer_now(Op op, Reader& from, Writer& to) {
  const Status status = transfer(op, from, to);
  note_output();
  return status;
}

Status Server::transfer(Op op, Reader& from, Writer& to) {
  TUTTI_ASSIGN(const auto served, queue(from));
  Queue& queue = *served->queue;
  TUTTI_ASSIGN(const auto memory, this->memory(from));
  const uint64_t before = served->returned.load();
  if (op == Op::kReadRows || op == Op::kWriteRows) {
    const auto rows = from.get<BufferRows>();
    TUTTI_ASSIGN(std::byte* const data, place(from.get<Place>(), span_of(rows)));
    TUTTI_TRY(op == Op::kReadRows ? queue.read_rows(*memory, rows, data)
                                  : queue.write_rows(*memory, rows, data));
    to.put(before);
    return {};
  }
  const auto offset = from.get<uint64_t>(), size = from.get<uint64_t>();
  const auto at = from.get<Place>();
  to.put(before);
  if (op == Op::kWriteNow) {
    if (at == kInline) {
      const auto bytes = from.block();
      return bytes.size() == size ? queue.write_blocking(*memory, offset, size, bytes.data())
                                  : Status(damaged());
    }
    TUTTI_ASSIGN(const std::byte* const data, place(at, size));
    return queue.write_blocking(*memory, offset, size, data);
  }
  if (at == kInline) {
    if (size > kMostInline) return damaged();
    return queue.read_blocking(*memory, offset, size, to.room(size));
  }
  TUTTI_ASSIGN(std::byte* const data, place(at, size));
  return queue.read_blocking(*memory, offset, size, data);
}

}  // namespace tutti::backends::process
