#include "io/exr.h"

#include <OpenEXR/openexr.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/file.h"
#include "status.h"

enum { MOST_SIDE = 65536 };
static const float largest_half = 65504;

const char *exr_version(void)
{
    return OPENEXR_VERSION_STRING;
}

/* The library's own words go nowhere: its default prints them. */
static void hear_nothing(exr_const_context_t context, exr_result_t code, const char *message)
{
    (void)context, (void)code, (void)message;
}

/* ---- writing --------------------------------------------------------------------------------- */

static int64_t write_draft(exr_const_context_t context, void *user, const void *data, uint64_t size,
                           uint64_t offset, exr_stream_error_func_ptr_t error)
{
    (void)context, (void)error;
    file_write_at(user, offset, data, size);
    return (int64_t)size; /* the draft remembers what went wrong */
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const exr_channel *)a)->name, ((const exr_channel *)b)->name);
}

static exr_result_t write_head(exr_context_t file, int width, int height,
                               const exr_channel *channels, size_t count, const exr_note *notes,
                               size_t note_count)
{
    int part;
    exr_result_t result = exr_add_part(file, NULL, EXR_STORAGE_SCANLINE, &part);
    if (result == EXR_ERR_SUCCESS)
        result =
            exr_initialize_required_attr_simple(file, part, width, height, EXR_COMPRESSION_ZIP);
    for (size_t i = 0; i < count && result == EXR_ERR_SUCCESS; i++)
        result = exr_add_channel(file, part, channels[i].name,
                                 channels[i].half ? EXR_PIXEL_HALF : EXR_PIXEL_FLOAT,
                                 EXR_PERCEPTUALLY_LOGARITHMIC, 1, 1);
    for (size_t i = 0; i < note_count && result == EXR_ERR_SUCCESS; i++)
        result = exr_attr_set_string(file, part, notes[i].name, notes[i].text);
    return result == EXR_ERR_SUCCESS ? exr_write_header(file) : result;
}

static float storable(float value, bool half)
{
    if (!isfinite(value))
        return 0;
    return half ? fminf(fmaxf(value, -largest_half), largest_half) : value;
}

/* Rows y .. y + rows - 1 of all channels, one plane after the other. */
static void gather(const exr_channel *channels, size_t count, int width, int y, int rows,
                   float *planes)
{
    for (size_t c = 0; c < count; c++) {
        size_t first = (size_t)y * (size_t)width, size = (size_t)rows * (size_t)width;
        for (size_t i = 0; i < size; i++)
            planes[c * size + i] =
                storable(channels[c].values[(first + i) * channels[c].stride], channels[c].half);
    }
}

static void point_at(exr_encode_pipeline_t *encoder, float *planes, int width, int rows)
{
    for (int16_t c = 0; c < encoder->channel_count; c++) {
        exr_coding_channel_info_t *channel = &encoder->channels[c];
        channel->encode_from_ptr = (const uint8_t *)(planes + (size_t)c * (size_t)(rows * width));
        channel->user_data_type = EXR_PIXEL_FLOAT;
        channel->user_bytes_per_element = sizeof(float);
        channel->user_pixel_stride = sizeof(float);
        channel->user_line_stride = width * (int)sizeof(float);
    }
}

typedef exr_result_t compressor(exr_encode_pipeline_t *encoder);

/* A reader takes a chunk of just the unpacked size for raw; version 3.1 of the library leaves one there
 * that happened to be compressed to that size. */
static exr_result_t compress(exr_encode_pipeline_t *encoder)
{
    compressor *const *given = encoder->encoding_user_data;
    exr_result_t result = (*given)(encoder);
    if (result == EXR_ERR_SUCCESS && encoder->compressed_bytes == encoder->packed_bytes)
        memcpy(encoder->compressed_buffer, encoder->packed_buffer, encoder->packed_bytes);
    return result;
}

static exr_result_t choose_routines(exr_context_t file, exr_encode_pipeline_t *encoder,
                                    compressor **given)
{
    exr_result_t result = exr_encoding_choose_default_routines(file, 0, encoder);
    if (result == EXR_ERR_SUCCESS && encoder->compress_fn) {
        *given = encoder->compress_fn;
        encoder->compress_fn = compress;
        encoder->encoding_user_data = given;
    }
    return result;
}

