/* trace-format.h - the trace file: operations, blocks, columns
 *
 * Tools, shared by the recorder (which needs the operations only), the packer
 * that writes a trace and the reader.  docs/design/trace-format.md describes
 * the format; keep the two in step.
 *
 *   +--------+-------+-------+-----+-------+--------+---------+
 *   | header | block | block | ... | block | index  | trailer |
 *   | 64 B   |       |       |     |       | block  | 16 B    |
 *   +--------+-------+-------+-----+-------+--------+---------+
 *
 * Every block can be read without the others: a file that lost its end is read
 * by walking the block heads, and loses no more than the block that was cut.
 *
 * Design: chapter 13.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_FORMAT_TRACE_FORMAT_H
#define SLI_TRACE_FORMAT_TRACE_FORMAT_H

#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>

#define TRACE_MAGIC "SLTRACE\n" /* 8 bytes, no terminator */
#define TRACE_TRAILER_MAGIC "SLTREND\n"
#define TRACE_VERSION 2u
#define TRACE_VERSION_SAMPLED 3u /* the same, of some blocks only */
#define TRACE_VERSION_FIRST 1u /* that is read: it has fewer operations */
#define TRACE_BYTE_ORDER 0x01020304u  /* differs on machines of the other
                                         order */
#define TRACE_BLOCK_MAGIC 0x4b424c53u /* "SLBK" */
#define TRACE_BLOCK_EVENTS 65536u
/* 4096 ticks are 1.6 us at 2.6 GHz: fine enough for a lifetime, and the
 * time column nearly vanishes.  Blocks of programs with several threads keep
 * every tick, because their events are merged by time. */
#define TRACE_COARSE_SHIFT 12u

/* The operations.  Allocations are below 32, frees below 48. */
typedef enum
{
  TRACE_OP_NONE = 0,
  TRACE_OP_MALLOC,
  TRACE_OP_CALLOC,
  TRACE_OP_REALLOC, /* the new block of a realloc that succeeded */
  TRACE_OP_REALLOCARRAY,
  TRACE_OP_MEMALIGN,
  TRACE_OP_POSIX_MEMALIGN,
  TRACE_OP_ALIGNED_ALLOC,
  TRACE_OP_VALLOC,
  TRACE_OP_PVALLOC,
  TRACE_OP_NEW,
  TRACE_OP_NEW_ARRAY,
  TRACE_OP_NEW_ALIGNED,
  TRACE_OP_NEW_ARRAY_ALIGNED,
  TRACE_OP_SLICE_ALLOC,
  TRACE_OP_CONTEXT_ALLOC,
  TRACE_OP_LINEAR_ALLOC,
  TRACE_OP_MMAP,
  TRACE_OP_REALLOC_KEPT, /* realloc failed: the old block lives on */
  TRACE_OP_STACK_ALLOC,  /* from version 2 on */
  TRACE_OP_POOL_ALLOC,
  TRACE_OP_TLSF_ALLOC,

  TRACE_OP_FREE = 32,
  TRACE_OP_REALLOC_FREE, /* the old block of a realloc */
  TRACE_OP_DELETE,
  TRACE_OP_DELETE_ARRAY,
  TRACE_OP_DELETE_SIZED, /* the freeing code knew the size */
  TRACE_OP_DELETE_ARRAY_SIZED,
  TRACE_OP_SLICE_FREE,
  TRACE_OP_CONTEXT_FREE,
  TRACE_OP_LINEAR_FREE,
  TRACE_OP_MUNMAP,
  TRACE_OP_STACK_FREE, /* from version 2 on */
  TRACE_OP_POOL_FREE,
  TRACE_OP_TLSF_FREE,

  TRACE_OP_SCOPE_BEGIN = 48, /* address: the string's id */
  TRACE_OP_SCOPE_END,
  TRACE_OP_MARK,
  TRACE_OP_TIME, /* raw only: address is the ticks since the chunk's base */
  TRACE_OP_BIG,  /* raw only: high half of the next event's size */
  TRACE_N_OPS
} TraceOp;

static inline bool
trace_op_is_alloc (unsigned op)
{
  return op > TRACE_OP_NONE && op < TRACE_OP_FREE;
}

static inline bool
trace_op_is_free (unsigned op)
{
  return op >= TRACE_OP_FREE && op < TRACE_OP_SCOPE_BEGIN;
}

const char *sli_trace_op_name (unsigned op);

/* A program counter in a node: 48 bits of address, and above them the
 * generation of the module there, which distinguishes plugins that were loaded
 * at the same place one after the other.  Two tags are special. */
#define TRACE_PC_BITS 48
#define TRACE_PC_MASK ((UINT64_C (1) << TRACE_PC_BITS) - 1)
#define TRACE_PC_TAG_LINE UINT64_C (0xffff) /* the address is a string id */

/* Node 0 is the root, node 1 the parent of the outermost frame of a stack
 * that was not walked to its end. */
#define TRACE_NODE_ROOT 0u
#define TRACE_NODE_CUT 1u
#define TRACE_N_FIXED_NODES 2u

/* --- the file ------------------------------------------------------------ */

