/*
 * Checkpoints: the whole state of a simulation in one HDF5 file.
 *
 * Invariants: a file under its final name is complete (temporary name, fsync, rename). A file that
 * is truncated, foreign, of another layout or with rows that do not fit is refused with a message
 * that says what is wrong, before any of it is used. A state that could not be resumed (a value not
 * finite; a mass, volume or J_P not positive) is not written: FIRN_BLOWUP.
 */
#ifndef FIRN_IO_CHECKPOINT_H
#define FIRN_IO_CHECKPOINT_H

#include "firn/io.h"

typedef struct checkpoint_reader checkpoint_reader;

/* Write `sim` (through the public reading functions) with these root attributes. `rest`, one value a row,
 * may be NULL: nothing sleeps. */
firn_status checkpoint_write(const char *path, const firn_checkpoint_info *info,
                             const firn_sim *sim, const double *rest);

/* Open and verify everything but the values, which are verified as they are read. Owned by the
 * caller; info is filled. */
firn_status checkpoint_open(const char *path, firn_checkpoint_info *info,
                            checkpoint_reader **reader);
bool checkpoint_has(const checkpoint_reader *reader, firn_attribute attribute);
firn_status checkpoint_read(checkpoint_reader *reader, firn_attribute attribute, size_t first,
                            size_t count, double *values);
firn_status checkpoint_read_ids(checkpoint_reader *reader, uint64_t *ids);
firn_status checkpoint_read_objects(checkpoint_reader *reader, uint32_t *objects);
/* Whether there are still times, and then what they are. */
bool checkpoint_has_rest(const checkpoint_reader *reader);
firn_status checkpoint_read_rest(checkpoint_reader *reader, double *rest);
void checkpoint_close(checkpoint_reader **reader);

#endif
