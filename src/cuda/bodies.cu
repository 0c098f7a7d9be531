/* The colliders on the GPU: the same structures, with pointers into its memory. */
#include "cuda/state.cuh"

/* ---- Copies ----------------------------------------------------------------------------------- */

static void free_list(device_list *list)
{
    for (size_t n = 0; n < list->count; n++)
        device_free(&list->memory[n]);
    free(list->memory);
    *list = (device_list){};
}

static firn_status remember(device_list *list, void *memory)
{
    void **more = (void **)realloc(list->memory, (list->count + 1) * sizeof *more);
    if (!more)
        return fail(FIRN_NO_MEMORY, "out of memory for colliders");
    list->memory = more;
    list->memory[list->count++] = memory;
    return FIRN_OK;
}

/* A copy on the GPU of so many bytes, to be freed with the list. */
static firn_status upload(device_list *list, const void *from, size_t bytes, void *pointer)
{
    void *memory = NULL;
    firn_status status = device_allocate(&memory, bytes, "colliders");
    if (status == FIRN_OK && (status = remember(list, memory)) != FIRN_OK)
        device_free(&memory);
    if (status == FIRN_OK)
        status = cuda_check(cudaMemcpy(memory, from, bytes, cudaMemcpyHostToDevice),
                            "copying colliders to the GPU");
    memcpy(pointer, &memory, sizeof memory);
    return status;
}

static firn_status upload_level_set(device_list *list, const level_set *from, level_set **out)
{
    level_set set = *from;
    size_t places = (size_t)set.size[0] * (size_t)set.size[1] * (size_t)set.size[2];
    firn_status status = upload(list, from->table, places * sizeof *set.table, &set.table);
    if (status == FIRN_OK)
        status = upload(list, from->far, places * sizeof *set.far, &set.far);
    if (status == FIRN_OK)
        status = upload(list, from->depth, places * sizeof *set.depth, &set.depth);
    if (status == FIRN_OK)
        status = upload(list, from->samples,
                        set.block_count * LEVEL_SET_BLOCK * sizeof *set.samples, &set.samples);
    set.place = NULL;
    return status == FIRN_OK ? upload(list, &set, sizeof set, out) : status;
}

/* ---- Shapes ----------------------------------------------------------------------------------- */

static firn_status upload_outline(device_list *list, const outline *from, outline **out)
{
    outline copy = *from;
    const outline_tree *tree = &from->tree;
    firn_status status =
        upload(list, tree->segments, tree->count * sizeof *tree->segments, &copy.tree.segments);
    if (status == FIRN_OK)
        status =
            upload(list, tree->nodes, tree->node_count * sizeof *tree->nodes, &copy.tree.nodes);
    return status == FIRN_OK ? upload(list, &copy, sizeof copy, out) : status;
}

static firn_status upload_height(device_list *list, const height_field *from, height_field **out)
{
    height_field copy = *from;
    size_t columns = (size_t)from->map.columns, rows = (size_t)from->map.rows;
    firn_status status =
        upload(list, from->map.values, columns * rows * sizeof(float), &copy.map.values);
    if (status == FIRN_OK)
        status = upload(list, from->inset, (columns - 1) * (rows - 1) * sizeof(float), &copy.inset);
    for (int k = 0; k < from->levels && status == FIRN_OK; k++) {
        const height_level *level = &from->steepest[k];
        status =
            upload(list, level->slope, (size_t)level->columns * (size_t)level->rows * sizeof(float),
                   &copy.steepest[k].slope);
    }
    if (status == FIRN_OK)
        status = upload_outline(list, from->footprint, &copy.footprint);
    return status == FIRN_OK ? upload(list, &copy, sizeof copy, out) : status;
}

static firn_status upload_field(device_list *list, const shape_field *field, shape_field **out)
{
    shape_field copy = *field;
    copy.tree = NULL;
    firn_status status = field->height ? upload_height(list, field->height, &copy.height)
                                       : upload_level_set(list, field->level_set, &copy.level_set);
    return status == FIRN_OK ? upload(list, &copy, sizeof copy, out) : status;
}

