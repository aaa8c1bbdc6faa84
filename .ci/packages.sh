# SPDX-License-Identifier: LGPL-2.1-or-later
# Sourced by .ci/bare.sh: tests the Debian packages, built in the bare system in $root and installed in the
# fresh one in $fresh, which has nothing else; and the tarball of a release, built there with GLib and libpng.
# shellcheck shell=bash disable=SC2154 # root, fresh, clone, suite are bare.sh's

# Formats and options of films that must be lossless.
lossless_films=('I422_10LE block-coder=ht' 'RGB block-coder=mq' 'GRAY16_LE block-coder=ht')

# in_fresh NAME COMMAND: one test.
in_fresh() {
  check "$suite, packages: $1" in_root "$fresh" "set -e; $2"
}

build_packages() {
  check "$suite: scripts/deb.sh" in_root "$root" "cd cudaj2k && CJ2K_NVCC_ARCH=75 ./scripts/deb.sh --lint /root/packages"
  check "$suite: meson dist" in_root "$root" "cd cudaj2k && meson dist -C build --no-tests --formats gztar"
  mkdir -p "$fresh/root/packages"
  cp "$root"/root/packages/*.deb "$clone"/build/meson-dist/*.tar.gz "$fresh/root/packages/"
}

# film FORMAT OPTIONS: prints commands that encode a film to a file, decode it, and compare the samples. At
# this width rows have no padding, whose bytes would differ.
film() {
  local source="videotestsrc num-buffers=10 pattern=smpte100 ! video/x-raw,format=$1,width=328,height=182,framerate=25/1"
  echo "rm -f film.*
    gst-launch-1.0 -q $source ! tee name=t ! queue ! filesink location=film.raw \
      t. ! queue ! cudaj2kenc rate-control=lossless ${*:2} ! mj2mux ! filesink location=film.mj2
    gst-launch-1.0 -q filesrc location=film.mj2 ! qtdemux ! cudaj2kdec ! video/x-raw,format=$1 ! filesink location=film.out
    test -s film.raw && cmp film.raw film.out"
}

use_packages() {
  local film
  in_fresh "are installed" "apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends gstreamer1.0-tools \
      gstreamer1.0-plugins-base gstreamer1.0-plugins-good \$(ls ./packages/*.deb | grep -v -- -dev)"
  in_fresh "need no build tools" "! command -v gcc && ! command -v meson"
  in_fresh "need nothing of NVIDIA's" "! dpkg-query -W | grep -i -e nvidia -e libcuda"
  in_fresh "gst-inspect finds the elements" "for element in cudaj2kenc cudaj2kdec rtpj2ksclpay rtpj2kscldepay; do gst-inspect-1.0 \$element || exit; done"
  for film in "${lossless_films[@]}"; do
    # shellcheck disable=SC2086 # words
    in_fresh "a film of $film" "$(film $film)"
  done
  in_fresh "decodebin plays a film" "gst-launch-1.0 -q filesrc location=film.mj2 ! decodebin ! fakesink"
  in_fresh "cj2k-encode and cj2k-decode" "gst-launch-1.0 -q videotestsrc num-buffers=1 ! video/x-raw,format=RGB ! pngenc ! filesink location=a.png
    cj2k-encode a.png a.jp2 && cj2k-decode a.jp2 b.png && cj2k-compare a.png b.png c.png && test -s c.png"
  in_fresh "cj2k-farm, with python3-distributed" "DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
      python3-distributed &&
    gst-launch-1.0 -q videotestsrc num-buffers=12 ! video/x-raw,format=RGB ! pngenc snapshot=false \
      ! multifilesink location=f.%07d.png &&
    cj2k-farm f.%07d.png film.j2c --workers=2 --rate-period=4 -- --rate-control=lossless &&
    cj2k-encode f.%07d.png one.%07d.j2c --rate-control=lossless && cat one.*.j2c | cmp - film.j2c"
}

use_library() {
  in_fresh "libcj2k-dev is installed" "DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
      gcc libc6-dev pkg-config \$(ls ./packages/*.deb | grep -- -dev)"
  in_fresh "minimal-encode is compiled against it" "cp /usr/share/doc/libcj2k-dev/examples/minimal-*.c .
    gcc -Wall -Werror minimal-encode.c \$(pkg-config --cflags --libs cj2k) -o minimal-encode
    gcc -Wall -Werror minimal-decode.c \$(pkg-config --cflags --libs cj2k) -o minimal-decode
    head -c 1000000 /dev/urandom >frame.raw
    ./minimal-encode 400 300 100000 frame <frame.raw
    ls frame-00001.j2c && ./minimal-decode frame-00001.j2c"
}

# A path of the packages that is left after the purge is an error, unless another package has it.
purge_packages() {
  in_fresh "leave nothing behind" "names=\$(for file in packages/*.deb; do dpkg-deb -f \$file Package; done)
    dpkg -L \$names | grep -vx '/\.' | sort -u >paths
    DEBIAN_FRONTEND=noninteractive apt-get purge -y -qq \$names
    if dpkg-query -W \$names 2>/dev/null | grep .; then exit 1; fi
    left=\$(while read -r path; do test ! -e \$path || dpkg -S \$path >/dev/null 2>&1 || echo \$path; done <paths)
    echo left: \$left; test -s paths && test -z \"\$left\""
}

# Builds the library and the tools without GStreamer. On the newer system the tests are built as well and run, but for those of
# the library's modules (suite unit): they are the same programs with GStreamer and without, and tests/run.sh runs them.
build_tarball() {
  local tests=false
  [ "$compiler" = pinned ] || tests=true
  in_fresh "the tarball is built without GStreamer" "DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
      gcc libc6-dev meson ninja-build pkg-config libglib2.0-dev libpng-dev python3-numpy
    if pkg-config --exists gstreamer-1.0; then exit 1; fi
    mkdir tarball && tar -xzf packages/*.tar.gz -C tarball --strip-components=1
    meson setup -Dwerror=true -Dcuda=disabled -Dgstreamer=disabled -Dtests=$tests tarball/build tarball && ninja -C tarball/build"
  [ "$tests" = true ] || return 0
  in_root "$fresh" "cd tarball && meson test -C build --no-rebuild --no-stdsplit --no-suite unit" >"$folder/log" 2>&1
  counted in_root "$fresh" "cd tarball && python3 tests/summary.py build/meson-logs/testlog.json"
}