static exr_result_t write_rows(exr_context_t file, int width, int height,
                               const exr_channel *channels, size_t count, float *planes, int step)
{
    exr_encode_pipeline_t encoder = EXR_ENCODE_PIPELINE_INITIALIZER;
    compressor *given = NULL;
    exr_result_t result = EXR_ERR_SUCCESS;
    for (int y = 0; y < height && result == EXR_ERR_SUCCESS; y += step) {
        exr_chunk_info_t chunk;
        int rows = y + step < height ? step : height - y;
        result = exr_write_scanline_chunk_info(file, 0, y, &chunk);
        if (result == EXR_ERR_SUCCESS)
            result = y == 0 ? exr_encoding_initialize(file, 0, &chunk, &encoder)
                            : exr_encoding_update(file, 0, &chunk, &encoder);
        if (result != EXR_ERR_SUCCESS)
            break;
        gather(channels, count, width, y, rows, planes);
        point_at(&encoder, planes, width, rows);
        if (y == 0)
            result = choose_routines(file, &encoder, &given);
        if (result == EXR_ERR_SUCCESS)
            result = exr_encoding_run(file, 0, &encoder);
    }
    exr_encoding_destroy(file, &encoder);
    return result;
}

static exr_result_t encode(file_draft *draft, int width, int height, const exr_channel *channels,
                           size_t count, const exr_note *notes, size_t note_count)
{
    exr_context_initializer_t setup = EXR_DEFAULT_CONTEXT_INITIALIZER;
    setup.error_handler_fn = hear_nothing;
    setup.write_fn = write_draft;
    setup.user_data = draft;
    setup.zip_level = 4; /* as the library's own default: noise does not pay for more */
    exr_context_t file;
    exr_result_t result = exr_start_write(&file, draft->path, EXR_WRITE_FILE_DIRECTLY, &setup);
    if (result != EXR_ERR_SUCCESS)
        return result;
    int32_t step = 1;
    result = write_head(file, width, height, channels, count, notes, note_count);
    if (result == EXR_ERR_SUCCESS)
        result = exr_get_scanlines_per_chunk(file, 0, &step);
    float *planes = malloc(count * (size_t)step * (size_t)width * sizeof *planes);
    if (result == EXR_ERR_SUCCESS)
        result = planes ? write_rows(file, width, height, channels, count, planes, step)
                        : EXR_ERR_OUT_OF_MEMORY;
    free(planes);
    exr_result_t end = exr_finish(&file);
    return result == EXR_ERR_SUCCESS ? end : result;
}

firn_status exr_write(const char *path, int width, int height, const exr_channel *channels,
                      size_t channel_count, const exr_note *notes, size_t note_count)
{
    file_draft draft;
    firn_status status = file_create(path, &draft);
    if (status != FIRN_OK)
        return status;
    exr_channel *sorted = malloc(channel_count * sizeof *sorted);
    if (!sorted) {
        file_discard(&draft);
        return fail(FIRN_NO_MEMORY, "no memory to write %s", path);
    }
    memcpy(sorted, channels, channel_count * sizeof *sorted);
    qsort(sorted, channel_count, sizeof *sorted, by_name);
    exr_result_t result = encode(&draft, width, height, sorted, channel_count, notes, note_count);
    free(sorted);
    if (result != EXR_ERR_SUCCESS && !draft.error) {
        file_discard(&draft);
        return fail(FIRN_NO_OUTPUT, "cannot write %s: %s", path,
                    exr_get_default_error_message(result));
    }
    return file_commit(&draft);
}

/* ---- reading --------------------------------------------------------------------------------- */

static int64_t read_input(exr_const_context_t context, void *user, void *data, uint64_t size,
                          uint64_t offset, exr_stream_error_func_ptr_t error)
{
    (void)context, (void)error;
    uint64_t done = 0;
    while (done < size) {
        ssize_t got = pread(*(int *)user, (char *)data + done, size - done, (off_t)(offset + done));
        if (got <= 0)
            break;
        done += (uint64_t)got;
    }
    return (int64_t)done;
}

