// SPDX-License-Identifier: Apache-2.0
#include "platform/capability_merger.h"

#include <CL/cl_ext.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "fake_device.h"
#include "platform/identity.h"

namespace tutti::platform {
namespace {

TEST(CapabilityMerger, MemoryIsAsMuchAsTheUserWantsToBeSeen) {
  constexpr uint64_t kGiB = uint64_t{1} << 30;
  const auto sized = [](FakeDevice device, uint64_t largest, uint64_t all, bool in_host) {
    device.set<cl_ulong>(CL_DEVICE_MAX_MEM_ALLOC_SIZE, largest);
    device.set<cl_ulong>(CL_DEVICE_GLOBAL_MEM_SIZE, all);
    return in_host ? device.shares_host_memory() : device;
  };
  const std::vector<FakeDevice> devices = {
      sized(cpu(), 16 * kGiB, 64 * kGiB, true), sized(cpu(), 32 * kGiB, 60 * kGiB, true),
      sized(gpu(), 20 * kGiB, 80 * kGiB, false), sized(gpu(), 6 * kGiB, 24 * kGiB, false)};
  const auto merged = [&](MemorySize memory, uint64_t host) {
    return merge_capabilities(
        facts_of(devices), 2,
        {DeviceTypeChoice::kAuto, IdentityChoice::kAuto, "1.2.3", memory, host});
  };
  for (const auto& [memory, host, all, largest] :
       {std::tuple{MemorySize::kLargest, 64 * kGiB, 80 * kGiB, 32 * kGiB},
        std::tuple{MemorySize::kSum, 64 * kGiB, 168 * kGiB, 48 * kGiB},
        std::tuple{MemorySize::kSum, 512 * kGiB, 168 * kGiB, 168 * kGiB},
        std::tuple{MemorySize::kHost, 512 * kGiB, 384 * kGiB, 384 * kGiB},
        // Never less than the largest device says.
        std::tuple{MemorySize::kHost, 8 * kGiB, 80 * kGiB, 32 * kGiB}}) {
    const Capabilities caps = merged(memory, host);
    EXPECT_EQ(answer<cl_ulong>(caps, CL_DEVICE_GLOBAL_MEM_SIZE), all);
    EXPECT_EQ(answer<cl_ulong>(caps, CL_DEVICE_MAX_MEM_ALLOC_SIZE), largest);
    EXPECT_EQ(caps.max_allocation, largest);
    EXPECT_EQ(caps.max_undivided, 32 * kGiB);
  }
}

TEST(CapabilityMerger, LimitsAreThePrimarysMemoryMaximaUnitsASum) {
  const Capabilities caps =
      merge({cpu()
                 .set<size_t>(CL_DEVICE_MAX_WORK_GROUP_SIZE, 256)
                 .set<cl_uint>(CL_DEVICE_MAX_COMPUTE_UNITS, 8)
                 .set<cl_ulong>(CL_DEVICE_LOCAL_MEM_SIZE, 16 << 10)
                 .set<cl_ulong>(CL_DEVICE_MAX_MEM_ALLOC_SIZE, cl_ulong{8} << 30)
                 .set<cl_ulong>(CL_DEVICE_GLOBAL_MEM_SIZE, cl_ulong{16} << 30)
                 .set<cl_uint>(CL_DEVICE_MEM_BASE_ADDR_ALIGN, 4096),
             gpu()
                 .set(CL_DEVICE_MAX_WORK_ITEM_SIZES, std::array<size_t, 3>{512, 2048, 128})
                 .set<cl_ulong>(CL_DEVICE_LOCAL_MEM_SIZE, 32 << 10)});
  EXPECT_EQ(answer<cl_uint>(caps, CL_DEVICE_MAX_COMPUTE_UNITS), 12u);
  EXPECT_EQ(answer<size_t>(caps, CL_DEVICE_MAX_WORK_GROUP_SIZE), 1024u);
  EXPECT_EQ((answer<std::array<size_t, 3>>(caps, CL_DEVICE_MAX_WORK_ITEM_SIZES)),
            (std::array<size_t, 3>{512, 2048, 128}));
  EXPECT_EQ(answer<cl_ulong>(caps, CL_DEVICE_MAX_MEM_ALLOC_SIZE), cl_ulong{8} << 30);
  EXPECT_EQ(answer<cl_ulong>(caps, CL_DEVICE_GLOBAL_MEM_SIZE), cl_ulong{16} << 30);
  EXPECT_EQ(answer<cl_ulong>(caps, CL_DEVICE_LOCAL_MEM_SIZE), cl_ulong{32} << 10);
  EXPECT_EQ(answer<cl_uint>(caps, CL_DEVICE_MEM_BASE_ADDR_ALIGN), 4096u);
  EXPECT_EQ(caps.memory_alignment, 512u);
}

TEST(CapabilityMerger, HiddenArgumentIsTakenFromTheParameters) {
  EXPECT_EQ(merge({cpu()}).max_parameter_size, 4096u - 128u);
  // Never less than the specification demands.
  EXPECT_EQ(merge({cpu().set<size_t>(CL_DEVICE_MAX_PARAMETER_SIZE, 1024)}).max_parameter_size,
            1024u);
}

TEST(CapabilityMerger, ExtensionsAreThePrimarysThatWePassOn) {
  const Capabilities caps =
      merge({cpu().extensions(kBaseExtensions + " cl_khr_int64_base_atomics cl_khr_spir"),
             gpu().extensions(kBaseExtensions + " cl_khr_fp64 cl_khr_spir cl_khr_gl_sharing")});
  EXPECT_EQ(answer_text(caps, CL_DEVICE_EXTENSIONS),
            "cl_khr_icd cl_khr_create_command_queue cl_khr_extended_versioning "
            "cl_khr_suggested_local_work_size cl_khr_command_buffer "
            "cl_khr_command_buffer_mutable_dispatch cl_khr_device_uuid " +
                kBaseExtensions + " cl_khr_fp64");
  EXPECT_EQ(caps.language_extensions.size(), 6u);
  EXPECT_EQ(caps.answers.at(CL_DEVICE_EXTENSIONS_WITH_VERSION).size(),
            13 * sizeof(cl_name_version));
}

TEST(CapabilityMerger, DoublesAreThereWhereThePrimaryHasThem) {
  const auto without =
      cpu().extensions(kBaseExtensions).set<cl_device_fp_config>(CL_DEVICE_DOUBLE_FP_CONFIG, 0);
  const Capabilities with = merge({without, gpu()});
  EXPECT_TRUE(with.fp64);
  // Not narrowed by a device on which nothing computes with doubles.
  EXPECT_EQ(answer<cl_device_fp_config>(with, CL_DEVICE_DOUBLE_FP_CONFIG), kDouble);
  const Capabilities caps = merge({gpu(), without});
  EXPECT_FALSE(caps.fp64);
  EXPECT_EQ(answer<cl_device_fp_config>(caps, CL_DEVICE_DOUBLE_FP_CONFIG), 0u);
  EXPECT_EQ(answer<cl_uint>(caps, CL_DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE), 0u);
  EXPECT_EQ(answer<cl_uint>(caps, CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE), 0u);
  EXPECT_EQ(answer_text(caps, CL_DEVICE_EXTENSIONS).find("fp64"), std::string::npos);
}

TEST(CapabilityMerger, FloatingPointConfigurationsIntersect) {
  const Capabilities caps =
      merge({cpu(), gpu().set<cl_device_fp_config>(
                        CL_DEVICE_SINGLE_FP_CONFIG,
                        CL_FP_ROUND_TO_NEAREST | CL_FP_INF_NAN | CL_FP_DENORM)});
  EXPECT_EQ(answer<cl_device_fp_config>(caps, CL_DEVICE_SINGLE_FP_CONFIG),
            cl_device_fp_config{CL_FP_ROUND_TO_NEAREST | CL_FP_INF_NAN});
}

TEST(CapabilityMerger, TypeIsOne) {
  EXPECT_EQ(merge({cpu()}).type, cl_device_type{CL_DEVICE_TYPE_CPU});
  EXPECT_EQ(merge({cpu(), gpu()}).type, cl_device_type{CL_DEVICE_TYPE_GPU});
  EXPECT_EQ(merge({cpu(), gpu()}, DeviceTypeChoice::kCpu).type, cl_device_type{CL_DEVICE_TYPE_CPU});
  EXPECT_EQ(merge({cpu()}, DeviceTypeChoice::kAccelerator).type,
            cl_device_type{CL_DEVICE_TYPE_ACCELERATOR});
  EXPECT_EQ(merge({FakeDevice("dsp", CL_DEVICE_TYPE_ACCELERATOR, 1)}).type,
            cl_device_type{CL_DEVICE_TYPE_ACCELERATOR});
}

TEST(CapabilityMerger, NameCountsEqualDevices) {
  const auto name = [](const std::vector<FakeDevice>& devices, IdentityChoice identity) {
    return merge(devices, DeviceTypeChoice::kAuto, identity).name;
  };
  EXPECT_EQ(name({cpu(), gpu(), cpu()}, IdentityChoice::kOwn), "Tutti (2 x cpu, gpu)");
  EXPECT_EQ(name({cpu(), cpu(), gpu()}, IdentityChoice::kAuto), "gpu (Tutti: 2 x cpu, gpu)");
  EXPECT_EQ(name({gpu()}, IdentityChoice::kAuto), "gpu (Tutti)");
  EXPECT_EQ(name({cpu(), gpu()}, IdentityChoice::kPrimary), "gpu");
}

TEST(CapabilityMerger, HintsOfQueuesAreThePrimarys) {
  const FakeDevice hinted = gpu().extensions(kBaseExtensions + " cl_khr_priority_hints");
  const Capabilities with = merge({cpu(), hinted});
  EXPECT_TRUE(with.priority_hints);
  EXPECT_FALSE(with.throttle_hints);
  EXPECT_NE(answer_text(with, CL_DEVICE_EXTENSIONS).find("cl_khr_priority_hints"),
            std::string::npos);
  const Capabilities without = merge({hinted, cpu()});
  EXPECT_FALSE(without.priority_hints);
  EXPECT_EQ(answer_text(without, CL_DEVICE_EXTENSIONS).find("hints"), std::string::npos);
}

TEST(CapabilityMerger, ThePlatformIsThePrimarysWhereTheIdentityIsItsAlone) {
  DeviceFacts facts = gpu().facts();
  facts.traits.platform_name = "Maker CUDA";
  facts.traits.platform_vendor = "Maker Corporation";
  for (const IdentityChoice identity : {IdentityChoice::kAuto, IdentityChoice::kOwn}) {
    EXPECT_EQ(platform_names(facts, identity).name, "Tutti");
    EXPECT_EQ(platform_names(facts, identity).vendor, "Tutti project");
  }
  EXPECT_EQ(platform_names(facts, IdentityChoice::kPrimary).name, "Maker CUDA");
  EXPECT_EQ(platform_names(facts, IdentityChoice::kPrimary).vendor, "Maker Corporation");
}

TEST(CapabilityMerger, IdentityIsThePrimarysOrOurOwn) {
  const std::vector<FakeDevice> devices = {
      cpu().set<cl_uint>(CL_DEVICE_VENDOR_ID, 0x1022),
      gpu().extensions(kBaseExtensions + " cl_nv_device_attribute_query cl_khr_pci_bus_info")};
  const Capabilities shown = merge(devices);
  EXPECT_EQ(answer<cl_uint>(shown, CL_DEVICE_VENDOR_ID), 0x10deu);
  EXPECT_EQ(answer_text(shown, CL_DEVICE_VENDOR), "Maker of the gpu");
  EXPECT_EQ(answer_text(shown, CL_DRIVER_VERSION), "1.2.3");
  const std::string extensions = answer_text(shown, CL_DEVICE_EXTENSIONS);
  EXPECT_NE(extensions.find("cl_nv_device_attribute_query cl_khr_pci_bus_info"), std::string::npos);
  ASSERT_EQ(shown.primary_queries.size(), 2u);
  EXPECT_EQ(shown.primary_queries[0].first, 0x4000u);
  const Capabilities own = merge(devices, DeviceTypeChoice::kAuto, IdentityChoice::kOwn);
  EXPECT_EQ(answer_text(own, CL_DEVICE_VENDOR), "Tutti project");
  EXPECT_NE(answer<cl_uint>(own, CL_DEVICE_VENDOR_ID), 0x10deu);
  EXPECT_TRUE(own.primary_queries.empty());
  EXPECT_EQ(answer_text(own, CL_DEVICE_EXTENSIONS).find("cl_nv_"), std::string::npos);
}

TEST(CapabilityMerger, UuidTellsSetsOfDevicesApart) {
  using Uuid = std::array<cl_uchar, CL_UUID_SIZE_KHR>;
  const auto uuid = [](const std::vector<FakeDevice>& devices) {
    return answer<Uuid>(merge(devices), CL_DEVICE_UUID_KHR);
  };
  const Uuid mine{1, 2, 3};
  const auto named = gpu().extensions("cl_khr_device_uuid").set(CL_DEVICE_UUID_KHR, mine);
  const auto other = gpu().extensions("cl_khr_device_uuid").set(CL_DEVICE_UUID_KHR, Uuid{9});
  EXPECT_EQ(uuid({named}), mine);  // alone it is that device
  EXPECT_EQ(uuid({cpu(), named}), uuid({cpu(), named}));
  EXPECT_NE(uuid({cpu(), named}), mine);
  EXPECT_NE(uuid({cpu(), named}), uuid({cpu(), other}));
  EXPECT_NE(uuid({cpu(), named}), uuid({cpu(), cpu(), named}));
  EXPECT_EQ(uuid({cpu()}), uuid({cpu()}));  // without one of its own
  EXPECT_NE(uuid({cpu()}), uuid({gpu()}));
}

TEST(CapabilityMerger, VersionIsThreeWhereThePrimaryKnowsOpenClC3) {
  const Capabilities all = merge({cpu(), gpu()});
  EXPECT_EQ(all.opencl_c, 300u);
  EXPECT_EQ(answer_text(all, CL_DEVICE_VERSION), "OpenCL 3.0 Tutti 1.2.3");
  EXPECT_EQ(answer_text(all, CL_DEVICE_OPENCL_C_VERSION), "OpenCL C 1.2 Tutti 1.2.3");
  EXPECT_EQ(all.answers.at(CL_DEVICE_OPENCL_C_ALL_VERSIONS).size(), 4 * sizeof(cl_name_version));
  const Capabilities old = merge({cpu(), gpu().languages({})});
  EXPECT_EQ(old.opencl_c, 120u);
  EXPECT_EQ(old.version, 120u);
  EXPECT_EQ(answer_text(old, CL_DEVICE_VERSION), "OpenCL 1.2 Tutti 1.2.3");
  EXPECT_EQ(answer<cl_version>(old, CL_DEVICE_NUMERIC_VERSION),
            cl_version{CL_MAKE_VERSION(1, 2, 0)});
  EXPECT_EQ(old.answers.at(CL_DEVICE_OPENCL_C_ALL_VERSIONS).size(), 3 * sizeof(cl_name_version));
}

TEST(CapabilityMerger, HostMemoryIsUnifiedOnlyWhereAllShareIt) {
  EXPECT_EQ(answer<cl_bool>(merge({cpu().shares_host_memory()}), CL_DEVICE_HOST_UNIFIED_MEMORY),
            cl_bool{CL_TRUE});
  EXPECT_EQ(
      answer<cl_bool>(merge({cpu().shares_host_memory(), gpu()}), CL_DEVICE_HOST_UNIFIED_MEMORY),
      cl_bool{CL_FALSE});
}

TEST(DevicesToLeaveOut, NobodyForWhatItsKernelsLack) {
  EXPECT_TRUE(devices_to_leave_out(facts_of({cpu(1).extensions(""), gpu(1000)})).empty());
}

TEST(DevicesToLeaveOut, ThoseThatCannotTakePart) {
  const auto left_out =
      devices_to_leave_out(facts_of({cpu(), cpu().set<cl_uint>(CL_DEVICE_ADDRESS_BITS, 32),
                                     cpu().set<cl_bool>(CL_DEVICE_COMPILER_AVAILABLE, CL_FALSE),
                                     cpu().set<cl_bool>(CL_DEVICE_AVAILABLE, CL_FALSE),
                                     cpu().text(CL_DEVICE_OPENCL_C_VERSION, "OpenCL C 1.1 old")}));
  ASSERT_EQ(left_out.size(), 4u);
  EXPECT_NE(left_out[0].reason.find("32-bit"), std::string::npos);
  EXPECT_NE(left_out[1].reason.find("compiler"), std::string::npos);
  EXPECT_NE(left_out[2].reason.find("available"), std::string::npos);
  EXPECT_NE(left_out[3].reason.find("OpenCL C 1.2"), std::string::npos);
}

FakeDevice with_much() {
  return gpu()
      .extensions(kBaseExtensions +
                  " cl_khr_subgroups cl_khr_subgroup_shuffle cl_ext_float_atomics cl_none_known "
                  "__opencl_c_subgroups __opencl_c_generic_address_space __opencl_c_pipes "
                  "__opencl_c_device_enqueue __opencl_c_program_scope_global_variables "
                  "__opencl_c_read_write_images __opencl_c_images")
      .set<cl_uint>(CL_DEVICE_MAX_NUM_SUB_GROUPS, 32)
      .set<cl_bool>(CL_DEVICE_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS, CL_TRUE)
      .set<size_t>(CL_DEVICE_MAX_GLOBAL_VARIABLE_SIZE, 64000)
      .set<cl_uint>(CL_DEVICE_MAX_READ_WRITE_IMAGE_ARGS, 8)
      .set<cl_device_atomic_capabilities>(
          CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES,
          CL_DEVICE_ATOMIC_ORDER_SEQ_CST | CL_DEVICE_ATOMIC_SCOPE_DEVICE);
}

TEST(CapabilityMerger, WorkGroupsMayDifferWhereThePrimarysMay) {
  const auto shown = [](const Capabilities& caps) {
    return answer<cl_bool>(caps, CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT) == CL_TRUE;
  };
  const Capabilities with = merge({cpu(), gpu().smaller_groups()});
  EXPECT_TRUE(with.smaller_groups && shown(with));
  const Capabilities without = merge({cpu().smaller_groups(), gpu()});
  EXPECT_FALSE(without.smaller_groups || shown(without));
}

TEST(CapabilityMerger, QueuesOnDevicesAreThePrimarys) {
  const auto with_queues = [](FakeDevice device) {
    return device.extensions(kBaseExtensions + " __opencl_c_device_enqueue")
        .set<cl_uint>(CL_DEVICE_QUEUE_ON_DEVICE_PREFERRED_SIZE, 4096)
        .set<cl_uint>(CL_DEVICE_QUEUE_ON_DEVICE_MAX_SIZE, 65536)
        .set<cl_uint>(CL_DEVICE_MAX_ON_DEVICE_QUEUES, 2)
        .set<cl_command_queue_properties>(CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES,
                                          CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  };
  const auto capabilities = [](const Capabilities& caps) {
    return answer<cl_device_device_enqueue_capabilities>(caps,
                                                         CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES);
  };
  const Capabilities with = merge({cpu(), with_queues(gpu())});
  EXPECT_NE(capabilities(with), 0u);
  EXPECT_EQ(answer<cl_uint>(with, CL_DEVICE_MAX_ON_DEVICE_QUEUES), 2u);
  EXPECT_EQ(with.device_queues.preferred_size, 4096u);
  EXPECT_EQ(with.device_queues.max_size, 65536u);
  const Capabilities without = merge({with_queues(cpu()), gpu()});
  EXPECT_EQ(capabilities(without), 0u);
  EXPECT_EQ(answer<cl_uint>(without, CL_DEVICE_QUEUE_ON_DEVICE_MAX_SIZE), 0u);
  EXPECT_EQ(without.device_queues.max_size, 0u);
}

TEST(CapabilityMerger, ProgramsInSpirvAreThePrimarys) {
  const auto with_spirv = [](FakeDevice device) {
    return device
        .extensions(kBaseExtensions + " cl_khr_il_program cl_khr_spirv_queries cl_none_known")
        .text(CL_DEVICE_IL_VERSION, "SPIR-V_1.2 SPIR-V_1.0 other_1.0");
  };
  const Capabilities with = merge({cpu(), with_spirv(gpu())});
  EXPECT_TRUE(with.il_programs);
  EXPECT_EQ(answer_text(with, CL_DEVICE_IL_VERSION), "SPIR-V_1.2 SPIR-V_1.0");
  const std::string extensions = answer_text(with, CL_DEVICE_EXTENSIONS);
  EXPECT_NE(extensions.find("cl_khr_il_program"), std::string::npos);
  EXPECT_NE(extensions.find("cl_khr_spirv_queries"), std::string::npos);
  const Capabilities without = merge({with_spirv(cpu()), gpu()});
  EXPECT_FALSE(without.il_programs);
  EXPECT_EQ(answer_text(without, CL_DEVICE_IL_VERSION), "");
  EXPECT_EQ(answer_text(without, CL_DEVICE_EXTENSIONS).find("spirv"), std::string::npos);
}

TEST(CapabilityMerger, BuiltInKernelsAreThePrimarys) {
  const auto with_kernels = [](FakeDevice device) {
    return device.built_in_kernels({"a.b", "c"})
        .set(CL_DEVICE_BUILT_IN_KERNELS_WITH_VERSION,
             std::array<cl_name_version, 2>{
                 {{CL_MAKE_VERSION(2, 1, 0), "c"}, {CL_MAKE_VERSION(1, 0, 0), "unknown"}}});
  };
  const Capabilities with = merge({cpu(), with_kernels(gpu())});
  EXPECT_EQ(with.built_in_kernels, (std::vector<std::string>{"a.b", "c"}));
  EXPECT_EQ(answer_text(with, CL_DEVICE_BUILT_IN_KERNELS), "a.b;c");
  const auto versions =
      answer<std::array<cl_name_version, 2>>(with, CL_DEVICE_BUILT_IN_KERNELS_WITH_VERSION);
  EXPECT_STREQ(versions[0].name, "a.b");
  EXPECT_EQ(versions[0].version, cl_version{CL_MAKE_VERSION(1, 0, 0)});
  EXPECT_STREQ(versions[1].name, "c");
  EXPECT_EQ(versions[1].version, cl_version{CL_MAKE_VERSION(2, 1, 0)});
  const Capabilities without = merge({with_kernels(cpu()), gpu()});
  EXPECT_TRUE(without.built_in_kernels.empty());
  EXPECT_EQ(answer_text(without, CL_DEVICE_BUILT_IN_KERNELS), "");
}

TEST(CapabilityMerger, PipesAreThePrimarys) {
  const auto shown = [](const Capabilities& caps) {
    return std::pair(answer<cl_bool>(caps, CL_DEVICE_PIPE_SUPPORT),
                     answer<cl_uint>(caps, CL_DEVICE_MAX_PIPE_ARGS));
  };
  const auto with_pipes = [](FakeDevice device) {
    return device.extensions(kBaseExtensions + " __opencl_c_pipes")
        .set<cl_uint>(CL_DEVICE_MAX_PIPE_ARGS, 16)
        .set<cl_uint>(CL_DEVICE_PIPE_MAX_ACTIVE_RESERVATIONS, 2)
        .set<cl_uint>(CL_DEVICE_PIPE_MAX_PACKET_SIZE, 1024);
  };
  const Capabilities with = merge({cpu(), with_pipes(gpu())});
  EXPECT_EQ(shown(with), std::pair(cl_bool{CL_TRUE}, 16u));
  EXPECT_TRUE(with.has_language_feature("__opencl_c_pipes"));
  EXPECT_EQ(with.max_pipe_packet, 1024u);
  EXPECT_EQ(answer<cl_uint>(with, CL_DEVICE_PIPE_MAX_ACTIVE_RESERVATIONS), 2u);
  const Capabilities without = merge({with_pipes(cpu()), gpu()});
  EXPECT_EQ(shown(without), std::pair(cl_bool{CL_FALSE}, 0u));
  EXPECT_FALSE(without.has_language_feature("__opencl_c_pipes"));
  EXPECT_EQ(without.max_pipe_packet, 0u);
}

TEST(CapabilityMerger, LanguageIsThePrimarysWithAllItsOptionalParts) {
  const Capabilities caps = merge({cpu(), with_much()});
  EXPECT_TRUE(caps.has_language_feature("__opencl_c_subgroups"));
  EXPECT_TRUE(caps.has_language_feature("__opencl_c_generic_address_space"));
  EXPECT_TRUE(caps.has_language_feature("__opencl_c_device_enqueue"));
  const std::string extensions = answer_text(caps, CL_DEVICE_EXTENSIONS);
  EXPECT_NE(extensions.find("cl_khr_subgroup_shuffle"), std::string::npos);
  EXPECT_EQ(extensions.find("cl_none_known"), std::string::npos);
  EXPECT_EQ(answer<cl_uint>(caps, CL_DEVICE_MAX_NUM_SUB_GROUPS), 32u);
  EXPECT_EQ(answer<cl_bool>(caps, CL_DEVICE_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS),
            cl_bool{CL_TRUE});
  EXPECT_EQ(answer<cl_bool>(caps, CL_DEVICE_GENERIC_ADDRESS_SPACE_SUPPORT), cl_bool{CL_TRUE});
  EXPECT_EQ(answer<cl_bool>(caps, CL_DEVICE_WORK_GROUP_COLLECTIVE_FUNCTIONS_SUPPORT),
            cl_bool{CL_FALSE});
  EXPECT_EQ(answer<size_t>(caps, CL_DEVICE_MAX_GLOBAL_VARIABLE_SIZE), 64000u);
  EXPECT_EQ(answer<cl_uint>(caps, CL_DEVICE_MAX_READ_WRITE_IMAGE_ARGS), 8u);
  EXPECT_EQ(answer<cl_device_atomic_capabilities>(caps, CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES),
            cl_device_atomic_capabilities{
                CL_DEVICE_ATOMIC_ORDER_RELAXED | CL_DEVICE_ATOMIC_ORDER_SEQ_CST |
                CL_DEVICE_ATOMIC_SCOPE_WORK_GROUP | CL_DEVICE_ATOMIC_SCOPE_DEVICE});
  const bool asked = std::any_of(caps.primary_queries.begin(), caps.primary_queries.end(),
                                 [](const auto& range) { return range.first == 0x4231u; });
  EXPECT_TRUE(asked) << "what its atomics on floating-point numbers can do";
  // Nothing of it where another one is the primary.
  const Capabilities poor = merge({with_much(), cpu()});
  EXPECT_FALSE(poor.has_language_feature("__opencl_c_subgroups"));
  EXPECT_EQ(answer<cl_uint>(poor, CL_DEVICE_MAX_NUM_SUB_GROUPS), 0u);
}

TEST(CapabilityMerger, SharesWithOtherInterfacesWhatADeviceAloneDoes) {
  const auto with_semaphores = [] {
    return gpu()
        .extensions(
            "cl_khr_semaphore cl_khr_external_semaphore cl_khr_external_semaphore_opaque_fd "
            "cl_khr_external_semaphore_win32 cl_khr_external_memory cl_khr_external_memory_dma_buf "
            "cl_khr_gl_sharing cl_khr_gl_event")
        .semaphores()
        .external_memory()
        .gl_sharing()
        .set<cl_uint>(CL_DEVICE_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR,
                      CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR)
        .set<cl_uint>(CL_DEVICE_SEMAPHORE_IMPORT_HANDLE_TYPES_KHR,
                      CL_SEMAPHORE_HANDLE_OPAQUE_FD_KHR)
        .set<cl_uint>(CL_DEVICE_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR,
                      CL_SEMAPHORE_HANDLE_OPAQUE_WIN32_KHR);
  };
  const auto claims = [](const Capabilities& caps, const std::string& name) {
    return (" " + answer_text(caps, CL_DEVICE_EXTENSIONS) + " ").find(" " + name + " ") !=
           std::string::npos;
  };
  const Capabilities alone = merge({with_semaphores().alone()});
  EXPECT_TRUE(alone.sharing.semaphores);
  EXPECT_TRUE(claims(alone, "cl_khr_semaphore"));
  EXPECT_TRUE(claims(alone, "cl_khr_external_semaphore"));
  EXPECT_TRUE(claims(alone, "cl_khr_external_semaphore_opaque_fd"));
  EXPECT_FALSE(claims(alone, "cl_khr_external_semaphore_win32"));
  EXPECT_EQ(alone.sharing.semaphore_imports,
            std::vector<cl_uint>{CL_SEMAPHORE_HANDLE_OPAQUE_FD_KHR});
  EXPECT_TRUE(alone.sharing.semaphore_exports.empty());
  EXPECT_EQ(answer<cl_uint>(alone, CL_DEVICE_SEMAPHORE_TYPES_KHR),
            cl_uint{CL_SEMAPHORE_TYPE_BINARY_KHR});
  EXPECT_TRUE(alone.sharing.external_memory);
  EXPECT_TRUE(claims(alone, "cl_khr_external_memory"));
  EXPECT_TRUE(claims(alone, "cl_khr_external_memory_dma_buf"));
  EXPECT_FALSE(claims(alone, "cl_khr_external_memory_opaque_fd"));
  EXPECT_TRUE(alone.sharing.gl);
  EXPECT_TRUE(claims(alone, "cl_khr_gl_sharing"));
  EXPECT_FALSE(claims(alone, "cl_khr_gl_event"));
  // Its driver lacks a function.
  EXPECT_FALSE(claims(merge({gpu().extensions("cl_khr_gl_sharing").alone()}), "cl_khr_gl_sharing"));
  // A part of a device, and one beside others.
  for (const Capabilities& caps : {merge({with_semaphores()}), merge({cpu(), with_semaphores()})}) {
    EXPECT_FALSE(caps.sharing.semaphores);
    EXPECT_FALSE(claims(caps, "cl_khr_semaphore"));
    EXPECT_FALSE(claims(caps, "cl_khr_external_memory"));
    EXPECT_FALSE(caps.sharing.gl);
    EXPECT_FALSE(claims(caps, "cl_khr_gl_sharing"));
    EXPECT_FALSE(caps.answers.contains(CL_DEVICE_SEMAPHORE_TYPES_KHR));
  }
}

}  // namespace
}  // namespace tutti::platform
