// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <set>
#include <sstream>

#include "fixtures.h"

namespace tutti::api_tests {
namespace {

// What a query returns: a single value of that many bytes, an array of such values, or text.
enum class Shape { kValue, kArray, kText };

struct DeviceQuery {
  cl_device_info param;
  const char* name;
  Shape shape;
  size_t size;
  int since;  // first version, as in device_version()
};

#define VALUE(param, type, since) \
  DeviceQuery { param, #param, Shape::kValue, sizeof(type), since }
#define ARRAY(param, type, since) \
  DeviceQuery { param, #param, Shape::kArray, sizeof(type), since }
#define TEXT(param, since) \
  DeviceQuery { param, #param, Shape::kText, 1, since }

// Table "List of supported param_names by clGetDeviceInfo", in its order.
const DeviceQuery kQueries[] = {
    VALUE(CL_DEVICE_TYPE, cl_device_type, 100),
    VALUE(CL_DEVICE_VENDOR_ID, cl_uint, 100),
    VALUE(CL_DEVICE_MAX_COMPUTE_UNITS, cl_uint, 100),
    VALUE(CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS, cl_uint, 100),
    ARRAY(CL_DEVICE_MAX_WORK_ITEM_SIZES, size_t, 100),
    VALUE(CL_DEVICE_MAX_WORK_GROUP_SIZE, size_t, 100),
    VALUE(CL_DEVICE_PREFERRED_VECTOR_WIDTH_CHAR, cl_uint, 100),
    VALUE(CL_DEVICE_PREFERRED_VECTOR_WIDTH_SHORT, cl_uint, 100),
    VALUE(CL_DEVICE_PREFERRED_VECTOR_WIDTH_INT, cl_uint, 100),
    VALUE(CL_DEVICE_PREFERRED_VECTOR_WIDTH_LONG, cl_uint, 100),
    VALUE(CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT, cl_uint, 100),
    VALUE(CL_DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE, cl_uint, 100),
    VALUE(CL_DEVICE_PREFERRED_VECTOR_WIDTH_HALF, cl_uint, 110),
    VALUE(CL_DEVICE_NATIVE_VECTOR_WIDTH_CHAR, cl_uint, 110),
    VALUE(CL_DEVICE_NATIVE_VECTOR_WIDTH_SHORT, cl_uint, 110),
    VALUE(CL_DEVICE_NATIVE_VECTOR_WIDTH_INT, cl_uint, 110),
    VALUE(CL_DEVICE_NATIVE_VECTOR_WIDTH_LONG, cl_uint, 110),
    VALUE(CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, cl_uint, 110),
    VALUE(CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE, cl_uint, 110),
    VALUE(CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF, cl_uint, 110),
    VALUE(CL_DEVICE_MAX_CLOCK_FREQUENCY, cl_uint, 100),
    VALUE(CL_DEVICE_ADDRESS_BITS, cl_uint, 100),
    VALUE(CL_DEVICE_MAX_MEM_ALLOC_SIZE, cl_ulong, 100),
    VALUE(CL_DEVICE_IMAGE_SUPPORT, cl_bool, 100),
    VALUE(CL_DEVICE_MAX_READ_IMAGE_ARGS, cl_uint, 100),
    VALUE(CL_DEVICE_MAX_WRITE_IMAGE_ARGS, cl_uint, 100),
    VALUE(CL_DEVICE_MAX_READ_WRITE_IMAGE_ARGS, cl_uint, 200),
    TEXT(CL_DEVICE_IL_VERSION, 210),
    ARRAY(CL_DEVICE_ILS_WITH_VERSION, cl_name_version, 300),
    VALUE(CL_DEVICE_IMAGE2D_MAX_WIDTH, size_t, 100),
    VALUE(CL_DEVICE_IMAGE2D_MAX_HEIGHT, size_t, 100),
    VALUE(CL_DEVICE_IMAGE3D_MAX_WIDTH, size_t, 100),
    VALUE(CL_DEVICE_IMAGE3D_MAX_HEIGHT, size_t, 100),
    VALUE(CL_DEVICE_IMAGE3D_MAX_DEPTH, size_t, 100),
    VALUE(CL_DEVICE_IMAGE_MAX_BUFFER_SIZE, size_t, 120),
    VALUE(CL_DEVICE_IMAGE_MAX_ARRAY_SIZE, size_t, 120),
    VALUE(CL_DEVICE_MAX_SAMPLERS, cl_uint, 100),
    VALUE(CL_DEVICE_IMAGE_PITCH_ALIGNMENT, cl_uint, 200),
    VALUE(CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT, cl_uint, 200),
    VALUE(CL_DEVICE_MAX_PIPE_ARGS, cl_uint, 200),
    VALUE(CL_DEVICE_PIPE_MAX_ACTIVE_RESERVATIONS, cl_uint, 200),
    VALUE(CL_DEVICE_PIPE_MAX_PACKET_SIZE, cl_uint, 200),
    VALUE(CL_DEVICE_MAX_PARAMETER_SIZE, size_t, 100),
    VALUE(CL_DEVICE_MEM_BASE_ADDR_ALIGN, cl_uint, 100),
    VALUE(CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE, cl_uint, 100),
    VALUE(CL_DEVICE_SINGLE_FP_CONFIG, cl_device_fp_config, 100),
    VALUE(CL_DEVICE_DOUBLE_FP_CONFIG, cl_device_fp_config, 120),
    VALUE(CL_DEVICE_GLOBAL_MEM_CACHE_TYPE, cl_device_mem_cache_type, 100),
    VALUE(CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE, cl_uint, 100),
    VALUE(CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, cl_ulong, 100),
    VALUE(CL_DEVICE_GLOBAL_MEM_SIZE, cl_ulong, 100),
    VALUE(CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE, cl_ulong, 100),
    VALUE(CL_DEVICE_MAX_CONSTANT_ARGS, cl_uint, 100),
    VALUE(CL_DEVICE_MAX_GLOBAL_VARIABLE_SIZE, size_t, 200),
    VALUE(CL_DEVICE_GLOBAL_VARIABLE_PREFERRED_TOTAL_SIZE, size_t, 200),
    VALUE(CL_DEVICE_LOCAL_MEM_TYPE, cl_device_local_mem_type, 100),
    VALUE(CL_DEVICE_LOCAL_MEM_SIZE, cl_ulong, 100),
    VALUE(CL_DEVICE_ERROR_CORRECTION_SUPPORT, cl_bool, 100),
    VALUE(CL_DEVICE_HOST_UNIFIED_MEMORY, cl_bool, 110),
    VALUE(CL_DEVICE_PROFILING_TIMER_RESOLUTION, size_t, 100),
    VALUE(CL_DEVICE_ENDIAN_LITTLE, cl_bool, 100),
    VALUE(CL_DEVICE_AVAILABLE, cl_bool, 100),
    VALUE(CL_DEVICE_COMPILER_AVAILABLE, cl_bool, 100),
    VALUE(CL_DEVICE_LINKER_AVAILABLE, cl_bool, 120),
    VALUE(CL_DEVICE_EXECUTION_CAPABILITIES, cl_device_exec_capabilities, 100),
    VALUE(CL_DEVICE_QUEUE_ON_HOST_PROPERTIES, cl_command_queue_properties, 100),
    VALUE(CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES, cl_command_queue_properties, 200),
    VALUE(CL_DEVICE_QUEUE_ON_DEVICE_PREFERRED_SIZE, cl_uint, 200),
    VALUE(CL_DEVICE_QUEUE_ON_DEVICE_MAX_SIZE, cl_uint, 200),
    VALUE(CL_DEVICE_MAX_ON_DEVICE_QUEUES, cl_uint, 200),
    VALUE(CL_DEVICE_MAX_ON_DEVICE_EVENTS, cl_uint, 200),
    TEXT(CL_DEVICE_BUILT_IN_KERNELS, 120),
    ARRAY(CL_DEVICE_BUILT_IN_KERNELS_WITH_VERSION, cl_name_version, 300),
    VALUE(CL_DEVICE_PLATFORM, cl_platform_id, 100),
    TEXT(CL_DEVICE_NAME, 100),
    TEXT(CL_DEVICE_VENDOR, 100),
    TEXT(CL_DRIVER_VERSION, 100),
    TEXT(CL_DEVICE_PROFILE, 100),
    TEXT(CL_DEVICE_VERSION, 100),
    VALUE(CL_DEVICE_NUMERIC_VERSION, cl_version, 300),
    TEXT(CL_DEVICE_OPENCL_C_VERSION, 110),
    ARRAY(CL_DEVICE_OPENCL_C_ALL_VERSIONS, cl_name_version, 300),
    ARRAY(CL_DEVICE_OPENCL_C_FEATURES, cl_name_version, 300),
    TEXT(CL_DEVICE_EXTENSIONS, 100),
    ARRAY(CL_DEVICE_EXTENSIONS_WITH_VERSION, cl_name_version, 300),
    VALUE(CL_DEVICE_PRINTF_BUFFER_SIZE, size_t, 120),
    VALUE(CL_DEVICE_PREFERRED_INTEROP_USER_SYNC, cl_bool, 120),
    VALUE(CL_DEVICE_PARENT_DEVICE, cl_device_id, 120),
    VALUE(CL_DEVICE_PARTITION_MAX_SUB_DEVICES, cl_uint, 120),
    ARRAY(CL_DEVICE_PARTITION_PROPERTIES, cl_device_partition_property, 120),
    VALUE(CL_DEVICE_PARTITION_AFFINITY_DOMAIN, cl_device_affinity_domain, 120),
    ARRAY(CL_DEVICE_PARTITION_TYPE, cl_device_partition_property, 120),
    VALUE(CL_DEVICE_REFERENCE_COUNT, cl_uint, 120),
    VALUE(CL_DEVICE_SVM_CAPABILITIES, cl_device_svm_capabilities, 200),
    VALUE(CL_DEVICE_PREFERRED_PLATFORM_ATOMIC_ALIGNMENT, cl_uint, 200),
    VALUE(CL_DEVICE_PREFERRED_GLOBAL_ATOMIC_ALIGNMENT, cl_uint, 200),
    VALUE(CL_DEVICE_PREFERRED_LOCAL_ATOMIC_ALIGNMENT, cl_uint, 200),
    VALUE(CL_DEVICE_MAX_NUM_SUB_GROUPS, cl_uint, 210),
    VALUE(CL_DEVICE_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS, cl_bool, 210),
    VALUE(CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES, cl_device_atomic_capabilities, 300),
    VALUE(CL_DEVICE_ATOMIC_FENCE_CAPABILITIES, cl_device_atomic_capabilities, 300),
    VALUE(CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT, cl_bool, 300),
    VALUE(CL_DEVICE_WORK_GROUP_COLLECTIVE_FUNCTIONS_SUPPORT, cl_bool, 300),
    VALUE(CL_DEVICE_GENERIC_ADDRESS_SPACE_SUPPORT, cl_bool, 300),
    VALUE(CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES, cl_device_device_enqueue_capabilities, 300),
    VALUE(CL_DEVICE_PIPE_SUPPORT, cl_bool, 300),
    VALUE(CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, size_t, 300),
    TEXT(CL_DEVICE_LATEST_CONFORMANCE_VERSION_PASSED, 300),
};

class ClGetDeviceInfo : public DeviceTest {
 protected:
  template <typename T>
  T value(cl_device_info param) const {
    return value_of<T>(query_of(device_, param));
  }
  std::string text(cl_device_info param) const { return string_of(query_of(device_, param)); }
};

class ClGetDeviceInfoEach : public DeviceTest, public testing::WithParamInterface<DeviceQuery> {};

void PrintTo(const DeviceQuery& query, std::ostream* stream) { *stream << query.name; }

TEST_P(ClGetDeviceInfoEach, AnswersWithItsType) {
  const DeviceQuery& query = GetParam();
  if (query.since > device_version()) GTEST_SKIP() << "newer than the device";
  switch (query.shape) {
    case Shape::kValue:
      EXPECT_EQ(check_query(query_of(device_, query.param)).size(), query.size);
      break;
    case Shape::kArray:
      EXPECT_EQ(check_query(query_of(device_, query.param)).size() % query.size, 0u);
      break;
    case Shape::kText:
      string_of(query_of(device_, query.param));
      break;
  }
}

INSTANTIATE_TEST_SUITE_P(AllParameters, ClGetDeviceInfoEach, testing::ValuesIn(kQueries),
                         [](const testing::TestParamInfo<DeviceQuery>& each) {
                           return std::string(each.param.name);
                         });

TEST_F(ClGetDeviceInfo, Identity) {
  EXPECT_EQ(value<cl_platform_id>(CL_DEVICE_PLATFORM), platform_);
  EXPECT_EQ(value<cl_device_id>(CL_DEVICE_PARENT_DEVICE), nullptr);
  // "If the device is a root-level device, a reference count of one is returned."
  EXPECT_EQ(value<cl_uint>(CL_DEVICE_REFERENCE_COUNT), 1u);
  EXPECT_FALSE(text(CL_DEVICE_NAME).empty());
  EXPECT_FALSE(text(CL_DEVICE_VENDOR).empty());
  EXPECT_FALSE(text(CL_DRIVER_VERSION).empty());
  EXPECT_EQ(text(CL_DEVICE_VERSION).compare(0, 7, "OpenCL "), 0);
  EXPECT_EQ(text(CL_DEVICE_OPENCL_C_VERSION).compare(0, 9, "OpenCL C "), 0);
}

TEST_F(ClGetDeviceInfo, LatestConformanceVersionIsADate) {
  if (device_version() < 300) GTEST_SKIP() << "an OpenCL 3.0 query";
  const std::string version = text(CL_DEVICE_LATEST_CONFORMANCE_VERSION_PASSED);
  int year = 0, month = 0, day = 0, number = 0, end = 0;
  ASSERT_EQ(sscanf(version.c_str(), "v%4d-%2d-%2d-%2d%n", &year, &month, &day, &number, &end), 4)
      << version;
  EXPECT_EQ(static_cast<size_t>(end), version.size()) << version;
  EXPECT_TRUE(month >= 1 && month <= 12 && day >= 1 && day <= 31) << version;
}

TEST_F(ClGetDeviceInfo, TypeIsOne) {
  // The specification allows no unions beside CL_DEVICE_TYPE_DEFAULT.
  const auto type = value<cl_device_type>(CL_DEVICE_TYPE) & ~CL_DEVICE_TYPE_DEFAULT;
  EXPECT_TRUE(type == CL_DEVICE_TYPE_CPU || type == CL_DEVICE_TYPE_GPU ||
              type == CL_DEVICE_TYPE_ACCELERATOR || type == CL_DEVICE_TYPE_CUSTOM)
      << type;
}

// The minimum values of the specification's table, for a full profile.
TEST_F(ClGetDeviceInfo, MinimumLimits) {
  if (text(CL_DEVICE_PROFILE) != "FULL_PROFILE") GTEST_SKIP() << "full profile only";
  EXPECT_GE(value<cl_uint>(CL_DEVICE_MAX_COMPUTE_UNITS), 1u);
  const auto dimensions = value<cl_uint>(CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS);
  EXPECT_GE(dimensions, 3u);
  const auto sizes = array_of<size_t>(query_of(device_, CL_DEVICE_MAX_WORK_ITEM_SIZES));
  EXPECT_EQ(sizes.size(), dimensions);
  for (const size_t size : sizes) EXPECT_GE(size, 1u);
  EXPECT_GE(value<size_t>(CL_DEVICE_MAX_WORK_GROUP_SIZE), 1u);
  const auto bits = value<cl_uint>(CL_DEVICE_ADDRESS_BITS);
  EXPECT_TRUE(bits == 32 || bits == 64) << bits;
  // MAX_MEM_ALLOC_SIZE: at least max(min(1 GiB, a quarter of the global memory), 32 MiB)
  const auto global_size = value<cl_ulong>(CL_DEVICE_GLOBAL_MEM_SIZE);
  const cl_ulong least = std::max(std::min(cl_ulong{1} << 30, global_size / 4), cl_ulong{32} << 20);
  EXPECT_GE(value<cl_ulong>(CL_DEVICE_MAX_MEM_ALLOC_SIZE), least);
  EXPECT_LE(value<cl_ulong>(CL_DEVICE_MAX_MEM_ALLOC_SIZE), global_size);
  EXPECT_GE(value<size_t>(CL_DEVICE_MAX_PARAMETER_SIZE), 1024u);
  // The size of the largest built-in type, long16, in bits
  EXPECT_GE(value<cl_uint>(CL_DEVICE_MEM_BASE_ADDR_ALIGN), 1024u);
  EXPECT_GE(value<cl_uint>(CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE), 128u);
  const auto single = value<cl_device_fp_config>(CL_DEVICE_SINGLE_FP_CONFIG);
  EXPECT_NE(single & CL_FP_INF_NAN, 0u);
  EXPECT_NE(single & CL_FP_ROUND_TO_NEAREST, 0u);
  EXPECT_GE(value<cl_ulong>(CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE), 64u * 1024);
  EXPECT_GE(value<cl_uint>(CL_DEVICE_MAX_CONSTANT_ARGS), 8u);
  EXPECT_GE(value<cl_ulong>(CL_DEVICE_LOCAL_MEM_SIZE), 32u * 1024);
  EXPECT_EQ(value<cl_bool>(CL_DEVICE_AVAILABLE), cl_bool{CL_TRUE});
  EXPECT_EQ(value<cl_bool>(CL_DEVICE_COMPILER_AVAILABLE), cl_bool{CL_TRUE});
  const auto execution = value<cl_device_exec_capabilities>(CL_DEVICE_EXECUTION_CAPABILITIES);
  EXPECT_NE(execution & CL_EXEC_KERNEL, 0u);
  const auto queues = value<cl_command_queue_properties>(CL_DEVICE_QUEUE_ON_HOST_PROPERTIES);
  EXPECT_NE(queues & CL_QUEUE_PROFILING_ENABLE, 0u);
  EXPECT_GE(value<size_t>(CL_DEVICE_PRINTF_BUFFER_SIZE), 1024u * 1024);
}

TEST_F(ClGetDeviceInfo, DoubleSupportIsConsistent) {
  const bool extension =
      (" " + text(CL_DEVICE_EXTENSIONS) + " ").find(" cl_khr_fp64 ") != std::string::npos;
  const auto config = value<cl_device_fp_config>(CL_DEVICE_DOUBLE_FP_CONFIG);
  EXPECT_EQ(extension, config != 0);
  EXPECT_EQ(extension, value<cl_uint>(CL_DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE) != 0);
  EXPECT_EQ(extension, value<cl_uint>(CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE) != 0);
}

TEST_F(ClGetDeviceInfo, VersionsAreConsistent) {
  if (device_version() < 300) GTEST_SKIP() << "OpenCL 3.0 queries";
  const auto version = value<cl_version>(CL_DEVICE_NUMERIC_VERSION);
  EXPECT_EQ(static_cast<int>(CL_VERSION_MAJOR(version) * 100 + CL_VERSION_MINOR(version) * 10),
            device_version());
  const auto all = array_of<cl_name_version>(query_of(device_, CL_DEVICE_OPENCL_C_ALL_VERSIONS));
  // "CL_DEVICE_OPENCL_C_ALL_VERSIONS: an OpenCL 3.0 device must return at least 3.0 and 1.2"
  std::set<std::pair<cl_uint, cl_uint>> found;
  for (const cl_name_version& entry : all) {
    EXPECT_STREQ(entry.name, "OpenCL C");
    found.insert({CL_VERSION_MAJOR(entry.version), CL_VERSION_MINOR(entry.version)});
  }
  EXPECT_EQ(found.count({3, 0}), 1u);
  EXPECT_EQ(found.count({1, 2}), 1u);
  EXPECT_EQ(found.size(), all.size()) << "a version is listed twice";
}

TEST_F(ClGetDeviceInfo, ExtensionListsAgree) {
  if (device_version() < 300) GTEST_SKIP() << "an OpenCL 3.0 query";
  std::set<std::string> words;
  std::istringstream stream(text(CL_DEVICE_EXTENSIONS));
  for (std::string word; stream >> word;) EXPECT_TRUE(words.insert(word).second) << word;
  std::set<std::string> names;
  for (const auto& entry :
       array_of<cl_name_version>(query_of(device_, CL_DEVICE_EXTENSIONS_WITH_VERSION))) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_NE(entry.version, 0u) << entry.name;
  }
  EXPECT_EQ(words, names);
}

TEST_F(ClGetDeviceInfo, MandatoryExtensions) {
  // OpenCL 1.2 section 9.1: these are core for every device, and must be listed.
  const std::string extensions = " " + text(CL_DEVICE_EXTENSIONS) + " ";
  for (const char* name :
       {" cl_khr_global_int32_base_atomics ", " cl_khr_global_int32_extended_atomics ",
        " cl_khr_local_int32_base_atomics ", " cl_khr_local_int32_extended_atomics ",
        " cl_khr_byte_addressable_store "}) {
    EXPECT_NE(extensions.find(name), std::string::npos) << name;
  }
}

TEST_F(ClGetDeviceInfo, FeaturesAreConsistent) {
  if (device_version() < 300) GTEST_SKIP() << "an OpenCL 3.0 query";
  std::set<std::string> features;
  for (const auto& entry :
       array_of<cl_name_version>(query_of(device_, CL_DEVICE_OPENCL_C_FEATURES))) {
    EXPECT_TRUE(features.insert(entry.name).second) << entry.name;
  }
  EXPECT_EQ(features.count("__opencl_c_fp64") == 1,
            value<cl_device_fp_config>(CL_DEVICE_DOUBLE_FP_CONFIG) != 0);
  EXPECT_EQ(features.count("__opencl_c_images") == 1,
            value<cl_bool>(CL_DEVICE_IMAGE_SUPPORT) == CL_TRUE);
  EXPECT_EQ(features.count("__opencl_c_pipes") == 1,
            value<cl_bool>(CL_DEVICE_PIPE_SUPPORT) == CL_TRUE);
  EXPECT_EQ(features.count("__opencl_c_generic_address_space") == 1,
            value<cl_bool>(CL_DEVICE_GENERIC_ADDRESS_SPACE_SUPPORT) == CL_TRUE);
  EXPECT_EQ(features.count("__opencl_c_work_group_collective_functions") == 1,
            value<cl_bool>(CL_DEVICE_WORK_GROUP_COLLECTIVE_FUNCTIONS_SUPPORT) == CL_TRUE);
  EXPECT_EQ(
      features.count("__opencl_c_device_enqueue") == 1,
      value<cl_device_device_enqueue_capabilities>(CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES) != 0);
}

TEST_F(ClGetDeviceInfo, AtomicMinima) {
  if (device_version() < 300) GTEST_SKIP() << "OpenCL 3.0 queries";
  // "The mandated minimum capability is CL_DEVICE_ATOMIC_ORDER_RELAXED |
  // CL_DEVICE_ATOMIC_SCOPE_WORK_GROUP", and with ORDER_ACQ_REL for fences.
  const auto memory = value<cl_device_atomic_capabilities>(CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES);
  EXPECT_NE(memory & CL_DEVICE_ATOMIC_ORDER_RELAXED, 0u);
  EXPECT_NE(memory & CL_DEVICE_ATOMIC_SCOPE_WORK_GROUP, 0u);
  const auto fences = value<cl_device_atomic_capabilities>(CL_DEVICE_ATOMIC_FENCE_CAPABILITIES);
  EXPECT_NE(fences & CL_DEVICE_ATOMIC_ORDER_RELAXED, 0u);
  EXPECT_NE(fences & CL_DEVICE_ATOMIC_ORDER_ACQ_REL, 0u);
  EXPECT_NE(fences & CL_DEVICE_ATOMIC_SCOPE_WORK_GROUP, 0u);
}

TEST_F(ClGetDeviceInfo, PartitionIsConsistent) {
  const auto kinds =
      array_of<cl_device_partition_property>(query_of(device_, CL_DEVICE_PARTITION_PROPERTIES));
  // "If the device cannot be partitioned [...] a value of 0 will be returned."
  ASSERT_FALSE(kinds.empty());
  if (kinds[0] == 0) {
    EXPECT_LE(value<cl_uint>(CL_DEVICE_PARTITION_MAX_SUB_DEVICES), 1u);
  }
  // A root device was made by no partition: nothing, or a single 0.
  for (const auto kind :
       array_of<cl_device_partition_property>(query_of(device_, CL_DEVICE_PARTITION_TYPE))) {
    EXPECT_EQ(kind, 0);
  }
}

TEST_F(ClGetDeviceInfo, RejectsUnknownParameter) {
  // "CL_INVALID_VALUE if param_name is not one of the supported values."
  size_t size = 0;
  EXPECT_CL(CL_INVALID_VALUE, clGetDeviceInfo(device_, 0xdead, 0, nullptr, &size));
  EXPECT_CL(CL_INVALID_VALUE, clGetDeviceInfo(device_, CL_PLATFORM_NAME, 0, nullptr, &size));
}

}  // namespace
}  // namespace tutti::api_tests
