#include "io/h5.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

void h5_release(hid_t *id)
{
    if (*id >= 0)
        H5Idec_ref(*id);
    *id = -1;
}

/* Recursive: one public function calls another. */
static pthread_mutex_t library = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

h5_printer h5_silence(void)
{
    pthread_mutex_lock(&library);
    h5_printer saved = {0};
    H5Eget_auto2(H5E_DEFAULT, &saved.print, &saved.data);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    return saved;
}

void h5_unsilence(h5_printer *saved)
{
    H5Eset_auto2(H5E_DEFAULT, saved->print, saved->data);
    pthread_mutex_unlock(&library);
}

static herr_t keep_deepest(unsigned depth, const H5E_error2_t *error, void *out)
{
    h5_reason *reason = out;
    if (depth == 0 && error->desc)
        snprintf(reason->text, sizeof reason->text, "%s", error->desc);
    return 0;
}

h5_reason h5_last_reason(void)
{
    h5_reason reason = {"HDF5 gives no reason"};
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_deepest, &reason);
    reason.text[strcspn(reason.text, "\r\n")] = '\0';
    return reason;
}

h5_shape h5_rows_of(size_t rows, int components, int dimensions)
{
    hsize_t d = (hsize_t)dimensions;
    if (components == 1)
        return (h5_shape){1, {rows}};
    if (components == dimensions)
        return (h5_shape){2, {rows, d}};
    return (h5_shape){3, {rows, d, d}};
}
