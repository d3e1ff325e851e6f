# SPDX-License-Identifier: Apache-2.0
# source: `tally devices --profile` on an NVIDIA H200, driver 580.159.04, but for the name; an H100
# has the same chip. The driver does not promise to keep subnormals, though its multiplications do.
# progress: workgroups that have started keep running (single-pass scans with look-back rest on it).
# saturation: 132 multiprocessors of 64 subgroups (VK_NV_shader_sm_builtins).
device = NVIDIA H100
vendor = 0x10de
driver = 4
subgroup = 32
subgroup_ops = 0x7ff
size_control = 0
int64 = 1
float64 = 1
storage16 = 1
storage8 = 1
addresses = 1
preserve32 = 1
rte32 = 1
denorm32 = 0
preserve64 = 1
rte64 = 1
denorm64 = 0
half_exact = 1
denorm_together = 0
rounding_together = 0
invocations = 1024
groups_x = 2147483647
groups_y = 65535
shared_bytes = 49152
buffer_range = 4294967295
offset_align = 16
storage_buffers = 1048576
trip_limit = 0
progress = 1
saturation = 270336
