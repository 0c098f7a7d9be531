extern "C" {
#include "io/vdb.h"
#include "io/file.h"
#include "status.h"
}

/* Debian's OpenVDB is built with default visibility and crashes in initialize() when the program's
 * copies of its type information are hidden. */
#pragma GCC visibility push(default)
#include <openvdb/openvdb.h>
#include <openvdb/tools/Composite.h>
#include <openvdb/tools/Count.h>
#include <openvdb/tools/FastSweeping.h>
#include <openvdb/tools/MeshToVolume.h>
#include <openvdb/tools/SignedFloodFill.h>
#include <openvdb/tools/VolumeToMesh.h>
#pragma GCC visibility pop

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

const char *vdb_version(void)
{
    return openvdb::getLibraryVersionString();
}

/* ---- Level sets ------------------------------------------------------------------------------ */

namespace
{

using openvdb::Coord;
using openvdb::FloatGrid;

const int REACH = 6; /* voxels: the half width that files with a narrower band are given */

/* The triangles of a layer as meshToVolume asks for them. */
struct layer_mesh {
    const vdb_mesh_request &request;
    const vdb_layer &layer;

    size_t polygonCount() const
    {
        return layer.count;
    }
    size_t pointCount() const
    {
        return request.vertex_count;
    }
    size_t vertexCount(size_t) const
    {
        return 3;
    }
    void getIndexSpacePoint(size_t n, size_t k, openvdb::Vec3d &at) const
    {
        const double *x = request.vertices[request.triangles[layer.first + n][k]];
        for (int i = 0; i < 3; i++)
            at[i] = (x[i] - request.origin[i]) / request.voxel;
    }
};

FloatGrid::Ptr convert(const vdb_mesh_request &r)
{
    auto unit = openvdb::math::Transform::createLinearTransform(1);
    float width = float(r.half_width / r.voxel), half_shell = float(r.shell / r.voxel / 2);
    FloatGrid::Ptr all;
    for (size_t n = 0; n < r.layer_count; n++) {
        layer_mesh mesh{r, r.layers[n]};
        auto grid = openvdb::tools::meshToVolume<FloatGrid>(
            mesh, *unit, width + half_shell, width,
            openvdb::tools::DISABLE_RENORMALIZATION |
                (half_shell > 0 ? openvdb::tools::UNSIGNED_DISTANCE_FIELD : 0));
        if (!all)
            all = grid;
        else if (r.layers[n].cavity)
            openvdb::tools::csgDifference(*all, *grid);
        else
            openvdb::tools::csgUnion(*all, *grid);
    }
    for (auto leaf = all->tree().beginLeaf(); leaf && half_shell > 0; ++leaf)
        for (openvdb::Index v = 0; v < leaf->SIZE; v++)
            leaf->setValueOnly(v, leaf->getValue(v) - half_shell);
    return all;
}

template <typename T> T *room(size_t count)
{
    void *memory = malloc((count + 1) * sizeof(T));
    if (!memory)
        throw std::bad_alloc();
    return static_cast<T *>(memory);
}

/* The leaves of a grid whose values are distances in voxels times `scale`. Beyond `background`
 * values are cut off. */
void take_leaves(const FloatGrid &grid, double background, double scale, level_set_blocks &b)
{
    openvdb::CoordBBox box;
    grid.tree().evalLeafBoundingBox(box);
    double entries = 1;
    for (int i = 0; i < 3; i++) {
        b.size[i] = (box.max()[i] - box.min()[i]) / LEAF_WIDTH + 1;
        entries *= b.size[i];
    }
    if (entries > MOST_LEAVES)
        throw std::length_error("the level set covers too much space for its voxels");
    b.leaf = room<int32_t>(size_t(entries));
    b.side = room<int8_t>(size_t(entries));
    b.values = room<float>(size_t(grid.tree().leafCount()) * LEAF_SAMPLES);
    auto at = grid.getConstAccessor();
    size_t n = 0;
    for (int z = 0; z < b.size[2]; z++)
        for (int y = 0; y < b.size[1]; y++)
            for (int x = 0; x < b.size[0]; x++, n++) {
                Coord corner = box.min().offsetBy(x * LEAF_WIDTH, y * LEAF_WIDTH, z * LEAF_WIDTH);
                const auto *leaf = at.probeConstLeaf(corner);
                b.leaf[n] = leaf ? int32_t(b.leaf_count++) : -1;
                b.side[n] = leaf || at.getValue(corner) > 0 ? 1 : -1;
                for (int v = 0; leaf && v < LEAF_SAMPLES; v++) { /* OpenVDB has z fastest */
                    double value = leaf->getValue(openvdb::Index((v & 7) << 6 | (v & 56) | v >> 6));
                    value = std::isfinite(value) ? value : background;
                    value = std::fmin(std::fmax(value, -background), background) * scale;
                    b.values[size_t(b.leaf[n]) * LEAF_SAMPLES + size_t(v)] = float(value);
                }
            }
    for (int i = 0; i < 3; i++)
        b.origin[i] += b.voxel * box.min()[i];
}

/* What a piece of work throws, as a status. */
template <typename F> firn_status guarded(const char *what, F work)
{
    try {
        openvdb::initialize();
        work();
        return FIRN_OK;
    } catch (const std::bad_alloc &) {
        return fail(FIRN_NO_MEMORY, "%s: not enough memory", what);
    } catch (const std::exception &problem) {
        return fail(FIRN_BAD_SCENE, "%s: %s", what, problem.what());
    } catch (...) {
        return fail(FIRN_BAD_SCENE, "%s: OpenVDB failed without a word", what);
    }
}

/* The grid by its name; or the first level set; or the first of numbers. */
FloatGrid::Ptr choose_grid(openvdb::io::File &file, const char *name)
{
    std::string known;
    std::string chosen;
    for (auto n = file.beginName(); n != file.endName(); ++n) {
        known += (known.empty() ? "" : ", ") + n.gridName();
        auto header = file.readGridMetadata(n.gridName());
        bool numbers = header->isType<FloatGrid>();
        bool level = header->getGridClass() == openvdb::GRID_LEVEL_SET;
        if (name ? n.gridName() == name : numbers && (chosen.empty() || level))
            chosen = n.gridName();
        if (!chosen.empty() && (name || level))
            break;
    }
    if (chosen.empty())
        throw std::runtime_error((name ? "there is no grid '" + std::string(name) + "'"
                                       : std::string("there is no grid of float numbers")) +
                                 "; the file has: " + (known.empty() ? "nothing" : known));
    auto grid = openvdb::gridPtrCast<FloatGrid>(file.readGrid(chosen));
    if (!grid)
        throw std::runtime_error("the grid '" + chosen + "' does not hold float numbers");
    return grid;
}

void take_level_set(FloatGrid::Ptr grid, level_set_blocks &b)
{
    double voxel = grid->voxelSize()[0], width = grid->background() / voxel;
    if (width < REACH)
        grid = openvdb::tools::dilateSdf(*grid, int(std::ceil(REACH - width)));
    b.voxel = voxel;
    b.half_width = std::fmax(width, REACH) * voxel;
    openvdb::Vec3d corner = grid->indexToWorld(openvdb::Vec3d(0, 0, 0));
    for (int i = 0; i < 3; i++)
        b.origin[i] = corner[i];
    take_leaves(*grid, b.half_width, 1, b);
}

void take_surface(const FloatGrid &grid, double iso, triangle_mesh &mesh)
{
    std::vector<openvdb::Vec3s> points;
    std::vector<openvdb::Vec3I> triangles;
    std::vector<openvdb::Vec4I> quads;
    openvdb::tools::volumeToMesh(grid, points, triangles, quads, iso, 0);
    if (triangles.empty() && quads.empty()) {
        auto range = openvdb::tools::minMax(grid.tree());
        throw std::runtime_error("no surface: the values of grid '" + grid.getName() + "', from " +
                                 std::to_string(range.min()) + " to " +
                                 std::to_string(range.max()) + ", never pass " +
                                 std::to_string(iso) + "; choose another `iso`");
    }
    mesh.vertices = room<double[3]>(points.size());
    for (const auto &p : points) {
        for (int i = 0; i < 3; i++)
            mesh.vertices[mesh.vertex_count][i] = double(p[i]) + 0.0;
        mesh.vertex_count++;
    }
    mesh.triangles = room<uint32_t[3]>(triangles.size() + 2 * quads.size());
    auto add = [&](uint32_t a, uint32_t b, uint32_t c) {
        uint32_t *t = mesh.triangles[mesh.triangle_count++];
        t[0] = a, t[1] = b, t[2] = c;
    };
    for (const auto &t : triangles)
        add(t[0], t[1], t[2]);
    for (const auto &q : quads) {
        add(q[0], q[1], q[2]);
        add(q[0], q[2], q[3]);
    }
}

bool is_plain(const FloatGrid &grid)
{
    const auto &map = grid.transform();
    openvdb::Vec3d voxel = grid.voxelSize();
    openvdb::Vec3d step =
        map.indexToWorld(openvdb::Vec3d(1, 1, 1)) - map.indexToWorld(openvdb::Vec3d(0, 0, 0));
    return map.isLinear() && map.hasUniformScale() && (step - voxel).length() < 1e-6 * voxel[0];
}

} // namespace

