// SPDX-License-Identifier: Apache-2.0
// A buffer, sub-buffer, image or pipe: a window on a LogicalBuffer, with what the application may
// ask about it, and the record of what it has mapped. An image's offsets and sizes are bytes of its
// host's copy (or of the buffer that it is made from). Queued commands hold the LogicalBuffer, not
// this object. Thread-safe.
#pragma once

#include <CL/cl.h>

#include <memory>
#include <optional>
#include <vector>

#include "base/thread_annotations.h"
#include "device_virtual/context.h"
#include "device_virtual/handle.h"
#include "device_virtual/info.h"
#include "device_virtual/kernel_arguments.h"
#include "scheduler/memory/buffer_image.h"
#include "scheduler/memory/logical_buffer.h"

namespace tutti::device_virtual {

inline constexpr cl_map_flags kMapForWriting = CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION;

class Buffer : public Handle<Buffer, _cl_mem, Kind::kMemory> {
 public:
  using Destructor = void(CL_CALLBACK*)(cl_mem, void*);

  /// One clEnqueueMapBuffer that has not been unmapped; offsets are bytes from this object's begin.
  struct Mapping {
    void* pointer = nullptr;
    uint64_t offset = 0;
    uint64_t size = 0;
    cl_map_flags flags = 0;
    backends::ImageBox box{};  // images: the region; buffers: the range, as a line
    bool overlaps(const Mapping& other) const;
  };

  struct Options {
    cl_mem_flags flags = 0;  // complete: inherited and default flags filled in
    uint64_t size = 0;
    void* host_ptr = nullptr;
    std::optional<backends::ImageShape> image{};  // size is its span() then
    std::optional<backends::PipeShape> pipe{};    // likewise
    bool device_address = false;                  // as has_device_address()
    std::vector<cl_mem_properties> external;      // of the vendor's, of memory that is imported
    std::optional<backends::GlObject> gl{};       // likewise, whose size and shape it has then
    std::vector<cl_mem_properties> properties;    // as given, with the closing 0; empty if NULL
  };
  static Result<Buffer*> create(Context& context, Options options);
  /// `flags` as for create(); the range lies within this buffer, which is not a sub-buffer.
  Result<Buffer*> create_sub_buffer(cl_mem_flags flags, uint64_t origin, uint64_t size);
  /// An image of `shape` over the begin of this buffer; `flags` as for create().
  Result<Buffer*> create_image(cl_mem_flags flags, const backends::ImageShape& shape,
                               std::vector<cl_mem_properties> properties);
  ~Buffer();

  Context& context() const { return *context_; }
  cl_mem_flags flags() const { return flags_; }
  uint64_t size() const { return view_.size; }
  /// Bytes from the begin of the memory, which is the parent buffer's or, of a buffer over shared
  /// virtual memory, that.
  uint64_t origin() const { return view_.origin; }
  bool is_sub_buffer() const { return parent_ && !shape_; }
  /// It has an address on the device that stays (cl_ext_buffer_device_address).
  bool has_device_address() const { return device_address_; }
  /// Null for all else.
  const backends::ImageShape* image() const { return shape_ ? &*shape_ : nullptr; }
  const backends::PipeShape* pipe() const { return pipe_ ? &*pipe_ : nullptr; }
  /// The image made from a buffer; null for all else.
  const Ref<scheduler::BufferImage>& buffer_image() const { return buffer_image_; }
  cl_mem_object_type type() const {
    return shape_ ? shape_->type : pipe_ ? CL_MEM_OBJECT_PIPE : CL_MEM_OBJECT_BUFFER;
  }
  /// Do both show (parts of) the same memory?
  bool same_storage(const Buffer& other) const { return view_.buffer == other.view_.buffer; }
  const scheduler::BufferView& view() const { return view_; }

  /// Memory of another interface; no part of it.
  bool is_external() const { return !parent_ && view_.buffer->external() != nullptr; }
  /// Which that is.
  backends::ExternalKind external_kind() const {
    return gl_ ? backends::ExternalKind::kGl : backends::ExternalKind::kHandle;
  }
  /// The object of OpenGL that it is; null for all else.
  const backends::GlObject* gl_object() const { return gl_ ? &*gl_ : nullptr; }

  /// The pointer that a map of this offset gives; the host's copy is allocated if need be.
  Result<void*> pointer_at(uint64_t offset);
  /// Where its begin is in the host's copy, which of shared virtual memory may be elsewhere.
  Result<void*> in_host_copy();
  /// CL_INVALID_OPERATION when it would overlap another one, both for writing.
  Status add_mapping(const Mapping& mapping);
  /// Puts back what take_mapping gave.
  void restore_mapping(const Mapping& mapping);
  /// The newest mapping with that pointer is forgotten and returned; nothing if there is none.
  std::optional<Mapping> take_mapping(const void* pointer);

  void add_destructor(Destructor function, void* user_data);
  /// The kernel arguments that name this object; they forget it when it is released.
  ArgumentHolders& argument_holders() { return argument_holders_; }
  void last_public_release() { argument_holders_.forget(handle()); }
  Status info(cl_mem_info what, const InfoAnswer& answer);
  /// This is an image.
  Status image_info(cl_image_info what, const InfoAnswer& answer) const;
  /// This is a pipe.
  Status pipe_info(cl_pipe_info what, const InfoAnswer& answer) const;

 private:
  struct Afterlife;  // lives as long as the memory, to call the destructor callbacks at its end

  Buffer(Context& context, Ref<Buffer> parent, Options options, scheduler::BufferView view);

  const Ref<Context> context_;  // first, so that the engine outlives the memory
  const Ref<Buffer> parent_;    // the buffer of a sub-buffer or of an image made from one
  const cl_mem_flags flags_;
  void* const host_ptr_;  // USE_HOST_PTR only
  const std::optional<backends::ImageShape> shape_;
  const std::optional<backends::PipeShape> pipe_;
  const bool device_address_;
  const std::optional<backends::GlObject> gl_;
  const std::vector<cl_mem_properties> properties_;
  // The callbacks run when the memory itself has gone (the user's host_ptr may be freed then):
  // before view_ in this list, so it goes after it; commands in flight hold it too, through the
  // memory.
  std::shared_ptr<Afterlife> afterlife_;
  const scheduler::BufferView view_;
  const Ref<scheduler::BufferImage> buffer_image_;
  Mutex mutex_;
  std::vector<Mapping> mappings_ TUTTI_GUARDED_BY(mutex_);
  ArgumentHolders argument_holders_;
};

}  // namespace tutti::device_virtual
