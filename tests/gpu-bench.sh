# SPDX-License-Identifier: LGPL-2.1-or-later
# Sourced by tests/gpu.sh --bench: our figures and nvJPEG2000's, one after the other in one run. A line of JSON
# each. docs/performance.md says what they are.
bench=$build/examples/cj2k-bench
elements=$build/tests/bench-elements

# --- decoding, beside nvJPEG2000
for name in ht_1bpp ht_4bpp ht_lossless mq32_1bpp mq32_4bpp mq32_lossless mq32_4bpp_bypass; do
  stream=$streams/uhd_rgb12_$name.j2k
  [ -e "$stream" ] || continue
  case $name in ht*) count=300 outputs="device host" ;; *) count=60 outputs=device ;; esac
  for output in $outputs; do
    for n in 1 4 8 16; do
      "$bench" decode --backend cuda --output $output --in-flight $n --frames 300 "$stream"
    done
  done
  if [ -n "${NVJ2K_BENCH:-}" ] && [ "${name%bypass}" = "$name" ]; then # it has no bypass
    for n in 1 4 8 16; do
      echo "nvjpeg2000 to device: $($NVJ2K_BENCH dec "$stream" $count $n 0)"
    done
  fi
done

# --- encoding RGB 12 bit, beside nvJPEG2000 with about as many bytes; it has no rate control
# encode_beside COUNT "OUR OPTIONS" "ITS HT, REVERSIBLE, KIND OF QUALITY, QUALITY" CODE-BLOCK
encode_beside() {
  local output n
  for output in device host; do
    for n in 1 4 8 16; do
      # shellcheck disable=SC2086
      "$bench" encode --backend cuda --output $output --in-flight $n --frames "$1" --codeblock-width "$4" \
        --codeblock-height "$4" $2 "$frames/uhd_rgb12.ppm"
    done
    [ -n "${NVJ2K_BENCH:-}" ] || continue
    for n in 1 4 8 16; do
      # shellcheck disable=SC2086
      echo "nvjpeg2000 from $output: $([ $output = device ] && export NO_H2D=1
        $NVJ2K_BENCH enc "$frames/uhd_rgb12.raw" 3840 2160 3 12 1 $3 "$1" $n "$4")"
    done
  done
}
if [ -n "$frames" ]; then
  encode_beside 300 "--block-coder ht --quant-step 0.0083" "1 0 1 20" 64
  encode_beside 300 "--block-coder ht --bits-per-pixel 4" "1 0 1 20" 64
  encode_beside 200 "--block-coder ht --rate-control lossless" "1 1 0 0" 64
  encode_beside 40 "--block-coder mq --bits-per-pixel 3.8" "0 0 1 20" 32
  encode_beside 40 "--block-coder mq --rate-control lossless" "0 1 0 0" 32
  for n in 1 16; do # 250 Mbit/s
    "$bench" encode --backend cuda --in-flight $n --frames 100 --profile cinema-2k --framerate 24 --bitrate 250000 --rgb-to-xyz \
      "$frames/hd_rgb12.ppm"
  done
fi

# --- v210 from and to the host
if [ -n "$frames" ]; then
  "$build/examples/cj2k-encode" --backend cuda --block-coder ht --quant-step 0.004 --width 3840 --height 2160 \
    --format I422_10LE "$frames/uhd_422p10.raw" "$work/422.j2k"
  gst-launch-1.0 -q filesrc location="$frames/uhd_422p10.raw" blocksize=33177600 ! rawvideoparse \
    format=i422-10le width=3840 height=2160 ! videoconvert ! video/x-raw,format=v210 ! filesink \
    location="$work/v210.raw"
  for n in 4 8; do
    "$bench" encode --backend cuda --in-flight $n --frames 300 --block-coder ht --quant-step 0.004 --width 3840 \
      --height 2160 --format v210 "$work/v210.raw"
    "$bench" decode --backend cuda --in-flight $n --frames 300 --format v210 "$work/422.j2k"
  done
fi

# --- Part 1: selective arithmetic coding bypass against none; grey pictures beside CPU encoders
if [ -n "$frames" ]; then
  for rate in "--rate-control lossless" "--bits-per-pixel 4"; do
    for n in 1 8; do
      for style in "" "--codeblock-style bypass"; do
        # shellcheck disable=SC2086
        "$bench" encode --backend cuda --stages --in-flight $n --frames 40 --codeblock-width 32 \
          --codeblock-height 32 $rate $style "$frames/uhd_rgb12.ppm"
      done
    done
  done
  python3 - "$frames/uhd_gray8.raw" "$work" <<'PYTHON'
