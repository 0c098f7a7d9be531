#include "io/font.h"

#include <fontconfig/fontconfig.h>
#include <ft2build.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include FT_FREETYPE_H
#include FT_OUTLINE_H

#include "shape/array.h"
#include "status.h"

/* Curves are flattened to within this part of a capital's height. */
static const double TOLERANCE = 5e-4;

enum { LONGEST_TEXT = 10000, MOST_PIECES = 200 };

const char *font_version(void)
{
    static _Thread_local char text[24];
    snprintf(text, sizeof text, "%d.%d.%d", FREETYPE_MAJOR, FREETYPE_MINOR, FREETYPE_PATCH);
    return text;
}

/* ---- Finding --------------------------------------------------------------------------------- */

/* Names that stand for whatever the system has. */
static bool is_generic(const char *family)
{
    static const char *const words[] = {"sans",      "sans-serif", "serif",   "mono",
                                        "monospace", "cursive",    "fantasy", "system-ui"};
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (strcasecmp(family, words[k]) == 0)
            return true;
    return false;
}

/* fontconfig always answers with something; whether it is what was asked for. */
static bool has_family(FcPattern *font, const char *family)
{
    FcChar8 *name;
    for (int n = 0; FcPatternGetString(font, FC_FAMILY, n, &name) == FcResultMatch; n++)
        if (strcasecmp((const char *)name, family) == 0)
            return true;
    return false;
}

static firn_status take_match(FcPattern *asked, FcPattern *font, char **path, int *face)
{
    FcChar8 *file = NULL, *family = NULL, *wanted = NULL;
    if (!font || FcPatternGetString(font, FC_FILE, 0, &file) != FcResultMatch)
        return fail(FIRN_NO_INPUT,
                    "no fonts are installed; give the file of one with `file`, or install "
                    "fonts-dejavu-core");
    bool named = FcPatternGetString(asked, FC_FAMILY, 0, &wanted) == FcResultMatch;
    FcPatternGetString(font, FC_FAMILY, 0, &family);
    if (named && !is_generic((const char *)wanted) && !has_family(font, (const char *)wanted))
        return fail(FIRN_NO_INPUT,
                    "font '%s' is not installed; the most similar is '%s'. Name that (`fc-list : "
                    "family` lists all), or give a font file with `file`",
                    (const char *)wanted, family ? (const char *)family : "unnamed");
    *face = 0;
    FcPatternGetInteger(font, FC_INDEX, 0, face);
    *path = text_copy((const char *)file);
    return FIRN_OK;
}

firn_status font_find(const char *family, char **path, int *face)
{
    *path = NULL;
    FcConfig *config = FcInitLoadConfigAndFonts();
    FcPattern *asked = config ? FcNameParse((const FcChar8 *)family) : NULL;
    firn_status status = FIRN_OK;
    if (!asked) {
        status = fail(FIRN_NO_INPUT, "font '%s': not a name that fontconfig understands", family);
    } else {
        FcResult result;
        FcPattern *full = FcPatternDuplicate(asked);
        FcConfigSubstitute(config, full, FcMatchPattern);
        FcDefaultSubstitute(full);
        FcPattern *font = FcFontMatch(config, full, &result);
        status = take_match(asked, font, path, face);
        if (font)
            FcPatternDestroy(font);
        FcPatternDestroy(full);
        FcPatternDestroy(asked);
    }
    if (config)
        FcConfigDestroy(config);
    return status;
}

/* ---- Outlines of letters --------------------------------------------------------------------- */

/* Where the curves of letters go, in metres. */
typedef struct sink {
    size_t count, capacity;
    outline_segment *segments; /* owned */
    double scale, tolerance;
    double pen[2]; /* of the letter's origin, in units of the font */
    double at[2];
} sink;

static void place(const sink *s, const FT_Vector *v, double x[2])
{
    x[0] = s->scale * (s->pen[0] + (double)v->x);
    x[1] = s->scale * (s->pen[1] + (double)v->y);
}

