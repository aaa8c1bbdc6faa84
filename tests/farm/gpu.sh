#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# tests/farm/gpu.sh [BUILD]
#
# Measures cj2k-farm on a machine with NVIDIA GPUs: frames/s of cinema-2k from DPX in memory-backed files, with one worker
# for each GPU and with several on each, for 1 and 2 GPUs. Prints the tables of tests/farm/speed.py, and what the machine
# can do: one cj2k-encode alone, the bus, reading and hashing. Checks that every run has the bytes of cj2k-encode alone.
#   BUILD              the build folder (default: build)
#   CJ2K_FARM_PYTHON   a folder with dask and distributed, or a .tar.xz of one, if python3 has none:
#                      pip install --target DIR --python-version 3.12 --only-binary=:all: dask distributed
#   CJ2K_FARM_FRAMES   number of frames (default 4800)
#   CJ2K_FARM_FOLDER   a folder in memory (default /dev/shm); it needs about 3 MB a frame of the result
# The result is an MXF file if gst-launch-1.0 with mxfmux and gdpdepay is on the PATH, else codestreams one behind the other.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=$(cd "${1:-build}" && pwd) || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python=${CJ2K_FARM_PYTHON:-}
if [ -f "$python" ]; then
  mkdir "$work/python" && tar xJf "$python" -C "$work/python" || exit 1
  python=$work/python
fi
export PYTHONPATH=$python${PYTHONPATH:+:$PYTHONPATH} CJ2K_ENCODE=$build/examples/cj2k-encode
export GST_PLUGIN_PATH=$build/gst GST_REGISTRY=$work/registry.bin
python3 -c 'import numpy, distributed; print("distributed", distributed.__version__)' || exit 1

out=film.j2c
if gst-inspect-1.0 mxfmux >/dev/null 2>&1 && gst-inspect-1.0 gdpdepay >/dev/null 2>&1; then out=film.mxf; fi
mapfile -t gpus < <(nvidia-smi -L | sed -n 's/^GPU \([0-9]*\):.*/\1/p')
[ ${#gpus[@]} -gt 0 ] || { echo "there is no GPU"; exit 1; }
nvidia-smi -L
echo "$(nproc) cores, $(df -h --output=avail "${CJ2K_FARM_FOLDER:-/dev/shm}" | tail -n 1) free in ${CJ2K_FARM_FOLDER:-/dev/shm}; result: $out"

# measure NAME GPUS WORKERS PART: a table for these GPUs, as "farm NAME: ...".
measure() {
  local name=$1
  CUDA_VISIBLE_DEVICES=$2 timeout 280 python3 tests/farm/speed.py --frames "${CJ2K_FARM_FRAMES:-4800}" --size 2048x1080 \
    --format dpx10 --workers "$3" --part "$4" --out "$out" --folder "${CJ2K_FARM_FOLDER:-/dev/shm}" -- \
    --backend=cuda --profile=cinema-2k 2>&1 | sed "s|^|farm $name: |"
}

"$build/examples/cj2k-bench" bus 2>&1 | sed 's/^/bus: /'
measure "1 GPU, parts of 240" "${gpus[0]}" 1,2,4 240
measure "1 GPU, parts of 1200" "${gpus[0]}" 1,2 1200
if [ ${#gpus[@]} -ge 2 ]; then
  measure "2 GPUs, parts of 240" "${gpus[0]},${gpus[1]}" 2,4,8 240
fi
