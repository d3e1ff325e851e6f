# SPDX-License-Identifier: Apache-2.0
# source: Not measured. From Mesa's driver, src/intel/vulkan/anv_physical_device.c: subgroups are
# 8, 16 or 32 wide as the compiler likes, 32 being what the driver reports, so a pipeline asks, for
# 16: 32 halve its registers. The hardware of Xe-LP and Xe-HPG has no 64-bit floats; 64-bit integers are emulated.
# rounding_together: one mode for all widths. buffer_range: of a device with 8 GiB; the driver
# bounds it by the largest heap. saturation: 128 execution units of 8 threads, 16 invocations
# each.
device = Intel Xe (ANV)
vendor = 0x8086
driver = 6
subgroup = 16
subgroup_ops = 0x6ff
size_control = 1
int64 = 1
float64 = 0
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
rounding_together = 1
invocations = 1024
groups_x = 65535
groups_y = 65535
shared_bytes = 65536
buffer_range = 4294967295
offset_align = 4
storage_buffers = 65535
trip_limit = 0
progress = 1
saturation = 16384
