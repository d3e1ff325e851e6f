# SPDX-License-Identifier: Apache-2.0
# source: Not measured. From Mesa's driver, src/amd/vulkan/radv_physical_device.c: subgroups are
# 32 or 64 wide, 64 unless a pipeline asks, so it asks for 32; 16- and 64-bit floats share one mode,
# apart from 32-bit ones. progress: look-back scans rest on it there (the vendor's own rocPRIM has
# one). saturation: 96 compute units of 2 SIMDs with 16 subgroups each
# (VK_AMD_shader_core_properties).
device = AMD Radeon RX 7900 XTX (RADV)
vendor = 0x1002
driver = 3
subgroup = 32
subgroup_ops = 0x6ff
size_control = 1
int64 = 1
float64 = 1
storage16 = 1
storage8 = 1
addresses = 1
preserve32 = 1
rte32 = 1
denorm32 = 1
preserve64 = 1
rte64 = 1
denorm64 = 1
half_exact = 1
denorm_together = 0
rounding_together = 0
invocations = 1024
groups_x = 65535
groups_y = 65535
shared_bytes = 65536
buffer_range = 4294967295
offset_align = 4
storage_buffers = 8388606
trip_limit = 0
progress = 1
saturation = 98304
