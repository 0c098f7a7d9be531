#include "run_render.h"

#include <stdlib.h>
#include <unistd.h>

#include "console.h"
#include "progress.h"
#include "run_folder.h"

int run_render_start(run_render *r, firn_scene *scene, render_style style, int threads)
{
    *r = (run_render){.is_on = true};
    r->options = (render_options){.preview = style == RENDER_PREVIEW,
                                  .draft = style == RENDER_DRAFT,
                                  .samples = -1,
                                  .threads = threads};
    r->input = (render_input){.count = 1, .has_scene = true, .scene = scene};
    r->job = (render_job){.options = &r->options,
                          .input = &r->input,
                          .count = 1,
                          .has_camera = true,
                          .continues = true};
    render_job_size(&r->job);
    firn_status status = firn_camera_foresee(scene, r->job.width, r->job.height, &r->job.camera);
    return status == FIRN_OK ? 0 : console_failure(status);
}

int run_render_frame(run_render *r, const firn_sim *sim, const char *folder)
{
    char *path = new_text("%s/picture_%04d.png", folder, firn_sim_frame(sim));
    firn_frame frame = {0};
    int code = 0;
    firn_status status = firn_frame_capture(sim, FIRN_BASIC_ATTRIBUTES, &frame);
    if (status != FIRN_OK)
        code = console_failure(status);
    else
        code = render_frame(&r->job, &frame, path);
    firn_frame_clear(&frame);
    free(path);
    return code;
}
