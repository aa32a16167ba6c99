// SPDX-License-Identifier: Apache-2.0
#include "device_virtual/device.h"

#include "device_virtual/composition.h"
#include "device_virtual/platform_object.h"

namespace tutti::device_virtual {

Status Device::info(cl_device_info what, const InfoAnswer& answer) const {
  switch (what) {
    case CL_DEVICE_PLATFORM:
      return answer.value<cl_platform_id>(composition()->platform->handle());
    case CL_DEVICE_PARENT_DEVICE:
      return answer.value<cl_device_id>(nullptr);
    case CL_DEVICE_REFERENCE_COUNT:
      return answer.value<cl_uint>(1);  // "If the device is a root-level device, a value of one"
    default:
      break;
  }
  const auto found = capabilities_.answers.find(what);
  if (found == capabilities_.answers.end()) return unknown_query();
  return answer.bytes(found->second.data(), found->second.size());
}

bool Device::matches(cl_device_type type) const {
  // The only device is the default one; CUSTOM is not part of ALL.
  return type == CL_DEVICE_TYPE_ALL || (type & (CL_DEVICE_TYPE_DEFAULT | capabilities_.type)) != 0;
}

}  // namespace tutti::device_virtual