typedef struct
{
  char magic[8];
  uint32_t version;
  uint32_t byte_order;
  uint32_t page_bytes;
  uint32_t pid;
  uint64_t ticks_per_sec;
  uint64_t start_ticks;
  uint64_t start_unix_nsec;
  uint32_t flags; /* TRACE_FLAG_* */
  uint32_t stack_depth;
  uint32_t free_depth;
  union
  {
    uint32_t empty_cost;   /* ticks of an empty measurement; timed runs */
    uint32_t sample_bytes; /* mean gap between samples; sampled runs */
  };
} TraceFileHead;

#define TRACE_FLAG_TIMED 1u  /* events carry the cost of the real call */
#define TRACE_FLAG_CHILD 2u  /* a forked child's trace */
#define TRACE_FLAG_SLICES 4u /* libslice's calls are in it, if it made any */
#define TRACE_FLAG_SAMPLED 8u /* of version 3: some blocks and their frees */
#define TRACE_FLAG_WATCHED 16u /* a part of the process's life */

typedef enum
{
  TRACE_BLOCK_EVENTS_TYPE = 1,
  TRACE_BLOCK_NODES,   /* {parent, pc} from node first_ticks on */
  TRACE_BLOCK_MODULES, /* TraceModule records */
  TRACE_BLOCK_STRINGS, /* id, length, bytes */
  TRACE_BLOCK_RSS,     /* ticks, KiB pairs */
  TRACE_BLOCK_SUMMARY, /* TraceSummary */
  TRACE_BLOCK_COMMAND, /* the arguments, each ended by a zero byte */
  TRACE_BLOCK_INDEX    /* one TraceIndexEntry per block before it; first_ticks:
                          sli_trace_head_hash(), 0 in older traces */
} TraceBlockType;

enum
{
  TRACE_CODEC_RAW = 0,
  TRACE_CODEC_ZSTD = 1
};

enum
{
  TRACE_COLUMN_OP,      /* 1 byte an event */
  TRACE_COLUMN_TIME,    /* varint, delta, in units of 2^time_shift ticks */
  TRACE_COLUMN_ADDRESS, /* varint: a distance back or a zigzag delta >> 4 */
  TRACE_COLUMN_NODE,    /* zigzag delta */
  TRACE_COLUMN_SIZE,    /* varint, allocs only */
  TRACE_COLUMN_LOW,     /* low 4 bits of addresses flagged as unaligned */
  TRACE_COLUMN_EXTRA,   /* varint: cost << 5 | log2 of the alignment */
  TRACE_N_COLUMNS
};

/* In the op column: the address has low bits, in the low column. */
#define TRACE_OP_UNALIGNED 0x80

/* Flags of a block. */
#define TRACE_BLOCK_HAS_EXTRA 1u
#define TRACE_BLOCK_CUT 2u /* its chunk was not closed by its owner */

typedef struct
{
  uint32_t magic;
  uint8_t type;
  uint8_t codec;
  uint8_t flags;
  uint8_t time_shift;
  uint32_t thread;
  uint32_t n_items;
  uint64_t first_ticks;
  uint64_t sequence; /* order of the blocks of one thread */
  uint32_t raw_bytes;
  uint32_t packed_bytes;
  uint32_t column_bytes[TRACE_N_COLUMNS]; /* before compression */
  uint32_t head_check;   /* low half of the hash of the fields above */
  uint64_t payload_hash; /* xxh64 of the packed bytes */
} TraceBlockHead;

typedef struct
{
  uint64_t offset;
  uint64_t first_ticks;
  uint64_t sequence;
  uint32_t thread;
  uint32_t n_items;
  uint32_t type;
  uint32_t bytes; /* head and payload */
} TraceIndexEntry;

typedef struct
{
  uint64_t index_offset;
  char magic[8];
} TraceTrailer;

/* The recorder's counts, for comparison with the events that were read. */
typedef struct
{
  uint64_t n_events;
  uint64_t n_dropped_nested; /* calls made while an event was recorded */
  uint64_t n_dropped_full;   /* no space for the event */
  uint64_t n_failed;         /* the allocator returned NULL */
  uint64_t n_backing;        /* libslice's own calls of malloc */
  uint64_t end_ticks;
  uint64_t flags; /* TRACE_SUMMARY_CUT */
  uint64_t exit_status;
  /* the processor's time of a run without the recorder; 0: there was none */
  uint64_t plain_nsec;
} TraceSummary;

/* The fields of the first version: older traces stay readable. */
#define TRACE_SUMMARY_BYTES_MIN offsetof (TraceSummary, plain_nsec)

#define TRACE_SUMMARY_CUT 1u     /* ended without its exit handlers */
#define TRACE_SUMMARY_RUNNING 2u /* still ran when the trace was closed */
#define TRACE_SUMMARY_LIBGCC 4u  /* libgcc walked the stacks: no libunwind */

typedef struct
{
  uint64_t bias;
  uint64_t low; /* of the loaded segments */
  uint64_t high;
  uint32_t tag; /* generation, as in a node's pc */
  uint16_t build_id_bytes;
  uint16_t path_bytes;
  /* build id, path */
} TraceModule;

uint64_t sli_xxh64 (const void *bytes, uint64_t n_bytes, uint64_t seed);
/* The hash of a file's head, except the version, which a reader compares. */
uint64_t sli_trace_head_hash (const TraceFileHead *head);

#endif
