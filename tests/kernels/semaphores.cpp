// SPDX-License-Identifier: Apache-2.0
// Semaphores made of user events: a wait ends with one, which the signal ends. Handles are files in
// memory, known by their numbers.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "sharing.h"
#include "vendor_answers.h"

namespace tutti::kernel_fuzz::sharing {
namespace {

struct Payload {
  std::mutex mutex;
  bool signalled = false;
  cl_event waiter = nullptr;  // a user event
};

struct Semaphore {
  cl_context context = nullptr;
  std::shared_ptr<Payload> payload = std::make_shared<Payload>();
  std::atomic<int> references{1};
};
Semaphore& of(cl_semaphore_khr handle) { return *reinterpret_cast<Semaphore*>(handle); }

void signal_now(Payload& payload, const cl_icd_dispatch& table) {
  cl_event waiter = nullptr;
  {
    const std::lock_guard lock(payload.mutex);
    if (payload.signalled) wrong("semaphore: signalled twice, and nobody has waited in between");
    std::swap(waiter, payload.waiter);
    payload.signalled = waiter == nullptr;
  }
  if (waiter == nullptr) return;
  table.clSetUserEventStatus(waiter, CL_COMPLETE);
  table.clReleaseEvent(waiter);
}

/// The event that ends with the next signal.
cl_event wait_on(Payload& payload, cl_context context, const cl_icd_dispatch& table) {
  cl_event event = table.clCreateUserEvent(context, nullptr);
  const std::lock_guard lock(payload.mutex);
  if (payload.signalled) {
    payload.signalled = false;
    table.clSetUserEventStatus(event, CL_COMPLETE);
    return event;
  }
  if (payload.waiter != nullptr)
    wrong("semaphore: waited for twice, and nobody has signalled in between");
  table.clRetainEvent(event);
  payload.waiter = event;
  return event;
}

// ---- handles

class Handles {
 public:
  int give(std::shared_ptr<Payload> payload) {
    const int file = memfd_create("semaphore", MFD_CLOEXEC);
    const std::lock_guard lock(mutex_);
    known_[number_of(file)] = std::move(payload);
    return file;
  }
  /// It is the importer's from now on. Null: it is none.
  std::shared_ptr<Payload> take(int file) {
    std::shared_ptr<Payload> found;
    {
      const std::lock_guard lock(mutex_);
      const auto entry = known_.find(number_of(file));
      if (entry != known_.end()) found = entry->second;
    }
    if (found) close(file);
    return found;
  }