static firn_status upload_shape(device_list *list, const shape *from, shape **out)
{
    shape copy = *from;
    shape_op *ops = (shape_op *)malloc((from->count + 1) * sizeof *ops);
    if (!ops)
        return fail(FIRN_NO_MEMORY, "out of memory for a collider");
    memcpy(ops, from->ops, from->count * sizeof *ops);
    firn_status status = FIRN_OK;
    for (size_t n = 0; n < from->count && status == FIRN_OK; n++)
        if (from->ops[n].field)
            status = upload_field(list, from->ops[n].field, &ops[n].field);
    if (status == FIRN_OK)
        status = upload(list, ops, from->count * sizeof *ops, &copy.ops);
    if (status == FIRN_OK)
        status = upload(list, &copy, sizeof copy, out);
    free(ops);
    return status;
}

firn_status bodies_upload(const collider_set *set, device_bodies *out)
{
    *out = (device_bodies){};
    if (set->count == 0)
        return FIRN_OK;
    collider *items = (collider *)malloc(set->count * sizeof *items);
    out->shown = (collider_pose *)malloc(set->count * sizeof *out->shown);
    out->keys = (device_key(*)[2])calloc(set->count, sizeof *out->keys);
    out->count = set->count;
    out->only_planes = true;
    firn_status status = FIRN_OK;
    if (!items || !out->shown || !out->keys)
        status = fail(FIRN_NO_MEMORY, "out of memory for colliders");
    for (size_t n = 0; n < set->count && status == FIRN_OK; n++) {
        items[n] = set->items[n];
        items[n].motion.keys = NULL;
        items[n].deform = NULL;
        out->only_planes = out->only_planes && set->poses[n].is_plane;
        if (items[n].shape)
            status = upload_shape(&out->list, set->items[n].shape, &items[n].shape);
    }
    collider_set copy = *set;
    if (status == FIRN_OK)
        status = upload(&out->list, items, set->count * sizeof *items, &copy.items);
    if (status == FIRN_OK)
        status = upload(&out->list, set->poses, set->count * sizeof *set->poses, &out->poses);
    copy.poses = out->poses;
    if (status == FIRN_OK)
        status = upload(&out->list, &copy, sizeof copy, &out->set);
    if (status == FIRN_OK)
        status = bodies_move(set, out, 0);
    free(items);
    if (status != FIRN_OK)
        bodies_free(out);
    return status;
}

/* ---- Motion ----------------------------------------------------------------------------------- */

/* Whether this is a copy of that key. Keys move, so another one in the same memory has other bounds. */
static bool is_copy_of(const device_key *key, const deform_key *host)
{
    return key->host == host && key->set == host->set &&
           !memcmp(key->low, host->set->low, sizeof key->low) &&
           !memcmp(key->high, host->set->high, sizeof key->high);
}

static firn_status upload_key(const deform_key *host, device_key *key)
{
    free_list(&key->list);
    *key = (device_key){.host = host, .set = host->set};
    memcpy(key->low, host->set->low, sizeof key->low);
    memcpy(key->high, host->set->high, sizeof key->high);
    deform_key copy = {};
    firn_status status = upload_level_set(&key->list, host->set, &copy.set);
    size_t bytes = host->set->block_count * DEFORM_BLOCK * sizeof *host->velocity;
    if (status == FIRN_OK)
        status = upload(&key->list, host->velocity, bytes, &copy.velocity);
    return status == FIRN_OK ? upload(&key->list, &copy, sizeof copy, &key->device) : status;
}

/* The copies of the keys about now: what was `to` is `from` next, and stays. A body at rest has no `to`. */
static firn_status show_keys(const deform_pose *pose, device_key keys[2])
{
    const deform_key *wanted[2] = {pose->from, pose->to};
    if (!is_copy_of(&keys[0], wanted[0]) && is_copy_of(&keys[1], wanted[0])) {
        device_key spare = keys[0];
        keys[0] = keys[1];
        keys[1] = spare;
    }
    firn_status status = FIRN_OK;
    for (int k = 0; k < 2 && wanted[k] && status == FIRN_OK; k++)
        if (!is_copy_of(&keys[k], wanted[k]))
            status = upload_key(wanted[k], &keys[k]);
    return status;
}

