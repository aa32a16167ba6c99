// SPDX-License-Identifier: Apache-2.0
// Names of OpenCL's constants, as the headers have them that this was built with. Pure functions;
// the tables are constant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::record {

/// The constant of this family ("cl_channel_order"; extensions' families begin likewise) that has
/// the value; empty when there is none.
std::string_view constant_name(std::string_view family, uint64_t value);
/// "CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR", and bits without a name as one number.
std::string flags_text(std::string_view family, uint64_t value);
/// Argument `index` of the function `call`, where it is a constant, flags, an image's format or
/// description, or a list of properties; else empty.
std::string constant_text(std::string_view call, size_t index, uint64_t value);
std::string constant_text(std::string_view call, size_t index, const std::vector<uint64_t>& values);

}  // namespace tutti::record