static firn_status take_channels(exr_const_context_t file, const char *path, exr_image *image)
{
    const exr_attr_chlist_t *list;
    if (exr_get_channels(file, 0, &list) != EXR_ERR_SUCCESS || list->num_channels < 1)
        return fail(FIRN_BAD_SCENE, "%s: has no channels", path);
    size_t count = (size_t)list->num_channels, size = (size_t)image->width * (size_t)image->height;
    image->names = calloc(count, sizeof *image->names);
    image->channels = calloc(count, sizeof *image->channels);
    if (!image->names || !image->channels)
        return fail(FIRN_NO_MEMORY, "no memory to read %s", path);
    for (size_t c = 0; c < count; c++) {
        const exr_attr_chlist_entry_t *entry = &list->entries[c];
        if (entry->x_sampling != 1 || entry->y_sampling != 1)
            return fail(FIRN_BAD_SCENE,
                        "%s: channel %s has a resolution of its own; store it "
                        "at that of the picture",
                        path, entry->name.str);
        image->names[c] = text_copy(entry->name.str);
        image->channels[c] = malloc(size * sizeof(float));
        image->channel_count = c + 1;
        if (!image->channels[c])
            return fail(FIRN_NO_MEMORY, "no memory to read %s", path);
    }
    return FIRN_OK;
}

static void take_notes(exr_const_context_t file, exr_image *image)
{
    int32_t count = 0;
    if (exr_get_attribute_count(file, 0, &count) != EXR_ERR_SUCCESS || count < 1)
        return;
    image->note_names = calloc((size_t)count, sizeof *image->note_names);
    image->notes = calloc((size_t)count, sizeof *image->notes);
    if (!image->note_names || !image->notes)
        return;
    for (int32_t i = 0; i < count; i++) {
        const exr_attribute_t *attribute;
        if (exr_get_attribute_by_index(file, 0, EXR_ATTR_LIST_FILE_ORDER, i, &attribute) !=
                EXR_ERR_SUCCESS ||
            attribute->type != EXR_ATTR_STRING)
            continue;
        image->note_names[image->note_count] = text_copy(attribute->name);
        image->notes[image->note_count++] =
            text_format("%.*s", attribute->string->length, attribute->string->str);
    }
}

/* One chunk, whose first pixel goes to (x, y) of the image. */
static exr_result_t read_chunk(exr_const_context_t file, const exr_chunk_info_t *chunk, int x,
                               int y, exr_decode_pipeline_t *decoder, bool *begun, exr_image *image)
{
    exr_result_t result = *begun ? exr_decoding_update(file, 0, chunk, decoder)
                                 : exr_decoding_initialize(file, 0, chunk, decoder);
    if (result != EXR_ERR_SUCCESS)
        return result;
    for (int16_t c = 0; c < decoder->channel_count; c++) {
        exr_coding_channel_info_t *channel = &decoder->channels[c];
        size_t at = (size_t)y * (size_t)image->width + (size_t)x;
        channel->decode_to_ptr = (uint8_t *)(image->channels[c] + at);
        channel->user_data_type = EXR_PIXEL_FLOAT;
        channel->user_bytes_per_element = sizeof(float);
        channel->user_pixel_stride = sizeof(float);
        channel->user_line_stride = image->width * (int)sizeof(float);
    }
    if (!*begun)
        result = exr_decoding_choose_default_routines(file, 0, decoder);
    *begun = true;
    return result == EXR_ERR_SUCCESS ? exr_decoding_run(file, 0, decoder) : result;
}

static exr_result_t read_lines(exr_const_context_t file, int top, exr_decode_pipeline_t *decoder,
                               exr_image *image)
{
    int32_t step;
    bool begun = false;
    exr_result_t result = exr_get_scanlines_per_chunk(file, 0, &step);
    for (int y = 0; y < image->height && result == EXR_ERR_SUCCESS; y += step) {
        exr_chunk_info_t chunk;
        result = exr_read_scanline_chunk_info(file, 0, top + y, &chunk);
        if (result == EXR_ERR_SUCCESS)
            result = read_chunk(file, &chunk, 0, y, decoder, &begun, image);
    }
    return result;
}

