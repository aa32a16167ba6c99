// SPDX-License-Identifier: Apache-2.0
#include "backends/process/process_backend.h"

#include <fmt/core.h>

#include <algorithm>

#include "backends/process/remote_objects.h"
#include "backends/process/remote_queue.h"
#include "base/process_exit.h"

namespace tutti::backends::process {
namespace {

Result<std::unique_ptr<Channel>> open_channel(const ProcessDevice& device, StartedHelper helper,
                                              SharedArena& arena) {
  if (!helper.process || !helper.process->alive()) {
    TUTTI_ASSIGN(helper, start_helper(device.subject));
  }
  const auto& listed = helper.listing.devices;
  const bool there = std::any_of(listed.begin(), listed.end(), [&](const ListedDevice& one) {
    return one.platform == device.service.platform && one.device == device.service.device &&
           one.traits.device_name == device.name;
  });
  if (!there) return fail(CL_DEVICE_NOT_AVAILABLE, device.name + ": its process does not find it");
  return Channel::open(std::move(helper), device.service, device.name, device.bounds, arena);
}

class ProcessBackend final : public Backend {
 public:
  ProcessBackend(ProcessDevice device, SharedArena& arena, std::unique_ptr<Channel> channel)
      : device_(std::move(device)), remote_(arena, std::move(channel)) {}

  const DeviceTraits& traits() const override { return remote_.traits; }
  Traffic traffic() const override { return remote_.traffic(); }
  bool hangs() const override { return remote_.present().hangs(); }
  Status renew() override;
  uint32_t renewals() const override { return remote_.renewals(); }
  Result<std::vector<std::byte>> device_info(cl_device_info what) const override;
  Result<std::unique_ptr<Queue>> create_queue(QueueOptions options) override;
  Result<std::unique_ptr<Memory>> allocate(uint64_t size, void* host) override;
  Result<std::unique_ptr<PinnedMemory>> allocate_pinned(uint64_t size) override;
  Result<std::unique_ptr<Memory>> allocate_image(const ImageShape& shape) override;
  Result<std::unique_ptr<Memory>> image_over(Memory& buffer, uint64_t origin, uint64_t size,
                                             const ImageShape& shape) override;
  Result<std::vector<cl_image_format>> image_formats(cl_mem_flags flags,
                                                     cl_mem_object_type type) override;
  BuildResult build(const std::string& source, const std::string& options) override {
    return build({TextKind::kSource, source, options});
  }
  BuildResult build_il(const std::string& il, const std::string& options) override {
    return build({TextKind::kIl, il, options});
  }
  BuildResult take_built_in(const std::string& names) override {
    return build({TextKind::kBuiltIn, names, {}});
  }
  BuildResult load(std::span<const std::byte> binary) override {
    return build(
        {TextKind::kBinary, {reinterpret_cast<const char*>(binary.data()), binary.size()}, {}});
  }
  ObjectResult compile(const std::string& source, const std::string& options) override {
    return compile({TextKind::kSource, source, options});
  }
  ObjectResult compile_il(const std::string& il, const std::string& options) override {
    return compile({TextKind::kIl, il, options});
  }
  BuildResult link(std::span<Object* const> objects, const std::string& options) override;

 private:
  /// What comes of a build, a compilation or a link: an object's number, or 0.
  struct Built {
    cl_int code = CL_SUCCESS;
    std::string log;
    uint64_t number = 0;
  };
  static Built made(Result<Channel::Answer> answer);
  static Built made(Channel& channel, Op op, const ProgramText& text);
  static Built link_in(Channel& channel, const std::vector<RemotePtr>& objects,
                       const std::string& options);
  /// Made again in a later helper by `again`.
  static RemotePtr remote(ObjectKind kind, Channel& channel, uint64_t number,
                          std::function<Built(Channel&)> again);
  BuildResult build(const ProgramText& text);
  ObjectResult compile(const ProgramText& text);
  BuildResult module_of(Channel& channel, Built built, std::function<Built(Channel&)> again);
  Result<std::unique_ptr<Memory>> memory(Op op, Channel& channel, const Writer& request,
                                         uint64_t size, uint64_t pixel_size) const;

