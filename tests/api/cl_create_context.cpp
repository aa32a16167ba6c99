// SPDX-License-Identifier: Apache-2.0
#include "fixtures.h"

namespace tutti::api_tests {
namespace {

void CL_CALLBACK ignore_error(const char*, const void*, size_t, void*) {}

class ClCreateContext : public DeviceTest {
 protected:
  cl_int create(const cl_context_properties* properties, cl_uint count, const cl_device_id* devices,
                bool notify = false, void* user_data = nullptr) {
    cl_int code = CL_SUCCESS;
    const cl_context context = clCreateContext(properties, count, devices,
                                               notify ? ignore_error : nullptr, user_data, &code);
    if (code == CL_SUCCESS) {
      EXPECT_SUCCESS(clReleaseContext(context));
    } else {
      EXPECT_EQ(context, nullptr);
    }
    return code;
  }
  cl_int create_from_type(const cl_context_properties* properties, cl_device_type type,
                          bool notify = false, void* user_data = nullptr) {
    cl_int code = CL_SUCCESS;
    const cl_context context = clCreateContextFromType(
        properties, type, notify ? ignore_error : nullptr, user_data, &code);
    if (code == CL_SUCCESS) {
      EXPECT_SUCCESS(clReleaseContext(context));
    } else {
      EXPECT_EQ(context, nullptr);
    }
    return code;
  }

  const cl_context_properties own_platform_[3] = {
      CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(platform_), 0};
};

using ClCreateContextFromType = ClCreateContext;

TEST_F(ClCreateContext, WithAndWithoutProperties) {
  EXPECT_SUCCESS(create(own_platform_, 1, &device_));
  EXPECT_SUCCESS(create(nullptr, 1, &device_));
  const cl_context_properties empty[] = {0};
  EXPECT_SUCCESS(create(empty, 1, &device_));
}

TEST_F(ClCreateContext, WithNotification) {
  int data = 0;
  EXPECT_SUCCESS(create(own_platform_, 1, &device_, true, &data));
  EXPECT_SUCCESS(create(own_platform_, 1, &device_, true, nullptr));
}

TEST_F(ClCreateContext, ErrorCodeMayBeNull) {
  const cl_context context = clCreateContext(own_platform_, 1, &device_, nullptr, nullptr, nullptr);
  ASSERT_NE(context, nullptr);
  EXPECT_SUCCESS(clReleaseContext(context));
  EXPECT_EQ(clCreateContext(own_platform_, 0, &device_, nullptr, nullptr, nullptr), nullptr);
}

TEST_F(ClCreateContext, DuplicateDevicesAreIgnored) {
  // "Duplicate devices specified in devices are ignored."
  const cl_device_id twice[] = {device_, device_};
  cl_int code = CL_SUCCESS;
  const Context context(clCreateContext(own_platform_, 2, twice, nullptr, nullptr, &code));
  ASSERT_SUCCESS(code);
  EXPECT_EQ(value_of<cl_uint>(query_of(context, CL_CONTEXT_NUM_DEVICES)), 1u);
  EXPECT_EQ(array_of<cl_device_id>(query_of(context, CL_CONTEXT_DEVICES)),
            std::vector<cl_device_id>{device_});
}

TEST_F(ClCreateContext, RejectsBadDeviceLists) {
  // "CL_INVALID_VALUE if devices is NULL; if num_devices is equal to zero"
  EXPECT_CL(CL_INVALID_VALUE, create(own_platform_, 0, &device_));
  EXPECT_CL(CL_INVALID_VALUE, create(own_platform_, 1, nullptr));
  // "CL_INVALID_DEVICE if any device in devices is not a valid device."
  const cl_device_id with_null[] = {device_, nullptr};
  EXPECT_CL(CL_INVALID_DEVICE, create(own_platform_, 2, with_null));
}

TEST_F(ClCreateContext, RejectsUserDataWithoutCallback) {
  // "CL_INVALID_VALUE if pfn_notify is NULL but user_data is not NULL."
  int data = 0;
  EXPECT_CL(CL_INVALID_VALUE, create(own_platform_, 1, &device_, false, &data));
}

TEST_F(ClCreateContext, RejectsBadProperties) {
  // "CL_INVALID_PROPERTY if a context property name in properties is not a supported property
  // name, if the value specified for a supported property name is not valid, or if the same
  // property name is specified more than once."
  const auto platform = reinterpret_cast<cl_context_properties>(platform_);
  const cl_context_properties unknown[] = {CL_CONTEXT_PLATFORM, platform, 0x7777, 1, 0};
  EXPECT_CL(CL_INVALID_PROPERTY, create(unknown, 1, &device_));
  const cl_context_properties repeated[] = {CL_CONTEXT_PLATFORM, platform, CL_CONTEXT_PLATFORM,
                                            platform, 0};
  EXPECT_CL(CL_INVALID_PROPERTY, create(repeated, 1, &device_));
}

TEST_F(ClCreateContext, RejectsNullPlatform) {
  // "CL_INVALID_PLATFORM [...] if the platform value specified in properties is not a valid
  // platform."
  const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, 0, 0};
  EXPECT_CL(CL_INVALID_PLATFORM, create(properties, 1, &device_));
}

TEST_F(ClCreateContext, InteropUserSync) {
  const auto platform = reinterpret_cast<cl_context_properties>(platform_);
  const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, platform,
                                              CL_CONTEXT_INTEROP_USER_SYNC, CL_FALSE, 0};
  EXPECT_SUCCESS(create(properties, 1, &device_));
}

