// SPDX-License-Identifier: Apache-2.0
#include "device_virtual/context.h"

#include <utility>

namespace tutti::device_virtual {

Context::Context(Device& device, scheduler::Engine& engine, Options options)
    : device_(device), options_(std::move(options)), engine_(engine) {}

Context::~Context() {
  // "The callbacks are called in the reverse order in which they were registered."
  for (auto entry = destructors_.rbegin(); entry != destructors_.rend(); ++entry) {
    entry->first(handle(), entry->second);
  }
}

Status Context::info(cl_context_info what, const InfoAnswer& answer) const {
  switch (what) {
    case CL_CONTEXT_REFERENCE_COUNT:
      return answer.value(public_references());
    case CL_CONTEXT_NUM_DEVICES:
      return answer.value<cl_uint>(1);  // "Duplicate devices specified in devices are ignored."
    case CL_CONTEXT_DEVICES:
      return answer.value<cl_device_id>(device_.handle());
    case CL_CONTEXT_PROPERTIES:
      return answer.list(std::span<const cl_context_properties>(options_.properties));
    default:
      return unknown_query();
  }
}

void Context::add_destructor(Destructor function, void* user_data) {
  const std::lock_guard lock(mutex_);
  destructors_.emplace_back(function, user_data);
}

void Context::notify(const std::string& message) const {
  if (options_.notify != nullptr) {
    options_.notify(message.c_str(), nullptr, 0, options_.user_data);
  }
}

}  // namespace tutti::device_virtual
