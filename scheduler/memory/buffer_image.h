// SPDX-License-Identifier: Apache-2.0
// An image made from a buffer (1-D from a buffer, 2-D from a buffer): the buffer's bytes and
// directory, seen through vendor images that are made at first use on each device. Reference
// counted; thread-safe.
#pragma once

#include <map>
#include <memory>

#include "backends/api/backend.h"
#include "base/ref_counted.h"
#include "base/thread_annotations.h"
#include "scheduler/memory/logical_buffer.h"

namespace tutti::scheduler {

class BufferImage : public RefCounted {
 public:
  BufferImage(BackendSet& backends, BufferView view, const backends::ImageShape& shape);

  const backends::ImageShape& shape() const { return shape_; }
  const BufferView& view() const { return view_; }
  /// Where kernels can use it, as LogicalBuffer::takers(). Not where the device was given the
  /// buffer's memory at the host before there was an image, and makes none of such memory.
  BackendMask takers() const;
  Result<backends::Memory*> device_memory(uint32_t backend);

 private:
  BackendSet& backends_;
  const BufferView view_;  // first: the vendors' images go before their buffers
  const backends::ImageShape shape_;
  const BackendMask takers_;  // as far as its format and size decide that
  Mutex mutex_;
  struct Made {
    std::unique_ptr<backends::Memory> image;
    uint32_t memories_gone = 0;  // of the buffer, before
  };
  std::map<uint32_t, Made> memories_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::scheduler
