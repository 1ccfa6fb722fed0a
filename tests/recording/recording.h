/* recording.h - a recorded compile, as a tree of blocks
 *
 * Interprets the operations of a program with contexts, linear contexts and
 * collected contexts (docs/man/slice-test.1 has the table of them): it follows
 * the tree and says what becomes of each block.  A program that replays a
 * recording takes what it needs of that (RecordingEvents).
 *
 * Nodes are numbers.  Node 0 is the root, the parent of what has none.  New
 * children come first, and a tree is freed leaves first, in the order of the
 * lists, as the recorded program does it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_RECORDING_H
#define TESTS_RECORDING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct
{
  uint32_t parent;
  uint32_t child;      /* the first; 0: none */
  uint32_t next, prev; /* neighbours; 0: none */
  uint32_t size;       /* as recorded */
  uint32_t sweep; /* number of the last sweep that it survived; of a
                     context: of the latest one */
  char letter;    /* of the operation that made it */
  bool is_alive;
} RecordedNode;

/* An operation, with nodes in place of ids. */
typedef struct
{
  char letter;
  uint32_t node;  /* what it is about; 0: one that has no id */
  uint32_t other; /* the parent, the context or the former parent */
  uint32_t size, alignment;
} RecordedOp;

/* Any of these may be NULL. */
typedef struct
{
  /* An operation as recorded, before what comes of it. */
  void (*op) (void *data, const RecordedOp *op);
  void (*made) (void *data, uint32_t node);
  void (*resized) (void *data, uint32_t node, uint32_t old_size);
  void (*moved) (void *data, uint32_t node); /* has its new parent */
  /* A node and all beneath it are about to be freed. */
  void (*freed) (void *data, uint32_t node);
  /* A node's block is freed; those beneath it were before. */
  void (*ended) (void *data, uint32_t node);
} RecordingEvents;

typedef struct
{
  const char *program; /* whose messages these are */
  const RecordingEvents *events;
  void *data;        /* for them */
  uint32_t size_max; /* a larger size is an error */
  RecordedNode *nodes;
  uint32_t n_nodes, nodes_capacity;
  uint32_t *node_of_id; /* [ids_capacity]; 0: never seen */
  uint32_t ids_capacity;
} Recording;

/* recording.c; the four first members are the caller's. */
void recording_init (Recording *recording);
/* Frees what is alive: an operation each for the children of the root. */
void recording_finish (Recording *recording);
void recording_clear (Recording *recording);
/* A node that the recording has not; `letter' must be none of its. */
uint32_t recording_add_own (Recording *recording, char letter, uint32_t parent,
                            uint32_t size);
/* Follows an operation whose ids are in `node' and `other'.  NULL, or what is
 * wrong with it; nothing has changed then. */
const char *recording_apply (Recording *recording, RecordedOp op);
/* Grows an array for one element more; `capacity' counts elements. */
void *recording_grow (void *array, uint32_t n, uint32_t *capacity,
                      size_t size);

/* recording-read.c; a file may be compressed by xz.  False: said on standard
 * error. */
bool recording_read (Recording *recording, FILE *file, const char *name);
bool recording_read_path (Recording *recording, const char *path);

#endif