import sys
import numpy
grey = numpy.fromfile(sys.argv[1], numpy.uint8, 3840 * 2160).reshape(2160, 3840)
grey = numpy.concatenate([grey, grey[:, :-257:-1]], 1)
for width, height in (1280, 720), (1920, 1080), (4096, 2160):
    with open("%s/grey%d.pgm" % (sys.argv[2], height), "wb") as out:
        out.write(b"P5\n%d %d\n255\n" % (width, height) + grey[:height, :width].tobytes())
PYTHON
  for height in 720 1080 2160; do
    grey=$work/grey$height.pgm
    [ -e "$grey" ] || continue
    for n in 1 16; do
      "$bench" encode --backend cuda --stages --in-flight $n --frames 100 --rate-control lossless \
        --num-resolutions 4 --codeblock-width 32 --codeblock-height 32 "$grey"
    done
    for coder in "opj_compress -threads" "grk_compress -H"; do
      command -v "${coder%% *}" >/dev/null || continue
      for _ in 1 2 3; do
        # shellcheck disable=SC2086
        echo "$height, the whole of ${coder%% *}, seconds: $(TIMEFORMAT=%R
          { time $coder "$(nproc)" -i "$grey" -o "$work/grey.j2k" -n 4 -b 32,32 >/dev/null 2>&1; } 2>&1)"
      done
    done
  done
fi

# --- the elements, in CUDAMemory, each after what the library does with the same
if [ -x "$elements" ] && [ -e "$work/422.j2k" ]; then
  raw="video/x-raw,format=I422_10LE,framerate=50/1"
  coded="image/x-jpc,sampling=YCbCr-4:2:2,colorspace=sYUV,framerate=50/1"
  uhd="width=3840,height=2160" hd="width=1920,height=1080"
  "$bench" decode --backend cuda --output device --format I422_10LE --in-flight 16 --frames 1500 "$work/422.j2k"
  "$elements" 1500 "$work/422.j2k" "$coded,$uhd" \
    "identity name=repeat ! cudaj2kdec backend=cuda frames-in-flight=16 ! video/x-raw(memory:CUDAMemory),format=I422_10LE"
  "$bench" encode --backend cuda --output device --width 3840 --height 2160 --format I422_10LE --in-flight 16 \
    --frames 1500 --block-coder ht --quant-step 0.004 "$frames/uhd_422p10.raw"
  "$elements" 1500 "$frames/uhd_422p10.raw" "$raw,$uhd" \
    "cudaupload ! video/x-raw(memory:CUDAMemory) ! identity name=repeat ! cudaj2kenc backend=cuda frames-in-flight=16 block-coder=ht rate-control=qstep quant-step=0.004"
  for n in 32 64; do
    "$build/examples/cj2k-encode" --backend cuda --bits-per-pixel 4 --codeblock-width $n --codeblock-height $n \
      --width 1920 --height 1080 --format I422_10LE "$frames/hd_422p10.raw" "$work/mq.j2k"
    "$elements" 500 "$work/mq.j2k" "$coded,$hd" "identity name=repeat ! cudaj2kdec backend=cuda frames-in-flight=16"
    "$elements" 300 "$frames/hd_422p10.raw" "$raw,$hd" \
      "identity name=repeat ! cudaj2kenc backend=cuda frames-in-flight=16 bits-per-pixel=4 codeblock-width=$n codeblock-height=$n"
  done
fi

# --- what each stream does when, for docs/plot_timeline.py, into the folder CJ2K_TIMELINES
if [ -n "${CJ2K_TIMELINES:-}" ] && [ -n "$frames" ] && [ -n "$streams" ]; then
  "$bench" decode --backend cuda --in-flight 4 --frames 40 --timeline "$CJ2K_TIMELINES/decode-host-4.json" \
    "$streams/uhd_rgb12_ht_4bpp.j2k"
  "$bench" encode --backend cuda --in-flight 4 --frames 40 --timeline "$CJ2K_TIMELINES/encode-host-4.json" \
    --block-coder ht --quant-step 0.0083 "$frames/uhd_rgb12.ppm"
  "$bench" decode --backend cuda --output device --in-flight 16 --frames 64 \
    --timeline "$CJ2K_TIMELINES/decode-device-16.json" "$streams/uhd_rgb12_ht_4bpp.j2k"
fi