 private:
  static ino_t number_of(int file) {
    struct stat status {};
    return fstat(file, &status) == 0 ? status.st_ino : 0;
  }
  std::mutex mutex_;
  std::map<ino_t, std::shared_ptr<Payload>> known_;
};
Handles& handles() {
  static auto* all = new Handles;
  return *all;
}

std::shared_ptr<Payload> imported(cl_semaphore_properties_khr type, int file) {
  if (type == CL_SEMAPHORE_HANDLE_OPAQUE_FD_KHR) return handles().take(file);
  auto payload = file == -1 ? std::make_shared<Payload>() : handles().take(file);
  if (file == -1) payload->signalled = true;
  return payload;
}

// ---- functions

cl_semaphore_khr CL_API_CALL create(cl_context context,
                                    const cl_semaphore_properties_khr* properties, cl_int* code) {
  auto made = std::make_unique<Semaphore>();
  made->context = context;
  *code = CL_SUCCESS;
  while (*properties != 0) {
    const auto name = *properties++;
    const auto value = *properties++;
    switch (name) {
      case CL_SEMAPHORE_TYPE_KHR:
        break;
      case CL_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR:
        if (*properties++ != 0) wrong("semaphore: more than one type of handles");
        break;
      case CL_SEMAPHORE_HANDLE_OPAQUE_FD_KHR:
      case CL_SEMAPHORE_HANDLE_SYNC_FD_KHR:
        made->payload = imported(name, static_cast<int>(value));
        if (!made->payload) {
          *code = CL_INVALID_VALUE;
          return nullptr;
        }
        break;
      default:
        wrong("semaphore: an unknown property");
    }
  }
  return reinterpret_cast<cl_semaphore_khr>(made.release());
}

cl_int CL_API_CALL release(cl_semaphore_khr semaphore) {
  if (--of(semaphore).references == 0) delete &of(semaphore);
  return CL_SUCCESS;
}

cl_int CL_API_CALL info(cl_semaphore_khr semaphore, cl_semaphore_info_khr name, size_t size,
                        void* value, size_t* size_ret) {
  if (name != CL_SEMAPHORE_PAYLOAD_KHR) return CL_INVALID_VALUE;
  Payload& payload = *of(semaphore).payload;
  const std::lock_guard lock(payload.mutex);
  const cl_semaphore_payload_khr state = payload.signalled ? 1 : 0;
  return answer(&state, sizeof state, size, value, size_ret);
}

cl_int CL_API_CALL enqueue_wait(cl_command_queue queue, cl_uint count,
                                const cl_semaphore_khr* semaphores, const cl_semaphore_payload_khr*,
                                cl_uint event_count, const cl_event* events, cl_event* event) {
  const cl_icd_dispatch& table = original_of(queue);
  std::vector<cl_event> list(events, events + event_count), own;
  for (cl_uint i = 0; i < count; ++i) {
    const Semaphore& semaphore = of(semaphores[i]);
    own.push_back(wait_on(*semaphore.payload, semaphore.context, table));
  }
  list.insert(list.end(), own.begin(), own.end());
  const cl_int code = table.clEnqueueMarkerWithWaitList(queue, static_cast<cl_uint>(list.size()),
                                                        list.data(), event);
  for (cl_event one : own) table.clReleaseEvent(one);
  return code;
}

struct Signal {
  const cl_icd_dispatch& table;
  std::vector<std::shared_ptr<Payload>> payloads;
  cl_event ended = nullptr;  // a user event
};

void CL_CALLBACK do_signal(cl_event, cl_int status, void* data) {
  const std::unique_ptr<Signal> signal(static_cast<Signal*>(data));
  for (const auto& payload : signal->payloads) {
    if (status == CL_COMPLETE) signal_now(*payload, signal->table);
  }
  signal->table.clSetUserEventStatus(signal->ended, status);
  signal->table.clReleaseEvent(signal->ended);
}

cl_int CL_API_CALL enqueue_signal(cl_command_queue queue, cl_uint count,
                                  const cl_semaphore_khr* semaphores,
                                  const cl_semaphore_payload_khr*, cl_uint event_count,
                                  const cl_event* events, cl_event* event) {
  const cl_icd_dispatch& table = original_of(queue);
  auto signal = std::make_unique<Signal>(Signal{table, {}, nullptr});
  for (cl_uint i = 0; i < count; ++i) signal->payloads.push_back(of(semaphores[i]).payload);
  // A marker, whose callback signals, and then ends what is given for the command.
  cl_event marker = nullptr;
  cl_context context = nullptr;
  table.clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, static_cast<void*>(&context),
                              nullptr);
  const cl_int code = table.clEnqueueMarkerWithWaitList(queue, event_count, events, &marker);
  if (code != CL_SUCCESS) return code;
  signal->ended = table.clCreateUserEvent(context, nullptr);
  if (event != nullptr) {
    *event = signal->ended;
    table.clRetainEvent(*event);
  }
  table.clSetEventCallback(marker, CL_COMPLETE, &do_signal, signal.release());
  table.clReleaseEvent(marker);
  return CL_SUCCESS;
}

cl_int CL_API_CALL export_handle(cl_semaphore_khr semaphore, cl_device_id,
                                 cl_external_semaphore_handle_type_khr type, size_t size,
                                 void* handle, size_t* size_ret) {
  std::shared_ptr<Payload> payload = of(semaphore).payload;
  if (type == CL_SEMAPHORE_HANDLE_SYNC_FD_KHR) {
    const std::lock_guard lock(payload->mutex);
    if (!payload->signalled) wrong("semaphore: a copy of a signal that was not given");
    payload->signalled = false;
    payload = std::make_shared<Payload>();
    payload->signalled = true;
  }
  const int file = handles().give(std::move(payload));
  return answer(&file, sizeof file, size, handle, size_ret);
}

cl_int CL_API_CALL import_again(cl_semaphore_khr semaphore, cl_properties*, int file) {
  auto payload = imported(CL_SEMAPHORE_HANDLE_SYNC_FD_KHR, file);
  if (!payload) return CL_INVALID_VALUE;
  of(semaphore).payload = std::move(payload);
  return CL_SUCCESS;
}

}  // namespace

void* semaphore_function(const char* name) {
  const std::string_view wanted = name;
  if (wanted == "clCreateSemaphoreWithPropertiesKHR") return reinterpret_cast<void*>(&create);
  if (wanted == "clReleaseSemaphoreKHR") return reinterpret_cast<void*>(&release);
  if (wanted == "clGetSemaphoreInfoKHR") return reinterpret_cast<void*>(&info);
  if (wanted == "clEnqueueWaitSemaphoresKHR") return reinterpret_cast<void*>(&enqueue_wait);
  if (wanted == "clEnqueueSignalSemaphoresKHR") return reinterpret_cast<void*>(&enqueue_signal);
  if (wanted == "clGetSemaphoreHandleForTypeKHR") return reinterpret_cast<void*>(&export_handle);
  if (wanted == "clReImportSemaphoreSyncFdKHR") return reinterpret_cast<void*>(&import_again);
  return nullptr;
}

}  // namespace tutti::kernel_fuzz::sharing
