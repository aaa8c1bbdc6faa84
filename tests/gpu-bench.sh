# SPDX-License-Identifier: LGPL-2.1-or-later
# Sourced by tests/gpu.sh --bench: our figures and nvJPEG2000's, one after the other in one run. A line of JSON
# each.
for name in 1bpp 4bpp lossless; do
  stream=$streams/uhd_rgb12_ht_$name.j2k
  [ -e "$stream" ] || continue
  for output in device host; do
    for n in 1 4 8 16; do
      "$build/examples/cj2k-bench" decode --backend cuda --output $output --in-flight $n --frames 300 "$stream"
    done
  done
  if [ -n "${NVJ2K_BENCH:-}" ]; then
    for n in 1 4 8 16; do
      echo "nvjpeg2000 to device: $($NVJ2K_BENCH dec "$stream" 300 $n 0)"
    done
  fi
done