static exr_result_t read_tiles(exr_const_context_t file, exr_decode_pipeline_t *decoder,
                               exr_image *image)
{
    int32_t wide, tall;
    bool begun = false;
    exr_result_t result = exr_get_tile_sizes(file, 0, 0, 0, &wide, &tall);
    for (int y = 0; y < image->height && result == EXR_ERR_SUCCESS; y += tall) {
        for (int x = 0; x < image->width && result == EXR_ERR_SUCCESS; x += wide) {
            exr_chunk_info_t chunk;
            result = exr_read_tile_chunk_info(file, 0, x / wide, y / tall, 0, 0, &chunk);
            if (result == EXR_ERR_SUCCESS)
                result = read_chunk(file, &chunk, x, y, decoder, &begun, image);
        }
    }
    return result;
}

static firn_status read_pixels(exr_const_context_t file, const char *path, exr_storage_t storage,
                               int top, exr_image *image)
{
    exr_decode_pipeline_t decoder = EXR_DECODE_PIPELINE_INITIALIZER;
    exr_result_t result = storage == EXR_STORAGE_TILED ? read_tiles(file, &decoder, image)
                                                       : read_lines(file, top, &decoder, image);
    exr_decoding_destroy(file, &decoder);
    if (result == EXR_ERR_SUCCESS)
        return FIRN_OK;
    return fail(FIRN_BAD_SCENE, "%s: damaged or cut short: %s", path,
                exr_get_default_error_message(result));
}

static firn_status read_open(exr_const_context_t file, const char *path, exr_image *image)
{
    exr_attr_box2i_t window;
    exr_storage_t storage;
    if (exr_get_data_window(file, 0, &window) != EXR_ERR_SUCCESS ||
        exr_get_storage(file, 0, &storage) != EXR_ERR_SUCCESS)
        return fail(FIRN_BAD_SCENE, "%s: has no picture", path);
    if (storage != EXR_STORAGE_TILED && storage != EXR_STORAGE_SCANLINE)
        return fail(FIRN_BAD_SCENE, "%s: is a deep picture; flatten it", path);
    int64_t width = (int64_t)window.max.x - window.min.x + 1;
    int64_t height = (int64_t)window.max.y - window.min.y + 1;
    if (width < 1 || height < 1 || width > MOST_SIDE || height > MOST_SIDE)
        return fail(FIRN_BAD_SCENE, "%s: has %lld x %lld pixels; each side must be 1 to %d", path,
                    (long long)width, (long long)height, MOST_SIDE);
    image->width = (int)width;
    image->height = (int)height;
    firn_status status = take_channels(file, path, image);
    if (status != FIRN_OK)
        return status;
    take_notes(file, image);
    return read_pixels(file, path, storage, window.min.y, image);
}

firn_status exr_read(const char *path, exr_image *image)
{
    *image = (exr_image){0};
    int fd;
    uint64_t size;
    firn_status status = file_open_input(path, &fd, &size);
    if (status != FIRN_OK)
        return status;
    exr_context_initializer_t setup = EXR_DEFAULT_CONTEXT_INITIALIZER;
    setup.error_handler_fn = hear_nothing;
    setup.read_fn = read_input;
    setup.user_data = &fd;
    exr_context_t file;
    exr_result_t result = exr_start_read(&file, path, &setup);
    if (result != EXR_ERR_SUCCESS) {
        status = fail(FIRN_BAD_SCENE, "%s: is not an OpenEXR file that can be read: %s", path,
                      exr_get_default_error_message(result));
    } else {
        status = read_open(file, path, image);
        exr_finish(&file);
    }
    close(fd);
    if (status != FIRN_OK)
        exr_clear(image);
    return status;
}

void exr_clear(exr_image *image)
{
    for (size_t i = 0; i < image->channel_count; i++) {
        free(image->names[i]);
        free(image->channels[i]);
    }
    for (size_t i = 0; i < image->note_count; i++) {
        free(image->note_names[i]);
        free(image->notes[i]);
    }
    free(image->names);
    free(image->channels);
    free(image->note_names);
    free(image->notes);
    *image = (exr_image){0};
}

const float *exr_find(const exr_image *image, const char *channel)
{
    for (size_t i = 0; i < image->channel_count; i++)
        if (strcmp(image->names[i], channel) == 0)
            return image->channels[i];
    return NULL;
}

const char *exr_find_note(const exr_image *image, const char *name)
{
    for (size_t i = 0; i < image->note_count; i++)
        if (strcmp(image->note_names[i], name) == 0)
            return image->notes[i];
    return NULL;
}
