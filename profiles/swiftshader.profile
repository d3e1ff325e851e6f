# SPDX-License-Identifier: Apache-2.0
# source: The device this profile is of reports these values (vulkaninfo, libvk_swiftshader.so of
# Debian 12's chromium-common 156.0.8078.79). Measured there: progress (waiting workgroups spin
# while others run, at 1, 2 and 16 threads); floats that are subnormal count as zeros in
# arithmetic, as operands and as results, and are kept where they are only copied. Its largest
# allocation is 256 bytes below the one it reports. saturation: as many invocations as a few CPU
# cores keep busy.
device = SwiftShader (Subzero)
vendor = 0x1ae0
driver = 10
subgroup = 4
subgroup_ops = 0xbf
size_control = 0
int64 = 0
float64 = 0
storage16 = 0
storage8 = 0
addresses = 1
preserve32 = 1
rte32 = 0
denorm32 = 0
preserve64 = 1
rte64 = 0
denorm64 = 0
half_exact = 0
denorm_together = 1
rounding_together = 1
invocations = 256
groups_x = 65535
groups_y = 65535
shared_bytes = 32768
buffer_range = 1073741824
offset_align = 256
storage_buffers = 30
trip_limit = 0
progress = 1
saturation = 64