/* A pose as the GPU needs it: with its own copies of keys. */
static collider_pose shown_pose(const collider_pose *pose, const device_key keys[2])
{
    collider_pose r = *pose;
    if (r.deform.from) {
        r.deform.from = keys[0].device;
        r.deform.to = r.deform.to ? keys[1].device : NULL;
    }
    return r;
}

firn_status bodies_move(const collider_set *set, device_bodies *bodies, cudaStream_t stream)
{
    if (!bodies->set)
        return FIRN_OK;
    firn_status status = FIRN_OK;
    for (size_t n = 0; n < set->count && status == FIRN_OK; n++) {
        if (set->poses[n].deform.from)
            status = show_keys(&set->poses[n].deform, bodies->keys[n]);
        bodies->shown[n] = shown_pose(&set->poses[n], bodies->keys[n]);
    }
    if (status != FIRN_OK)
        return status;
    return cuda_check(cudaMemcpyAsync(bodies->poses, bodies->shown,
                                      set->count * sizeof *bodies->shown, cudaMemcpyHostToDevice,
                                      stream),
                      "moving colliders");
}

static void free_plan(device_plan *plan)
{
    device_free(&plan->step);
    device_free(&plan->poses);
    device_free(&plan->walls);
    plan->capacity = 0;
}

static firn_status make_room(size_t steps, size_t bodies, device_plan *plan)
{
    if (steps <= plan->capacity)
        return FIRN_OK;
    free_plan(plan);
    firn_status status = device_allocate(&plan->step, steps * sizeof *plan->step, "colliders");
    if (status == FIRN_OK)
        status = device_allocate(&plan->poses, steps * bodies * sizeof *plan->poses, "colliders");
    if (status == FIRN_OK)
        status = device_allocate(&plan->walls, steps * bodies * sizeof *plan->walls, "colliders");
    plan->capacity = status == FIRN_OK ? steps : 0;
    return status;
}

firn_status bodies_plan(const body_plan *plan, device_bodies *bodies, cudaStream_t stream)
{
    const size_t count = plan->steps * plan->bodies;
    firn_status status = make_room(plan->steps, plan->bodies, &bodies->plan);
    collider_pose *poses = (collider_pose *)malloc(count * sizeof *poses);
    if (!poses)
        status = fail(FIRN_NO_MEMORY, "out of memory for colliders");
    for (size_t n = 0; n < count && status == FIRN_OK; n++)
        poses[n] = shown_pose(&plan->poses[n], bodies->keys[n % plan->bodies]);
    if (status == FIRN_OK) {
        cudaMemcpyAsync(bodies->plan.step, plan->step, plan->steps * sizeof *plan->step,
                        cudaMemcpyHostToDevice, stream);
        cudaMemcpyAsync(bodies->plan.walls, plan->walls, count * sizeof *plan->walls,
                        cudaMemcpyHostToDevice, stream);
        status = cuda_check(cudaMemcpyAsync(bodies->plan.poses, poses, count * sizeof *poses,
                                            cudaMemcpyHostToDevice, stream),
                            "planning the motion of colliders");
    }
    free(poses);
    return status;
}

void bodies_follow(device_bodies *bodies, size_t step, cudaStream_t stream)
{
    cudaMemcpyAsync(bodies->poses, bodies->plan.poses + step * bodies->count,
                    bodies->count * sizeof *bodies->poses, cudaMemcpyDeviceToDevice, stream);
}

void bodies_free(device_bodies *bodies)
{
    free_list(&bodies->list);
    free_plan(&bodies->plan);
    for (size_t n = 0; bodies->keys && n < bodies->count; n++) {
        free_list(&bodies->keys[n][0].list);
        free_list(&bodies->keys[n][1].list);
    }
    free(bodies->keys);
    free(bodies->shown);
    *bodies = (device_bodies){};
}
