// SPDX-License-Identifier: Apache-2.0
// The code of the library fmt, once. Debian has it as a shared library, and the driver, a guest in
// somebody's process, depends on nobody's; with FMT_HEADER_ONLY each file that formats anything
// would compile all of it again, at six times the cost.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

// What its headers declare and leave to the library; fmt 9 does not leave the first to it.
template void vformat_to(buffer<char>&, string_view, basic_format_args<buffer_context<char>>,
                         locale_ref);
template auto dragonbox::to_decimal(float) noexcept -> dragonbox::decimal_fp<float>;
template auto dragonbox::to_decimal(double) noexcept -> dragonbox::decimal_fp<double>;
template locale_ref::locale_ref(const std::locale&);
template auto locale_ref::get<std::locale>() const -> std::locale;
template auto thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template auto decimal_point_impl<char>(locale_ref) -> char;

}  // namespace detail
FMT_END_NAMESPACE