TEST_F(ClCreateContextFromType, MatchingTypes) {
  EXPECT_SUCCESS(create_from_type(own_platform_, CL_DEVICE_TYPE_ALL));
  EXPECT_SUCCESS(create_from_type(own_platform_, CL_DEVICE_TYPE_DEFAULT));
  const auto type =
      value_of<cl_device_type>(query_of(device_, CL_DEVICE_TYPE)) & ~CL_DEVICE_TYPE_DEFAULT;
  EXPECT_SUCCESS(create_from_type(own_platform_, type));
  int data = 0;
  EXPECT_SUCCESS(create_from_type(own_platform_, type, true, &data));
}

TEST_F(ClCreateContextFromType, HasTheDevicesOfThatType) {
  cl_int code = CL_SUCCESS;
  const Context context(
      clCreateContextFromType(own_platform_, CL_DEVICE_TYPE_ALL, nullptr, nullptr, &code));
  ASSERT_SUCCESS(code);
  cl_uint count = 0;
  ASSERT_SUCCESS(clGetDeviceIDs(platform_, CL_DEVICE_TYPE_ALL, 0, nullptr, &count));
  EXPECT_EQ(value_of<cl_uint>(query_of(context, CL_CONTEXT_NUM_DEVICES)), count);
}

TEST_F(ClCreateContextFromType, RejectsMissingType) {
  // "CL_DEVICE_NOT_FOUND if no devices that match device_type [...] were found."
  for (const cl_device_type type : {CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_ACCELERATOR}) {
    cl_uint count = 0;
    if (clGetDeviceIDs(platform_, type, 0, nullptr, &count) != CL_DEVICE_NOT_FOUND) continue;
    EXPECT_CL(CL_DEVICE_NOT_FOUND, create_from_type(own_platform_, type));
  }
}

TEST_F(ClCreateContextFromType, RejectsBadArguments) {
  // "CL_INVALID_DEVICE_TYPE if device_type is not a valid value."
  EXPECT_CL(CL_INVALID_DEVICE_TYPE, create_from_type(own_platform_, 1u << 20));
  // "CL_INVALID_VALUE if pfn_notify is NULL but user_data is not NULL."
  int data = 0;
  EXPECT_CL(CL_INVALID_VALUE, create_from_type(own_platform_, CL_DEVICE_TYPE_ALL, false, &data));
  // "CL_INVALID_PROPERTY if a context property name in properties is not a supported property
  // name, [...] or if the same property name is specified more than once."
  const auto platform = reinterpret_cast<cl_context_properties>(platform_);
  const cl_context_properties unknown[] = {CL_CONTEXT_PLATFORM, platform, 0x7777, 1, 0};
  EXPECT_CL(CL_INVALID_PROPERTY, create_from_type(unknown, CL_DEVICE_TYPE_ALL));
  const cl_context_properties repeated[] = {CL_CONTEXT_PLATFORM, platform, CL_CONTEXT_PLATFORM,
                                            platform, 0};
  EXPECT_CL(CL_INVALID_PROPERTY, create_from_type(repeated, CL_DEVICE_TYPE_ALL));
  // "CL_INVALID_PLATFORM [...] if the platform value is not a valid platform."
  const cl_context_properties no_platform[] = {CL_CONTEXT_PLATFORM, 0, 0};
  EXPECT_CL(CL_INVALID_PLATFORM, create_from_type(no_platform, CL_DEVICE_TYPE_ALL));
}

}  // namespace
}  // namespace tutti::api_tests
