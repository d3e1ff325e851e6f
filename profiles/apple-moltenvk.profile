# SPDX-License-Identifier: Apache-2.0
# source: Not measured. From MoltenVK, MoltenVK/MoltenVK/GPUObjects/MVKDevice.mm of 2026: it gives
# Apple's GPUs subgroups of 4 to 32 and takes no wish for one of them; Apple's own are 32 wide
# throughout. Metal has no 64-bit floats. groups_x and groups_y: the driver reports no bound of its
# own; Vulkan's least are put here. addresses need macOS 13. progress: Metal promises none to
# threadgroups. saturation: 8 cores of 3072 invocations.
device = Apple M1 (MoltenVK)
vendor = 0x106b
driver = 14
subgroup = 32
subgroup_ops = 0x6ff
size_control = 0
int64 = 1
float64 = 0
storage16 = 1
storage8 = 1
addresses = 1
preserve32 = 1
rte32 = 1
denorm32 = 0
preserve64 = 0
rte64 = 0
denorm64 = 0
half_exact = 0
denorm_together = 1
rounding_together = 1
invocations = 1024
groups_x = 65535
groups_y = 65535
shared_bytes = 32768
buffer_range = 4294967295
offset_align = 16
storage_buffers = 31
trip_limit = 0
progress = 0
saturation = 24576
