// SPDX-License-Identifier: Apache-2.0
#include "scheduler/devices/workers.h"

#include "base/log.h"
#include "scheduler/devices/place.h"

namespace tutti::scheduler {
namespace {

void callback_failed(const Error& why) {
  log(LogLevel::kError, "a callback has failed: {}", why.message);
}

}  // namespace

Workers::Workers() {
  // For parts of devices to come, too.
  for (uint32_t i = 0; i < kMostBackends; ++i) {
    devices_.push_back(std::make_unique<Worker>("tutti-dev" + std::to_string(i)));
  }
  for (Place place = kHostPlace; place <= kMostBackends; ++place) {
    prefetches_.push_back(std::make_unique<Worker>("tutti-ahead" + std::to_string(place)));
  }
}

void Workers::call_back(std::function<void(cl_int)> callback, cl_int status) {
  // Where there is no thread for it, in this one: somebody may wait for what it does.
  callbacks_.post_or_run([callback = std::move(callback), status] { callback(status); },
                         callback_failed);
}

void Workers::call_back_here(const std::function<void(cl_int)>& callback, cl_int status) {
  if (const Status called = guarded([&] { callback(status); }); !called) {
    callback_failed(called.error());
  }
}

}  // namespace tutti::scheduler
