# SPDX-License-Identifier: LGPL-2.1-or-later
# An image with the packages of scripts/deb.sh installed. Build the packages on the release of BASE_IMAGE
# first; the build context is the folder that holds them:
#
#   ./scripts/deb.sh
#   docker build --build-arg BASE_IMAGE=debian:12 -f Dockerfile -t cudaj2k build/packages
#   docker run --rm --gpus all cudaj2k gst-inspect-1.0 cudaj2kenc
#
# This file was written without a Docker daemon at hand and has not been run. The commands of its RUN
# line are those with which the packages are tested on a bare Debian.
ARG BASE_IMAGE=debian:12
FROM ${BASE_IMAGE}

# The NVIDIA container toolkit brings the driver's libraries in; video: NVDEC and NVENC for nvcodec.
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility,video

COPY *.deb /tmp/packages/
RUN apt-get update && \
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        /tmp/packages/*.deb \
        gstreamer1.0-tools gstreamer1.0-plugins-base gstreamer1.0-plugins-good gstreamer1.0-plugins-bad && \
    rm -rf /tmp/packages /var/lib/apt/lists/*
