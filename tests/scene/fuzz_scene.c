/* Any bytes as a scene: no crash, no leak, no print; either a scene or a message.
 *     fuzz_scene tests/scene/corpus -max_len=4096 */
#include <stdlib.h>
#include <string.h>

#include "firn/scene.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);

/* libfyaml 0.7.12 loses a scratch buffer when a long quoted text is a syntax error. */
const char *__lsan_default_suppressions(void)
{
    return "leak:libfyaml";
}

/* The first line, when it starts with "#set ", is an override. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    char *override = NULL;
    if (strncmp(text, "#set ", 5) == 0)
        override = strndup(text + 5, strcspn(text + 5, "\n"));
    const char *sets[] = {override};
    firn_scene *scene;
    firn_status status = firn_scene_parse(text, "fuzz", sets, override ? 1 : 0, &scene);
    if (status != FIRN_OK && (scene || !*firn_last_error()))
        abort();
    firn_scene_destroy(&scene);
    free(override);
    free(text);
    return 0;
}
