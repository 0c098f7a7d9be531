/* Builds without FreeType and fontconfig. */
#include "io/font.h"
#include "status.h"

const char *font_version(void)
{
    return "none";
}

firn_status font_find(const char *family, char **path, int *face)
{
    (void)face;
    *path = NULL;
    return fail(FIRN_USAGE, "font '%s': this build has no FreeType and no text", family);
}

firn_status font_outline(const font_request *r, outline **out)
{
    *out = NULL;
    return fail(FIRN_USAGE, "%s: this build has no FreeType and no text", r->name);
}