  const ProcessDevice device_;
  RemoteDevice remote_;
  Mutex renewing_;  // held while a helper starts
};

Status ProcessBackend::renew() {
  if (vendors_gone()) return remote_.present().gone("starting anew");
  const MutexLock lock(renewing_);
  Channel& before = remote_.present();
  if (before.hangs()) return before.gone("starting anew");
  TUTTI_ASSIGN(auto channel, open_channel(device_, {}, remote_.arena));
  if (remote_.traits.came_later && !same_device(channel->traits(), remote_.traits)) {
    return fail(CL_DEVICE_NOT_AVAILABLE, device_.name + ": it is not what it was in earlier runs");
  }
  remote_.replace(std::move(channel));
  return {};
}

Result<std::vector<std::byte>> ProcessBackend::device_info(cl_device_info what) const {
  if (auto known = answer_without(what)) return *std::move(known);
  Writer request;
  request.put(what);
  TUTTI_ASSIGN(const auto answer,
               remote_.present().call("asking about the device", Op::kInfo, request));
  return leave_out(what, answer.reader().bytes());
}

Result<std::unique_ptr<Queue>> ProcessBackend::create_queue(QueueOptions options) {
  auto queue = std::make_unique<RemoteQueue>(remote_, options);
  TUTTI_TRY(queue->open());
  return queue;
}

Result<std::unique_ptr<Memory>> ProcessBackend::memory(Op op, Channel& channel,
                                                       const Writer& request, uint64_t size,
                                                       uint64_t pixel_size) const {
  TUTTI_ASSIGN(const auto answer, channel.call("allocating", op, request));
  return std::make_unique<RemoteMemory>(channel, answer.reader().get<uint64_t>(), size, pixel_size);
}

Result<std::unique_ptr<Memory>> ProcessBackend::allocate(uint64_t size, void* host) {
  if (host != nullptr) {
    return fail(CL_INVALID_HOST_PTR, device_.name + " is in a process of its own");
  }
  Writer request;
  request.put(size);
  return memory(Op::kAllocate, remote_.present(), request, size, 0);
}

Result<std::unique_ptr<PinnedMemory>> ProcessBackend::allocate_pinned(uint64_t size) {
  TUTTI_ASSIGN(SharedRange range, remote_.arena.allocate(size));
  Channel& channel = remote_.present();
  const uint64_t pinned = remote_.pin(channel, range);
  return std::make_unique<SharedPinnedMemory>(std::move(range), size, channel, pinned);
}

Result<std::unique_ptr<Memory>> ProcessBackend::allocate_image(const ImageShape& shape) {
  Writer request;
  request.put(shape);
  return memory(Op::kImage, remote_.present(), request, shape.span(), shape.pixel_size);
}

Result<std::unique_ptr<Memory>> ProcessBackend::image_over(Memory& buffer, uint64_t origin,
                                                           uint64_t size, const ImageShape& shape) {
  Channel& channel = remote_.present();
  TUTTI_ASSIGN(const uint64_t number, number_of(buffer, channel));
  Writer request;
  request.put(number).put(origin).put(size).put(shape);
  return memory(Op::kImageOver, channel, request, shape.span(), shape.pixel_size);
}

Result<std::vector<cl_image_format>> ProcessBackend::image_formats(cl_mem_flags flags,
                                                                   cl_mem_object_type type) {
  Writer request;
  request.put(flags).put(type);
  TUTTI_ASSIGN(const auto answer,
               remote_.present().call("asking for formats of images", Op::kImageFormats, request));
  return answer.reader().list<cl_image_format>();
}

ProcessBackend::Built ProcessBackend::made(Result<Channel::Answer> answer) {
  if (!answer) return {answer.error().code, answer.error().message, 0};
  Reader from = answer->reader();
  Built built;
  from.into(built.code);
  from.into(built.log);
  from.into(built.number);
  if (built.number == 0 && built.code == CL_SUCCESS) built.code = CL_OUT_OF_RESOURCES;
  return built;
}

ProcessBackend::Built ProcessBackend::made(Channel& channel, Op op, const ProgramText& text) {
  Writer request;
  put(request, text);
  return made(channel.call("building a program", op, request, true));
}

ProcessBackend::Built ProcessBackend::link_in(Channel& channel,
                                              const std::vector<RemotePtr>& objects,
                                              const std::string& options) {
  std::vector<uint64_t> numbers;
  for (const RemotePtr& object : objects) {
    const auto number = object->in(channel);
    if (!number) return {number.error().code, number.error().message, 0};
    numbers.push_back(*number);
  }
  Writer request;
  request.list(std::span<const uint64_t>(numbers)).text(options);
  return made(channel.call("linking a program", Op::kLink, request, true));
}

RemotePtr ProcessBackend::remote(ObjectKind kind, Channel& channel, uint64_t number,
                                 std::function<Built(Channel&)> again) {
  return std::make_shared<Remote>(kind, channel, number,
                                  [again = std::move(again)](Channel& later) -> Result<uint64_t> {
                                    Built built = again(later);
                                    if (built.number == 0)
                                      return fail(built.code, std::move(built.log));
                                    return built.number;
                                  });
}

BuildResult ProcessBackend::module_of(Channel& channel, Built built,
                                      std::function<Built(Channel&)> again) {
  if (built.number == 0) return {nullptr, built.code, std::move(built.log)};
  BuildResult result{nullptr, built.code, built.log};
  result.module = std::make_unique<RemoteModule>(
      remote_, remote(ObjectKind::kModule, channel, built.number, std::move(again)),
      std::move(built.log));
  return result;
}

BuildResult ProcessBackend::build(const ProgramText& text) {
  Channel& channel = remote_.present();
  return module_of(channel, made(channel, Op::kBuild, text),
                   [text](Channel& later) { return made(later, Op::kBuild, text); });
}

ObjectResult ProcessBackend::compile(const ProgramText& text) {
  Channel& channel = remote_.present();
  Built built = made(channel, Op::kCompile, text);
  if (built.number == 0) return {nullptr, built.code, std::move(built.log)};
  return {std::make_unique<RemoteObject>(
              remote(ObjectKind::kObject, channel, built.number,
                     [text](Channel& later) { return made(later, Op::kCompile, text); })),
          built.code, std::move(built.log)};
}

BuildResult ProcessBackend::link(std::span<Object* const> objects, const std::string& options) {
  std::vector<RemotePtr> units;
  for (Object* const object : objects) {
    units.push_back(static_cast<RemoteObject*>(object)->remote());
  }
  Channel& channel = remote_.present();
  return module_of(channel, link_in(channel, units, options),
                   [units, options](Channel& later) { return link_in(later, units, options); });
}

}  // namespace

Result<std::unique_ptr<Backend>> drive_when_there(ProcessDevice device, DeviceTraits traits,
                                                  const std::string& reason) {
  TUTTI_ASSIGN(SharedArena* const arena, SharedArena::of_process());
  traits.index = device.service.index;
  traits.came_later = true;
  TUTTI_ASSIGN(auto channel, Channel::never_there(device.name, reason, traits, *arena));
  return std::make_unique<ProcessBackend>(std::move(device), *arena, std::move(channel));
}

Result<std::unique_ptr<Backend>> drive_in_process(ProcessDevice device, StartedHelper helper) {
  TUTTI_ASSIGN(SharedArena* const arena, SharedArena::of_process());
  TUTTI_ASSIGN(auto channel, open_channel(device, std::move(helper), *arena));
  return std::make_unique<ProcessBackend>(std::move(device), *arena, std::move(channel));
}

}  // namespace tutti::backends::process
