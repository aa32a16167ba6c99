// SPDX-License-Identifier: Apache-2.0
#include "device_virtual/compiled_unit.h"

#include <new>

namespace tutti::device_virtual {

using backends::ProgramForm;

namespace {

/// `call` returns a BuildResult or ObjectResult, whose product is `product`.
template <typename Call, typename Product>
auto guarded(Call&& call, Product&& product, cl_int failure) noexcept {
  decltype(call()) result;
  try {
    result = call();
  } catch (const std::bad_alloc&) {
    product(result).reset();
    result.code = CL_OUT_OF_HOST_MEMORY;
  } catch (...) {
    product(result).reset();
    result.code = failure;
  }
  if (product(result) == nullptr && result.code == CL_SUCCESS) result.code = failure;
  return result;
}

constexpr const char* kQuiet = " -w";  // our compiler has warned

constexpr auto kModule = [](backends::BuildResult & result) -> auto& { return result.module; };
constexpr auto kObject = [](backends::ObjectResult & result) -> auto& { return result.object; };

}  // namespace

bool failed_by_loss(scheduler::BackendSet& backends, uint32_t index, cl_int code,
                    uint32_t renewals) {
  return code == CL_DEVICE_NOT_AVAILABLE || backends.at(index).renewals() != renewals ||
         (backends.health().lost() & scheduler::backend_bit(index)) != 0;
}

std::optional<bool> vendor_build_is_kept(const backends::Backend& backend,
                                         const std::string& source, const std::string& options) {
  return backend.build_is_kept(source, options + kQuiet);
}

backends::BuildResult vendor_build(backends::Backend& backend, const std::string& source,
                                   const std::string& options, ProgramForm form) noexcept {
  return guarded(
      [&] {
        switch (form) {
          case ProgramForm::kIl:
            return backend.build_il(source, options);
          case ProgramForm::kBuiltIn:
            return backend.take_built_in(source);
          case ProgramForm::kSource:
            break;
        }
        return backend.build(source, options + kQuiet);
      },
      kModule, CL_BUILD_PROGRAM_FAILURE);
}

backends::BuildResult vendor_load(backends::Backend& backend,
                                  std::span<const std::byte> binary) noexcept {
  return guarded([&] { return backend.load(binary); }, kModule, CL_INVALID_BINARY);
}

backends::ObjectResult vendor_compile(backends::Backend& backend, const std::string& source,
                                      const std::string& options, ProgramForm form) noexcept {
  return guarded(
      [&] {
        return form == ProgramForm::kIl ? backend.compile_il(source, options)
                                        : backend.compile(source, options + kQuiet);
      },
      kObject, CL_COMPILE_PROGRAM_FAILURE);
}

backends::BuildResult vendor_link(backends::Backend& backend,
                                  const std::vector<backends::Object*>& objects,
                                  const std::string& options) noexcept {
  return guarded([&] { return backend.link(objects, options); }, kModule, CL_LINK_PROGRAM_FAILURE);
}

Result<backends::Object*> CompiledUnit::object(scheduler::BackendSet& backends, uint32_t index,
                                               const std::string& text) {
  return objects_.get(index, [&]() -> Attempt<backends::Object> {
    const uint32_t renewals = backends.at(index).renewals();
    backends::ObjectResult result = vendor_compile(backends.at(index), text, options_, form_);
    if (result.object == nullptr && failed_by_loss(backends, index, result.code, renewals)) {
      return {nullptr, {CL_DEVICE_NOT_AVAILABLE, std::move(result.log)}, true};
    }
    return {std::move(result.object), {result.code, std::move(result.log)}};
  });
}

}  // namespace tutti::device_virtual