firn_status vdb_from_mesh(const vdb_mesh_request *request, level_set_blocks *blocks)
{
    *blocks = level_set_blocks{};
    firn_status status = guarded("mesh to level set", [&] {
        blocks->voxel = request->voxel;
        blocks->half_width = request->half_width;
        memcpy(blocks->origin, request->origin, sizeof blocks->origin);
        take_leaves(*convert(*request), request->half_width / request->voxel, request->voxel,
                    *blocks);
    });
    if (status != FIRN_OK)
        level_set_blocks_clear(blocks);
    return status;
}

firn_status vdb_read(const char *path, const char *grid, double iso, vdb_grid *out)
{
    *out = vdb_grid{};
    firn_status status = guarded(path, [&] {
        openvdb::io::File file(path);
        file.setCopyMaxBytes(0);
        file.open(false);
        FloatGrid::Ptr chosen = choose_grid(file, grid);
        out->is_level_set = chosen->getGridClass() == openvdb::GRID_LEVEL_SET && is_plain(*chosen);
        bool surface = chosen->getGridClass() == openvdb::GRID_LEVEL_SET;
        if (out->is_level_set)
            take_level_set(chosen, out->blocks);
        else
            take_surface(*chosen, surface ? 0 : iso, out->mesh);
    });
    if (status != FIRN_OK)
        vdb_grid_clear(out);
    return status;
}

void vdb_grid_clear(vdb_grid *grid)
{
    level_set_blocks_clear(&grid->blocks);
    mesh_clear(&grid->mesh);
    *grid = vdb_grid{};
}
