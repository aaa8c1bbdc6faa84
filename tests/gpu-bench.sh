#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# tests/gpu-bench.sh [BUILD]
#
# Measures this project and others, one after the other, in one run on a machine with an NVIDIA GPU, with the programs
# of the build folder BUILD (default: build). Each is a line "bench KEY: OUTPUT"; tests/gpu-bench-table.py makes the
# tables of docs/performance.md and docs/deployment.md from them.
#   CJ2K_STREAMS      a folder with codestreams of uhd_rgb12
#   CJ2K_FRAMES       one with raw frames and PPM files
#   NVJ2K_BENCH       nvJPEG2000's benchmark
#   CJ2K_PEERS        a folder with opj_compress and grk_compress that print the time of their Tier-1 alone, as
#                     "tier1 N ms" (docs/performance.md); without it only whole processes are measured
#   CJ2K_TIMELINES    a folder for timelines of the streams of the GPU
#   CJ2K_BENCH_PARTS  some of the parts that the end of this file lists, in this order
# shellcheck disable=SC2086 # numbers and names without blanks
set -u
cd "$(dirname "$0")/.." || exit 1
build=$(cd "${1:-build}" && pwd) || exit 1
# What tests/gpu-pack.sh made brings libraries along.
[ ! -d "$build/lib" ] || export LD_LIBRARY_PATH=$build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
streams=${CJ2K_STREAMS:-} frames=${CJ2K_FRAMES:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The driver has 8 queues for the streams of a process unless asked for more. Our tools ask for 16; others have as many.
export CUDA_DEVICE_MAX_CONNECTIONS=16
export GST_PLUGIN_PATH=$build/gst GST_REGISTRY=$work/registry.bin
bench=$build/examples/cj2k-bench
elements=$build/tests/bench-elements
pictures=$work/pictures
mkdir -p "$pictures"

# figure KEY COMMAND...: prints the output of the command, each line with the key.
figure() {
  local key=$1
  shift
  timeout 60 "$@" 2>&1 | sed "s|^|bench $key: |"
}

# ours KEY OPERATION ARGUMENTS...: runs cj2k-bench on the GPU. With one frame in flight it is latency that is measured
# (as_set leaves that to its arguments); more than 16 need as many queues.
ours() {
  local key=$1 operation=$2 queues=$CUDA_DEVICE_MAX_CONNECTIONS
  shift 2
  [[ " $* " != *" --in-flight 1 "* ]] || set -- --low-latency "$@"
  [[ ! " $* " =~ " --in-flight "(32|64)" " ]] || queues=32
  figure "$key" env CUDA_DEVICE_MAX_CONNECTIONS=$queues "$bench" "$operation" --backend cuda "$@"
}

as_set() {
  figure "$1" "$bench" "$2" --backend cuda "${@:3}"
}

# stream FILE ARGUMENTS...: makes a codestream.
stream() {
  local file=$1
  shift
  "$bench" encode --backend cuda --in-flight 1 --frames 1 --write "$file" "$@" >/dev/null
}

# nvidia KEY ARGUMENTS...: runs the benchmark of nvJPEG2000, if it is installed.
nvidia() {
  local key=$1
  shift
  [ -z "${NVJ2K_BENCH:-}" ] || figure "nv.$key" "$NVJ2K_BENCH" "$@"
}

# --- the machine
echo "bench host: {\"cores\":$(nproc),\"cpu\":\"$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)\"}"
figure gpu nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
"$bench" bus >/dev/null # to warm up
figure bus "$bench" bus

# --- decoding, compared with nvJPEG2000; Part 1 with code-blocks of 32x32 and, as nvJPEG2000 prefers, 64x64
bench_decode() {
  local name stream n count theirs flights
  for name in ht_1bpp ht_4bpp ht_lossless mq32_1bpp mq32_4bpp mq32_lossless mq32_4bpp_bypass \
    mq32_lossless_bypass mq64_1bpp mq64_4bpp mq64_lossless; do
    stream=$streams/uhd_rgb12_$name.j2k
    [ -e "$stream" ] || continue
    count=300 theirs=60 flights="1 4 8 16"
    case $name in
    ht*) theirs=300 ;;
    mq64*) count=100 flights="1 16 32 64" ;;
    *) count=150 flights="1 4 8 16 32 64" ;;
    esac
    for n in $flights; do
      ours dec.$name.device.$n decode --output device --in-flight $n --frames $((n > 16 ? 500 : count)) "$stream"
    done
    case $name in
    ht*)
      for n in 1 4 8; do
        ours dec.$name.host.$n decode --in-flight $n --frames $((n == 4 ? 1000 : 200)) "$stream"
      done
      ;;
    esac
    ours dec.$name.stages decode --output device --in-flight 1 --frames 30 --stages "$stream"
    case $name in *bypass) continue ;; esac # it has none
    for n in 1 8 16; do
      nvidia dec.$name.$n dec "$stream" $((n == 1 ? theirs / 2 : theirs)) $n 0
    done
  done
  for name in ht_1bpp ht_4bpp; do
    CUDA_DEVICE_MAX_CONNECTIONS=32 ours dec.$name.queues decode --output device --in-flight 16 --frames 300 \
      "$streams/uhd_rgb12_$name.j2k"
  done
}

