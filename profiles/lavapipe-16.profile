# SPDX-License-Identifier: Apache-2.0
# source: The device this profile is of reports these values (vulkaninfo, Mesa 22.3.6, LLVM
# 15.0.6, Debian 12, LP_NATIVE_VECTOR_WIDTH=512). Not reported, but measured there: trip_limit (a
# loop ends silently after 65,535 trips of an invocation, all its loops summed) and progress (a
# waiting workgroup keeps the others of its thread from starting). Subnormal floats are kept
# there, although denorm32 promises nothing. saturation: as many invocations as a few CPU cores
# keep busy.
device = lavapipe, 16 wide subgroups
vendor = 0x10005
driver = 13
subgroup = 16
subgroup_ops = 0xbf
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
half_exact = 0
denorm_together = 0
rounding_together = 0
invocations = 1024
groups_x = 65535
groups_y = 65535
shared_bytes = 32768
buffer_range = 134217728
offset_align = 16
storage_buffers = 32
trip_limit = 65000
progress = 0
saturation = 64