static int draw_to(sink *s, const double to[2])
{
    if (!array_grow(&s->segments, &s->capacity, s->count, sizeof *s->segments))
        return 1;
    s->segments[s->count++] = (outline_segment){{s->at[0], s->at[1]}, {to[0], to[1]}};
    memcpy(s->at, to, sizeof s->at);
    return 0;
}

/* A curve's second derivative is at most `bend`: pieces whose chords stay within the tolerance. */
static int piece_count(const sink *s, double bend)
{
    return (int)fmin(ceil(sqrt(bend / (8 * s->tolerance))) + 1, MOST_PIECES);
}

static int move_to(const FT_Vector *to, void *user)
{
    sink *s = user;
    place(s, to, s->at);
    return 0;
}

static int line_to(const FT_Vector *to, void *user)
{
    double x[2];
    place(user, to, x);
    return draw_to(user, x);
}

static int conic_to(const FT_Vector *control, const FT_Vector *to, void *user)
{
    sink *s = user;
    double a[2] = {s->at[0], s->at[1]}, b[2], c[2];
    place(s, control, b);
    place(s, to, c);
    int pieces = piece_count(s, 2 * hypot(a[0] - 2 * b[0] + c[0], a[1] - 2 * b[1] + c[1]));
    for (int n = 1; n <= pieces; n++) {
        double t = (double)n / pieces, u = 1 - t, x[2];
        for (int i = 0; i < 2; i++)
            x[i] = n < pieces ? u * u * a[i] + 2 * u * t * b[i] + t * t * c[i] : c[i];
        if (draw_to(s, x))
            return 1;
    }
    return 0;
}

static int cubic_to(const FT_Vector *first, const FT_Vector *second, const FT_Vector *to,
                    void *user)
{
    sink *s = user;
    double a[2] = {s->at[0], s->at[1]}, b[2], c[2], d[2];
    place(s, first, b);
    place(s, second, c);
    place(s, to, d);
    double bend = fmax(hypot(a[0] - 2 * b[0] + c[0], a[1] - 2 * b[1] + c[1]),
                       hypot(b[0] - 2 * c[0] + d[0], b[1] - 2 * c[1] + d[1]));
    int pieces = piece_count(s, 6 * bend);
    for (int n = 1; n <= pieces; n++) {
        double t = (double)n / pieces, u = 1 - t, x[2];
        for (int i = 0; i < 2; i++)
            x[i] = n < pieces ? u * u * u * a[i] + 3 * u * u * t * b[i] + 3 * u * t * t * c[i] +
                                    t * t * t * d[i]
                              : d[i];
        if (draw_to(s, x))
            return 1;
    }
    return 0;
}

static const FT_Outline_Funcs drawing = {move_to, line_to, conic_to, cubic_to, 0, 0};

/* ---- Lines of text --------------------------------------------------------------------------- */

/* The next character; 0xFFFD for bytes that are no UTF-8. */
static uint32_t next_character(const char **text)
{
    const unsigned char *c = (const unsigned char *)*text;
    int more = c[0] < 0x80 ? 0 : c[0] >= 0xF0 ? 3 : c[0] >= 0xE0 ? 2 : c[0] >= 0xC0 ? 1 : -1;
    if (more < 0) {
        *text += 1;
        return 0xFFFD;
    }
    uint32_t code = more ? c[0] & (0x3Fu >> more) : c[0];
    for (int k = 1; k <= more; k++) {
        if ((c[k] & 0xC0) != 0x80) {
            *text += k;
            return 0xFFFD;
        }
        code = code << 6 | (c[k] & 0x3F);
    }
    *text += 1 + more;
    return code;
}

static firn_status load_letter(const font_request *r, FT_Face face, uint32_t code, FT_UInt *glyph)
{
    *glyph = FT_Get_Char_Index(face, code);
    if (*glyph == 0)
        return fail(FIRN_BAD_SCENE, "%s: the font has no letter for U+%04X", r->name, code);
    if (FT_Load_Glyph(face, *glyph, FT_LOAD_NO_SCALE) != 0 ||
        face->glyph->format != FT_GLYPH_FORMAT_OUTLINE)
        return fail(FIRN_BAD_SCENE, "%s: the letter for U+%04X has no outline", r->name, code);
    return FIRN_OK;
}