# --- one frame at a time to host memory, in turns, because that depends on what the host does at that moment
bench_turns() {
  local n plt
  for plt in plt no-plt; do
    stream "$work/turn.$plt.j2k" --block-coder ht --bits-per-pixel 4 --$plt "$frames/uhd_rgb12.ppm"
  done
  for n in 1 2 3 4 5; do
    for plt in plt no-plt; do
      ours turn.$plt.$n decode --in-flight 1 --frames 300 "$work/turn.$plt.j2k"
    done
  done
}

# --- decoding SigProp and MagRef passes, with cleanup passes that are one bit-plane higher
bench_refine() {
  local rate stream=$work/refined.j2k n
  for rate in 1bpp:0.0335 4bpp:0.0067; do
    "$build/tests/encode-refined" --quant-step ${rate#*:} "$frames/uhd_rgb12.ppm" "$stream"
    for n in 1 4 8 16; do
      ours refine.${rate%:*}.$n decode --output device --in-flight $n --frames 200 "$stream"
    done
    ours refine.${rate%:*}.stages decode --output device --in-flight 1 --frames 30 --stages "$stream"
  done
}

# --- encoding RGB of 12 bits, compared with nvJPEG2000 at about the same size; it has no rate control
# encode_one NAME FRAMES CODE-BLOCK OPTIONS...
encode_one() {
  local name=$1 count=$2 size=$3 output n
  shift 3
  for output in device host; do
    for n in 1 4 8 16; do
      ours enc.$name.$output.$n encode --output $output --in-flight $n \
        --frames $((n == 4 && count >= 200 ? 1000 : count)) --codeblock-width $size --codeblock-height $size "$@" \
        "$frames/uhd_rgb12.ppm"
    done
  done
  ours enc.$name.stages encode --output device --in-flight 1 --frames 30 --stages --codeblock-width $size \
    --codeblock-height $size "$@" "$frames/uhd_rgb12.ppm"
}
# encode_nvidia NAME FRAMES CODE-BLOCK OUTPUTS HT REVERSIBLE KIND-OF-QUALITY QUALITY
encode_nvidia() {
  local output n
  for output in $4; do
    [ $output = device ] && export NO_H2D=1
    for n in 1 8 16; do
      nvidia enc.$1.$output.$n enc "$frames/uhd_rgb12.raw" 3840 2160 3 12 1 "$5" "$6" "$7" "$8" \
        $((n == 1 ? ($2 + 1) / 2 : $2)) $n "$3"
    done
    unset NO_H2D
  done
}
bench_encode() {
  local n
  encode_one ht_step 300 64 --block-coder ht --quant-step 0.0083
  encode_nvidia ht_step 300 64 "device host" 1 0 1 20
  encode_one ht_cbr 200 64 --block-coder ht --bits-per-pixel 4
  encode_one ht_lossless 200 64 --block-coder ht --rate-control lossless
  encode_nvidia ht_lossless 150 64 "device host" 1 1 0 0
  encode_one mq32_cbr 150 32 --block-coder mq --bits-per-pixel 3.8
  encode_nvidia mq32_cbr 48 32 host 0 0 1 20
  encode_nvidia mq64_cbr 48 64 host 0 0 1 20
  encode_one mq32_lossless 150 32 --block-coder mq --rate-control lossless
  encode_nvidia mq32_lossless 32 32 host 0 1 0 0
  encode_nvidia mq64_lossless 32 64 host 0 1 0 0
  encode_one mq64_cbr 100 64 --block-coder mq --bits-per-pixel 3.8
  encode_one mq64_lossless 100 64 --block-coder mq --rate-control lossless
  for n in 1 8 16; do # 250 Mbit/s
    ours cinema.$n encode --in-flight $n --frames 100 --profile cinema-2k --framerate 24 --bitrate 250000 \
      "$frames/hd_rgb12.ppm"
  done
}

# --- v210 from and to the host
bench_v210() {
  local n
  gst-launch-1.0 -q filesrc location="$frames/uhd_422p10.raw" blocksize=33177600 ! rawvideoparse \
    format=i422-10le width=3840 height=2160 ! videoconvert ! video/x-raw,format=v210 ! filesink \
    location="$work/v210.raw"
  for n in 1 4 8; do
    ours v210.enc.$n encode --in-flight $n --frames 1000 --block-coder ht --quant-step 0.004 --width 3840 \
      --height 2160 --format v210 "$work/v210.raw"
    ours v210.dec.$n decode --in-flight $n --frames 1000 --format v210 "$work/422.j2k"
  done
}

# --- with and without selective arithmetic coding bypass, by number of coded bit-planes
# bypass NAME PICTURE OPTIONS...: one frame in flight (latency) and 8 (throughput), encoding and decoding
bypass() {
  local name=$1 picture=$2 style n plt key
  shift 2
  for style in none bypass; do
    for n in 1 8; do
      for plt in no-plt plt; do # packets whose places are known are read by several threads
        key=planes.$name.$style.$plt
        ours $key.enc.$n encode --stages --in-flight $n --frames $((n == 1 ? 60 : 240)) --$plt \
          --codeblock-width 32 --codeblock-height 32 --codeblock-style $style \
          --write "$work/$style.$plt.j2k" "$@" "$frames/$picture.ppm"
        ours $key.dec.$n decode --stages --output device --in-flight $n \
          --frames $((n == 1 ? 60 : 240)) "$work/$style.$plt.j2k"
      done
    done
  done
}
bench_bypass() {
  local bits
  for bits in 8 10 12; do
    bypass lossless$bits uhd_rgb$bits --rate-control lossless
  done
  for bits in 8 10 12; do # steps of 2^-bits: a bit-plane more with each bit
    bypass step$bits uhd_rgb12 --quant-step "$(awk "BEGIN { print 2 ^ -$bits }")"
  done
  bypass cbr uhd_rgb12 --bits-per-pixel 4
  bypass hd hd_rgb12 --rate-control lossless
  # Fewer code-blocks; those of 1920x1080 are so few that PLT is not the default.
  bypass lossless64 uhd_rgb12 --rate-control lossless --codeblock-width 64 --codeblock-height 64
  bypass cbr64 uhd_rgb12 --bits-per-pixel 4 --codeblock-width 64 --codeblock-height 64
  bypass hd64 hd_rgb12 --rate-control lossless --codeblock-width 64 --codeblock-height 64
}

# The pictures of the next two parts, once.
make_pictures() {
  [ -e "$pictures/grey720.pgm" ] || python3 tests/gpu-bench-pictures.py "$frames" "$pictures"
}

# --- Tier-1 of grey pictures, compared with CPU encoders
# timed KEY COMMAND...: prints the seconds of the whole process, and the time that it reports for its Tier-1
timed() {
  local key=$1 seconds
  shift
  seconds=$({ TIMEFORMAT=%R && time "$@" >"$work/$key.out" 2>&1; } 2>&1)
  echo "bench $key: {\"seconds\":${seconds:-0},\"tier1_ms\":$(sed -n 's/^tier1 \([0-9.]*\) ms$/\1/p' \
    "$work/$key.out" | grep . || echo null)}"
}
# cpu_coders THREADS HEIGHT ROUND: OpenJPEG and Grok, one frame per process; our CPU back end, several frames
cpu_coders() {
  local threads=$1 height=$2 round=$3 peer
  local grey=$pictures/grey$2.pgm options=(-n 4 -b '32,32')
  for peer in opj:-threads grk:-H; do
    command -v ${peer%:*}_compress >/dev/null || continue
    timed cpu.$height.${peer%:*}.$threads.$round ${CJ2K_PEERS:+"$CJ2K_PEERS/"}${peer%:*}_compress \
      ${peer#*:} "$threads" -i "$grey" -o "$work/${peer%:*}$height.j2k" "${options[@]}"
  done
  [ $round != 1 ] || figure cpu.$height.cj2k.$threads "$bench" encode --backend cpu --threads "$threads" --in-flight 1 \
    --frames 3 --rate-control lossless --num-resolutions 4 --codeblock-width 32 --codeblock-height 32 "$grey"
}
bench_grey() {
  local height size n round
  make_pictures
  for height in 720 1080 2160; do
    for size in 16 32 64; do
      for n in 1 16; do
        [ $n = 16 ] && [ $size != 32 ] && continue
        ours grey.$height.$size.$n encode --stages --in-flight $n --frames 100 --rate-control lossless \
          --num-resolutions 4 --codeblock-width $size --codeblock-height $size "$pictures/grey$height.pgm"
      done
    done
  done
  for round in 1 2; do # of one thread each: side by side, for all the same
    for height in 720 1080 2160; do
      cpu_coders 1 $height $round >"$work/cpu.$height" &
    done
    wait
    cat "$work"/cpu.720 "$work"/cpu.1080 "$work"/cpu.2160
    for height in 720 1080 2160; do
      cpu_coders "$(nproc)" $height $round
    done
  done
}

# --- transforms of RGB pictures of 10 bits, and of grey ones compared with one core
bench_transforms() {
  local size options=(--output device --stages --in-flight 1 --frames 30 --quant-step 0.004)
  make_pictures
  for size in 2048x1080 1920x1080 4096x2160 3840x2160; do
    ours rgb.$size.ict encode "${options[@]}" "$pictures/rgb$size.ppm"
    ours rgb.$size.xyz encode "${options[@]}" --rgb-to-xyz=on "$pictures/rgb$size.ppm"
  done
  for size in 512 1024 2048 4096; do
    ours dwt.$size.enc.cuda encode "${options[@]}" --num-resolutions 4 "$pictures/square$size.pgm"
    figure dwt.$size.enc.cpu "$bench" encode --backend cpu --threads 1 --in-flight 1 --frames 5 --block-coder ht \
      --quant-step 0.004 --num-resolutions 4 --write "$work/square.j2k" "$pictures/square$size.pgm"
    ours dwt.$size.dec.cuda decode --output device --stages --in-flight 1 --frames 30 "$work/square.j2k"
    figure dwt.$size.dec.cpu "$bench" decode --backend cpu --threads 1 --in-flight 1 --frames 5 "$work/square.j2k"
  done
}

# --- one stream a frame compared with one a component
bench_parts() {
  local output n way options=(--block-coder ht --quant-step 0.004 --frames 150)
  local yuv=(--width 3840 --height 2160 --format I422_10LE "$frames/uhd_422p10.raw") rgb=("$frames/uhd_rgb12.ppm")
  stream "$work/rgb.j2k" --block-coder ht --bits-per-pixel 4 "$frames/uhd_rgb12.ppm"
  for n in device.1 host.1 host.4 device.8; do
    for way in off on; do
      output=(--output "${n%.*}" --in-flight "${n#*.}" --component-streams "$way")
      ours parts.dec.422.$n.$way decode "${output[@]}" --frames 150 "$work/422.j2k"
      ours parts.dec.rgb.$n.$way decode "${output[@]}" --frames 150 "$work/rgb.j2k"
      ours parts.enc.422.$n.$way encode "${output[@]}" "${options[@]}" "${yuv[@]}"
      ours parts.enc.rgb.$n.$way encode "${output[@]}" "${options[@]}" "${rgb[@]}"
    done
  done
}

# --- the elements in CUDAMemory, each after the library with the same input
bench_elements() {
  local raw="video/x-raw,format=I422_10LE,framerate=50/1" n
  local coded="image/x-jpc,sampling=YCbCr-4:2:2,colorspace=sYUV,framerate=50/1"
  local uhd="width=3840,height=2160" hd="width=1920,height=1080" repeat="identity name=repeat"
  ours elements.library.dec decode --output device --format I422_10LE --in-flight 16 --frames 1500 "$work/422.j2k"
  figure elements.dec "$elements" 1500 "$work/422.j2k" "$coded,$uhd" \
    "$repeat ! cudaj2kdec backend=cuda frames-in-flight=16 ! video/x-raw(memory:CUDAMemory),format=I422_10LE"
  ours elements.library.enc encode --output device --width 3840 --height 2160 --format I422_10LE --in-flight 16 \
    --frames 1500 --block-coder ht --quant-step 0.004 "$frames/uhd_422p10.raw"
  figure elements.enc "$elements" 1500 "$frames/uhd_422p10.raw" "$raw,$uhd" \
    "cudaupload ! video/x-raw(memory:CUDAMemory) ! $repeat ! cudaj2kenc backend=cuda frames-in-flight=16 block-coder=ht rate-control=qstep quant-step=0.004"
  for n in 32 64; do
    stream "$work/mq.j2k" --bits-per-pixel 4 --codeblock-width $n --codeblock-height $n --width 1920 --height 1080 \
      --format I422_10LE "$frames/hd_422p10.raw"
    figure elements.mq$n.dec "$elements" 500 "$work/mq.j2k" "$coded,$hd" \
      "$repeat ! cudaj2kdec backend=cuda frames-in-flight=16"
    figure elements.mq$n.enc "$elements" 300 "$frames/hd_422p10.raw" "$raw,$hd" \
      "$repeat ! cudaj2kenc backend=cuda frames-in-flight=16 bits-per-pixel=4 codeblock-width=$n codeblock-height=$n"
  done
}

# --- overlap of copies and kernels, and timelines of the streams for docs/plot_timeline.py
# timeline NAME OPERATION ARGUMENTS...
timeline() {
  local name=$1 operation=$2
  shift 2
  ours timeline.$name $operation --stages ${CJ2K_TIMELINES:+--timeline "$CJ2K_TIMELINES/$name.json"} "$@"
}
bench_timelines() {
  local ht=$streams/uhd_rgb12_ht_4bpp.j2k picture=$frames/uhd_rgb12.ppm n
  local step=(--block-coder ht --quant-step 0.0083) mq=(--codeblock-width 32 --codeblock-height 32)
  timeline decode-host-1 decode --in-flight 1 --frames 40 "$ht"
  timeline decode-host-4 decode --in-flight 4 --frames 40 "$ht"
  timeline decode-device-16 decode --output device --in-flight 16 --frames 64 "$ht"
  timeline encode-host-1 encode --in-flight 1 --frames 40 "${step[@]}" "$picture"
  timeline encode-host-4 encode --in-flight 4 --frames 40 "${step[@]}" "$picture"
  for n in 1 8; do
    timeline mq-cbr-$n encode --in-flight $n --frames 40 --bits-per-pixel 4 "${mq[@]}" "$picture"
    timeline mq-lossless-$n encode --in-flight $n --frames 40 --rate-control lossless "${mq[@]}" "$picture"
  done
}

# --- streams side by side on one GPU, through the library and through the elements; needs no files
# live KEY STREAMS OPTIONS...
live() {
  local key=$1 streams=$2
  shift 2
  ours live.$key.$streams live --bits-per-pixel 3 --frames 240 --streams $streams "$@"
}
bench_live() {
  local n one=(--cuda-device-id 0 --block-coder)
  for n in 1 16 32 48 64; do
    live ht.1080p $n "${one[@]}" ht
  done
  for n in 4 12 16; do
    live ht.2160p $n "${one[@]}" ht --size 3840x2160
  done
  live mq.1080p 16 "${one[@]}" mq --codeblock-width 32 --codeblock-height 32
  live ht.1080p.device 96 "${one[@]}" ht --output device
  for n in 4 16; do # of the worst process; each prints a line
    live processes.ht.1080p $n "${one[@]}" ht --processes $n --streams 1 | awk '/: {/ { sub(/: /, "." ++n ": ") } 1'
  done
  if [ -x "$elements" ]; then
    live ht.1080p.elements 48 "${one[@]}" ht --elements
    live mq.1080p.elements 16 "${one[@]}" mq --elements --codeblock-width 32 --codeblock-height 32
  fi
}

# --- what rate control costs with pictures that move and cut, and with one of them over and over; needs no files but for
# RGB. The fixed step makes as many bytes as the budget.
bench_film() {
  local n where size=3840x2160 mq=(--codeblock-width 32 --codeblock-height 32 --bits-per-pixel 3)
  local film=(--moving "$size" --frames 384) raw=(--width 3840 --height 2160 --format I422_10LE --frames 384)
  local step=(--block-coder ht --quant-step 0.00338) budget=(--block-coder ht --bits-per-pixel 3)
  stream "$work/film.j2k" --moving $size --block-coder ht --rate-control lossless
  "$build/examples/cj2k-decode" "$work/film.j2k" "$work/film.raw"
  for n in 1 8 16; do
    for where in device host; do
      ours film.ht.cbr.$where.$n encode --output $where --in-flight $n "${film[@]}" "${budget[@]}"
      ours film.ht.step.$where.$n encode --output $where --in-flight $n "${film[@]}" "${step[@]}"
      ours film.mq.cbr.$where.$n encode --output $where --in-flight $n "${film[@]}" "${mq[@]}"
      ours film.mq.still.$where.$n encode --output $where --in-flight $n "${raw[@]}" "${mq[@]}" "$work/film.raw"
    done
  done
  for where in device host; do
    as_set film.ht.cbr.$where.default encode --output $where --in-flight 1 "${film[@]}" "${budget[@]}"
    as_set film.mq.cbr.$where.default encode --output $where --in-flight 1 "${film[@]}" "${mq[@]}"
  done
  # A natural picture, of which parts differ more than those of the made one.
  if [ -n "$frames" ]; then
    python3 tests/gpu-bench-pictures.py "$frames" "$pictures" film
    film+=("$pictures/film.ppm") step=(--block-coder ht --quant-step 0.0096) budget=(--block-coder ht --bits-per-pixel 4)
    for n in 1 2 3; do
      ours film.rgb.turn.cbr.$n encode --output device --in-flight 16 "${film[@]}" "${budget[@]}"
      ours film.rgb.turn.step.$n encode --output device --in-flight 16 "${film[@]}" "${step[@]}"
    done
    for where in device host; do
      for n in 1 2 4 8 16; do
        ours film.rgb.cbr.$where.$n encode --output $where --in-flight $n "${film[@]}" "${budget[@]}"
        ours film.rgb.step.$where.$n encode --output $where --in-flight $n "${film[@]}" "${step[@]}"
      done
      as_set film.rgb.cbr.$where.default encode --output $where --in-flight 1 "${film[@]}" "${budget[@]}"
    done
  fi
}

# --- one and two GPUs: one stream that both share, from host memory to host memory; and streams spread over them, in one
# process and in one for each GPU
bench_several() {
  local devices n coder size flights gpu
  if [ "$(nvidia-smi -L | grep -c '^GPU')" -lt 2 ]; then
    echo "bench part: several skipped: there is only one GPU"
    return
  fi
  if [ -n "$frames" ]; then
    for coder in ht mq; do
      case $coder in
      ht) size=64 flights="8 16 32" ;;
      mq) size=32 flights="8 16 32 64" ;;
      esac
      stream "$work/several.j2k" --block-coder $coder --codeblock-width $size --codeblock-height $size \
        --bits-per-pixel 4 "$frames/uhd_rgb12.ppm"
      for n in $flights; do
        for devices in 0 0,1; do
          ours several.$coder.enc.${devices/,/-}.$n encode --cuda-devices $devices --in-flight $n --frames 500 \
            --block-coder $coder --codeblock-width $size --codeblock-height $size --bits-per-pixel 4 \
            "$frames/uhd_rgb12.ppm"
          ours several.$coder.dec.${devices/,/-}.$n decode --cuda-devices $devices --in-flight $n --frames 500 \
            "$work/several.j2k"
        done
      done
    done
  fi
  for n in 96 128; do
    live both.ht.1080p $n --block-coder ht
  done
  for n in 24 32; do
    live both.ht.2160p $n --block-coder ht --size 3840x2160
  done
  for n in 48 64; do
    for gpu in 0 1; do
      live apart$gpu.ht.1080p $n --block-coder ht --cuda-device-id $gpu >"$work/apart.$gpu" &
    done
    wait
    cat "$work"/apart.[01]
  done
}

if [ -n "$frames" ]; then
  stream "$work/422.j2k" --block-coder ht --quant-step 0.004 --width 3840 --height 2160 --format I422_10LE \
    "$frames/uhd_422p10.raw"
fi
for part in ${CJ2K_BENCH_PARTS:-decode turns refine encode v210 bypass grey transforms parts elements timelines live film several}; do
  case $part in
  decode) needs=$streams ;;
  elements) needs=$([ ! -x "$elements" ] || echo "$frames") ;;
  refine) needs=$([ ! -x "$build/tests/encode-refined" ] || echo "$frames") ;;
  timelines) needs=${frames:+$streams} ;;
  live | film | several) needs=nothing ;;
  *) needs=$frames ;;
  esac
  if [ -z "$needs" ]; then
    echo "bench part: $part skipped: it needs CJ2K_STREAMS, CJ2K_FRAMES, or a program of $build/tests"
    continue
  fi
  echo "bench part: $part, $SECONDS s"
  bench_$part
done
echo "bench part: end, $SECONDS s"
