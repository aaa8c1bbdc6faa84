# SPDX-License-Identifier: LGPL-2.1-or-later
"""Films and live streams over many GPUs and hosts, with Dask.

command.py reads the command line. film.py cuts a film into parts and waits for them, join.py makes one file of
them; live.py places streams. engine.py is all that knows Dask on the side of the command. part.py, stream.py and
child.py run on the workers: they are sent there, so that a worker needs nothing but dask and the tools.
"""
