/*
 * OpenVDB behind a C interface: the one place where the project meets C++. Built without OpenVDB
 * (vdb_none.c) every function answers that it is missing.
 *
 * No exception leaves: each becomes a status with the file and OpenVDB's own words.
 */
#ifndef FIRN_IO_VDB_H
#define FIRN_IO_VDB_H

#ifdef __cplusplus
extern "C" {
#endif

const char *vdb_version(void); /* "10.0.1", or "none" */

#ifdef __cplusplus
}
#endif
#endif