/* One letter at the pen, which moves on by its width. */
static firn_status set_letter(const font_request *r, FT_Face face, uint32_t code, FT_UInt *before,
                              sink *s)
{
    FT_UInt glyph;
    FT_Vector kern;
    firn_status status = load_letter(r, face, code, &glyph);
    if (status != FIRN_OK)
        return status;
    if (*before && FT_Get_Kerning(face, *before, glyph, FT_KERNING_UNSCALED, &kern) == 0)
        s->pen[0] += (double)kern.x;
    *before = glyph;
    if (FT_Outline_Decompose(&face->glyph->outline, &drawing, s) != 0)
        return fail(FIRN_BAD_SCENE, "%s: the letter for U+%04X cannot be drawn", r->name, code);
    s->pen[0] += (double)face->glyph->metrics.horiAdvance;
    return FIRN_OK;
}

static firn_status set_line(const font_request *r, FT_Face face, const char **text, sink *s)
{
    size_t first = s->count;
    FT_UInt before = 0;
    firn_status status = FIRN_OK;
    s->pen[0] = 0;
    while (**text && **text != '\n' && status == FIRN_OK) {
        uint32_t code = next_character(text);
        if (code != '\r')
            status = set_letter(r, face, code, &before, s);
    }
    *text += **text == '\n';
    double shift = s->scale * s->pen[0] *
                   (r->align == FONT_LEFT     ? 0
                    : r->align == FONT_CENTER ? 0.5
                                              : 1);
    for (size_t n = first; n < s->count; n++) {
        s->segments[n].from[0] -= shift;
        s->segments[n].to[0] -= shift;
    }
    return status;
}

/* Units of the font in the height of an H, or what that usually is. */
static double capital_height(FT_Face face)
{
    FT_BBox box = {0};
    FT_UInt glyph = FT_Get_Char_Index(face, 'H');
    if (glyph && FT_Load_Glyph(face, glyph, FT_LOAD_NO_SCALE) == 0)
        FT_Outline_Get_CBox(&face->glyph->outline, &box);
    return box.yMax > 0 ? (double)box.yMax : 0.7 * face->units_per_EM;
}

static firn_status set_text(const font_request *r, FT_Face face, sink *s)
{
    if (!FT_IS_SCALABLE(face))
        return fail(FIRN_BAD_SCENE, "%s: a bitmap font; letters need outlines", r->name);
    if (strlen(r->text) > LONGEST_TEXT)
        return fail(FIRN_BAD_SCENE, "the text is longer than %d bytes", LONGEST_TEXT);
    s->scale = r->height / capital_height(face);
    s->tolerance = TOLERANCE * r->height;
    const char *text = r->text;
    firn_status status = FIRN_OK;
    while (*text && status == FIRN_OK) {
        status = set_line(r, face, &text, s);
        s->pen[1] -= r->line_height * (double)face->height;
    }
    return status;
}

firn_status font_outline(const font_request *r, outline **out)
{
    *out = NULL;
    FT_Library library;
    FT_Face face;
    if (FT_Init_FreeType(&library) != 0)
        return fail(FIRN_NO_MEMORY, "FreeType does not start");
    if (FT_New_Memory_Face(library, r->data, (FT_Long)r->size, r->face, &face) != 0) {
        FT_Done_FreeType(library);
        return fail(FIRN_BAD_SCENE, "%s: not a font that FreeType reads", r->name);
    }
    sink s = {0};
    firn_status status = set_text(r, face, &s);
    FT_Done_Face(face);
    FT_Done_FreeType(library);
    if (status == FIRN_OK && !(*out = outline_create(s.segments, s.count)))
        status = fail(FIRN_NO_MEMORY, "not enough memory for a text");
    free(s.segments);
    if (status == FIRN_OK && outline_size(*out) == 0) {
        outline_destroy(out);
        status = fail(FIRN_BAD_SCENE, "the text has no letters that leave a mark");
    }
    return status;
}
