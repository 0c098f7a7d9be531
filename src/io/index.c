/* Indexes: small files that name the frames of a folder with their times. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/file.h"
#include "io/usda.h"
#include "status.h"

/* A name with what JSON would misread escaped. */
static void put_name(FILE *out, const char *name)
{
    for (const char *c = name; *c; c++)
        fprintf(out, strchr("\"\\", *c) ? "\\%c" : "%c", *c);
}

/* ParaView's and VTK's series of files. */
static void put_series(FILE *out, const firn_index_entry *entries, size_t count)
{
    fprintf(out, "{\n  \"file-series-version\": \"1.0\",\n  \"files\": [");
    for (size_t k = 0; k < count; k++) {
        fprintf(out, "%s\n    {\"name\": \"", k ? "," : "");
        put_name(out, entries[k].name);
        fprintf(out, ".hdf\", \"time\": %.17g}", entries[k].time);
    }
    fprintf(out, "\n  ]\n}\n");
}

static firn_status write_series(const char *folder, const firn_index_entry *entries, size_t count)
{
    char *text = NULL, *path = text_format("%s/frames.hdf.series", folder);
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (out)
        put_series(out, entries, count);
    file_draft draft;
    firn_status status = out && fclose(out) == 0
                             ? file_create(path, &draft)
                             : fail(FIRN_NO_MEMORY, "no memory to write %s", path);
    if (!status) {
        file_append(&draft, text, size);
        status = file_commit(&draft);
    }
    free(text);
    free(path);
    return status;
}

bool firn_format_has_index(unsigned format)
{
    return format == FIRN_FORMAT_VTKHDF || format == FIRN_FORMAT_USDA;
}

firn_status firn_index_write(const char *folder, unsigned format, const firn_index_entry *entries,
                             size_t count, const firn_export *how)
{
    const firn_export usual = {0};
    firn_status status = FIRN_OK;
    if (format == FIRN_FORMAT_VTKHDF)
        status = write_series(folder, entries, count);
    if (format == FIRN_FORMAT_USDA) {
        char *path = text_format("%s/frames.usda", folder);
        status = usda_write_index(path, folder, entries, count, how ? how : &usual);
        free(path);
    }
    return status;
}
