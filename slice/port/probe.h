/* probe.h - USDT probes on the slow paths, where sys/sdt.h is present
 *
 * Layer: port.  `readelf -n libslice.so` lists them; perf, bpftrace and
 * SystemTap attach to them.  An unused probe is one nop.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_PORT_PROBE_H
#define SLI_PORT_PROBE_H

#ifdef HAVE_SYS_SDT_H
# include <sys/sdt.h>
# define PROBE2(name, a, b) DTRACE_PROBE2 (slice, name, a, b)
# define PROBE3(name, a, b, c) DTRACE_PROBE3 (slice, name, a, b, c)
#else
# define PROBE2(name, a, b) ((void) 0)
# define PROBE3(name, a, b, c) ((void) 0)
#endif

#endif
