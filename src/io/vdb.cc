extern "C" {
#include "io/vdb.h"

#include "io/file.h"
#include "io/input.h"
#include "io/vdb_check.h"
#include "status.h"
}

/* Debian's OpenVDB is built with default visibility and crashes in initialize() when the program's
 * copies of its type information are hidden. */
#pragma GCC visibility push(default)
#include <openvdb/io/Archive.h>
#include <openvdb/io/DelayedLoadMetadata.h>
#include <openvdb/openvdb.h>
#include <openvdb/tools/Composite.h>
#include <openvdb/tools/Count.h>
#include <openvdb/tools/FastSweeping.h>
#include <openvdb/tools/LevelSetRebuild.h>
#include <openvdb/tools/LevelSetUtil.h>
#include <openvdb/tools/MeshToVolume.h>
#include <openvdb/tools/SignedFloodFill.h>
#include <openvdb/tools/VolumeToMesh.h>
#pragma GCC visibility pop

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>
#include <streambuf>
#include <string>
#include <vector>

const char *vdb_version(void)
{
    return openvdb::getLibraryVersionString();
}

/* ---- Writing --------------------------------------------------------------------------------- */

namespace
{

/* A file in memory that can be written anywhere: OpenVDB goes back to fill in offsets. */
class memory_file : public std::streambuf
{
  public:
    std::vector<char> bytes;

  protected:
    std::streamsize xsputn(const char *data, std::streamsize size) override
    {
        size_t end = at + size_t(size);
        if (end > bytes.size())
            bytes.resize(end);
        std::copy(data, data + size, bytes.begin() + std::ptrdiff_t(at));
        at = end;
        return size;
    }
    int_type overflow(int_type c) override
    {
        char byte = traits_type::to_char_type(c);
        xsputn(&byte, 1);
        return c;
    }
    pos_type seekoff(off_type offset, std::ios_base::seekdir from, std::ios_base::openmode) override
    {
        off_type base = from == std::ios_base::cur   ? off_type(at)
                        : from == std::ios_base::end ? off_type(bytes.size())
                                                     : 0;
        at = size_t(base + offset);
        return pos_type(off_type(at));
    }
    pos_type seekpos(pos_type position, std::ios_base::openmode mode) override
    {
        return seekoff(off_type(position), std::ios_base::beg, mode);
    }

  private:
    size_t at = 0;
};

/* What openvdb::io::File does, into any stream. */
class archive : public openvdb::io::Archive
{
  public:
    void write_to(std::ostream &out, const openvdb::GridCPtrVec &grids,
                  const openvdb::MetaMap &meta) const
    {
        Archive::write(out, grids, /*seekable=*/true, meta);
    }
};

float value_at(const float *leaf, unsigned voxel, float)
{
    return leaf[voxel];
}

openvdb::Vec3s value_at(const float *leaf, unsigned voxel, openvdb::Vec3s)
{
    return {leaf[voxel], leaf[voxel + 512], leaf[voxel + 1024]};
}

template <typename Grid>
typename Grid::Ptr make_grid(const vdb_leaves &leaves, const vdb_grid &g,
                             typename Grid::ValueType outside)
{
    using leaf_type = typename Grid::TreeType::LeafNodeType;
    using value_type = typename Grid::ValueType;
    auto grid = Grid::create(outside);
    for (size_t l = 0; l < leaves.count; l++) {
        typename leaf_type::NodeMaskType active;
        for (unsigned w = 0; w < 8; w++)
            active.template getWord<uint64_t>(w) = leaves.active[l][w];
        if (active.isOff())
            continue;
        const int32_t *o = leaves.origin[l];
        auto *leaf = new leaf_type(openvdb::Coord(o[0], o[1], o[2]));
        grid->tree().addLeaf(leaf);
        value_type *data = leaf->buffer().data();
        for (unsigned v = 0; v < leaf_type::SIZE; v++)
            data[v] = active.isOn(v) ? value_at(g.values + l * g.stride, v, value_type()) : outside;
        leaf->setValueMask(active);
    }
    return grid;
}

/* The narrow band of true distances, three voxels to either side. */
openvdb::GridBase::Ptr make_surface(const vdb_file &file, const vdb_grid &g)
{
    const float half_width = 3;
    auto grid = make_grid<openvdb::FloatGrid>(file.leaves, g, half_width * float(file.voxel_size));
    grid->setTransform(openvdb::math::Transform::createLinearTransform(file.voxel_size));
    grid->setGridClass(openvdb::GRID_LEVEL_SET);
    return openvdb::tools::levelSetRebuild(*grid, 0.0f, half_width);
}

openvdb::GridBase::Ptr make_field(const vdb_file &file, const vdb_grid &g)
{
    openvdb::GridBase::Ptr grid;
    if (g.kind == VDB_VECTOR || g.kind == VDB_VELOCITY)
        grid = make_grid<openvdb::Vec3SGrid>(file.leaves, g, openvdb::Vec3s(0));
    else
        grid = make_grid<openvdb::FloatGrid>(file.leaves, g, 0);
    grid->setTransform(openvdb::math::Transform::createLinearTransform(file.voxel_size));
    grid->setGridClass(g.kind == VDB_DENSITY ? openvdb::GRID_FOG_VOLUME : openvdb::GRID_UNKNOWN);
    if (g.kind == VDB_VELOCITY)
        grid->setVectorType(openvdb::VEC_CONTRAVARIANT_RELATIVE);
    return grid;
}

openvdb::GridBase::Ptr make_any_grid(const vdb_file &file, const vdb_grid &g)
{
    auto grid = g.kind == VDB_SURFACE ? make_surface(file, g) : make_field(file, g);
    grid->setName(g.name);
    grid->setSaveFloatAsHalf(g.type == FIRN_GRID_HALF);
    return grid;
}

uint32_t compression_flags(firn_compression c)
{
    using namespace openvdb::io;
    bool blosc = c == FIRN_BLOSC && Archive::hasBloscCompression();
    return COMPRESS_ACTIVE_MASK | (blosc                    ? COMPRESS_BLOSC
                                   : c == FIRN_UNCOMPRESSED ? COMPRESS_NONE
                                                            : COMPRESS_ZIP);
}

/* OpenVDB puts a random number into each file. Equal contents should make equal files: the number
 * becomes one of theirs. It is 36 characters, 8-4-4-4-12 hexadecimal digits, after a fixed head. */
void settle_identity(std::vector<char> &bytes)
{
    const size_t start = 21, length = 36;
    if (bytes.size() < start + length || bytes[start + 8] != '-' || bytes[start + 23] != '-')
        return;
    uint64_t hash[2] = {0xcbf29ce484222325u, 0x9e3779b97f4a7c15u};
    for (size_t k = start + length; k < bytes.size(); k++)
        hash[k & 1] = (hash[k & 1] ^ uint8_t(bytes[k])) * 0x100000001b3u;
    int digit = 0;
    for (size_t k = start; k < start + length; k++)
        if (bytes[k] != '-') {
            bytes[k] = "0123456789abcdef"[hash[digit / 16] >> 4 * (digit % 16) & 15];
            digit++;
        }
}

void write_file(const vdb_file &file, file_draft *draft)
{
    openvdb::initialize();
    openvdb::GridCPtrVec grids;
    for (size_t g = 0; g < file.grid_count; g++)
        grids.push_back(make_any_grid(file, file.grids[g]));
    openvdb::MetaMap meta;
    meta.insertMeta("creator", openvdb::StringMetadata(std::string("Firn ") + firn_version()));
    meta.insertMeta("time", openvdb::DoubleMetadata(file.time));
    meta.insertMeta("frame", openvdb::Int32Metadata(file.frame));
    memory_file memory;
    std::ostream out(&memory);
    archive a;
    a.setCompression(compression_flags(file.compression));
    a.write_to(out, grids, meta);
    settle_identity(memory.bytes);
    file_append(draft, memory.bytes.data(), memory.bytes.size());
}

} // namespace

firn_status vdb_write(const vdb_file *file, file_draft *draft)
{
    try {
        write_file(*file, draft);
        return FIRN_OK;
    } catch (const std::bad_alloc &) {
        return fail(FIRN_NO_MEMORY, "no memory to write %s", draft->path);
    } catch (const std::exception &e) {
        return fail(FIRN_NO_OUTPUT, "cannot write %s: OpenVDB: %s", draft->path, e.what());
    }
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
    if (!grid.tree().evalLeafBoundingBox(box))
        throw std::runtime_error("the level set has no surface");
    double entries = 1;
    for (int i = 0; i < 3; i++) {
        b.size[i] = (box.max()[i] - box.min()[i]) / LEAF_WIDTH + 1;
        entries *= b.size[i];
    }
    /* Even a wire across the whole box has more leaves than that; a damaged file may not. */
    double sparse = 0x1p20 + 0x1p16 * double(grid.tree().leafCount());
    if (entries > MOST_LEAVES || entries > sparse)
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

/* While it lives, files' hints for reading them late are passed over: OpenVDB trusts them. */
struct unhinted {
    unhinted()
    {
        openvdb::io::DelayedLoadMetadata::unregisterType();
    }
    ~unhinted()
    {
        openvdb::io::DelayedLoadMetadata::registerType();
    }
};

firn_status check_file(const char *path)
{
    input in;
    firn_status status = input_open(path, &in);
    if (status == FIRN_OK)
        status = vdb_check(path, in.data, in.size);
    input_close(&in);
    return status;
}

/* Work on an open file that is put together well, and what it throws as a status. */
template <typename F> firn_status with_file(const char *path, F work)
{
    firn_status status = check_file(path);
    return status != FIRN_OK ? status : guarded(path, [&] {
        unhinted plain;
        openvdb::io::File file(path);
        file.setCopyMaxBytes(0);
        file.open(false);
        work(file);
    });
}

/* OpenVDB computes with whatever it read. */
void require_numbers(const FloatGrid &grid)
{
    bool good = std::isfinite(grid.background());
    for (auto value = grid.cbeginValueAll(); value && good; ++value)
        good = std::isfinite(*value);
    openvdb::Vec3d voxel = grid.voxelSize(), corner = grid.indexToWorld(openvdb::Vec3d(0, 0, 0));
    for (int i = 0; i < 3; i++)
        good = good && std::isfinite(corner[i]) && std::isnormal(voxel[i]);
    if (!good)
        throw std::runtime_error("the grid '" + grid.getName() +
                                 "' has values, or a voxel size, that are not finite");
}

/* The grid by its name; or the first level set; or the first of numbers. */
FloatGrid::Ptr choose_grid(openvdb::io::File &file, const char *name)
{
    std::string known;
    std::string chosen;
    bool is_float = false;
    for (auto n = file.beginName(); n != file.endName(); ++n) {
        known += (known.empty() ? "" : ", ") + n.gridName();
        auto header = file.readGridMetadata(n.gridName());
        bool numbers = header->isType<FloatGrid>();
        bool level = header->getGridClass() == openvdb::GRID_LEVEL_SET;
        if (name ? n.gridName() == name : numbers && (chosen.empty() || level)) {
            chosen = n.gridName();
            is_float = numbers;
        }
        if (!chosen.empty() && (name || level))
            break;
    }
    if (chosen.empty())
        throw std::runtime_error((name ? "there is no grid '" + std::string(name) + "'"
                                       : std::string("there is no grid of float numbers")) +
                                 "; the file has: " + (known.empty() ? "nothing" : known));
    auto grid = is_float ? openvdb::gridPtrCast<FloatGrid>(file.readGrid(chosen)) : nullptr;
    if (!grid)
        throw std::runtime_error("the grid '" + chosen + "' does not hold float numbers");
    require_numbers(*grid);
    return grid;
}

void take_level_set(FloatGrid::Ptr grid, level_set_blocks &b)
{
    double voxel = grid->voxelSize()[0], width = grid->background() / voxel;
    const double widest = 1000;
    if (!(voxel > 0 && width > 0 && width < widest))
        throw std::runtime_error("the band of the level set is " + std::to_string(width) +
                                 " voxels wide");
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

firn_status vdb_read(const char *path, const char *grid, double iso, vdb_source *out)
{
    *out = vdb_source{};
    firn_status status = with_file(path, [&](openvdb::io::File &file) {
        FloatGrid::Ptr chosen = choose_grid(file, grid);
        out->is_level_set = chosen->getGridClass() == openvdb::GRID_LEVEL_SET && is_plain(*chosen);
        bool surface = chosen->getGridClass() == openvdb::GRID_LEVEL_SET;
        if (out->is_level_set)
            take_level_set(chosen, out->blocks);
        else
            take_surface(*chosen, surface ? 0 : iso, out->mesh);
    });
    if (status != FIRN_OK)
        vdb_source_clear(out);
    return status;
}

void vdb_source_clear(vdb_source *grid)
{
    level_set_blocks_clear(&grid->blocks);
    mesh_clear(&grid->mesh);
    *grid = vdb_source{};
}

/* ---- Density --------------------------------------------------------------------------------- */

namespace
{

/* How well a grid answers to "the density": by its name, as a fog, as a level set, as numbers. */
int suits_as_density(const openvdb::GridBase &header)
{
    return !header.isType<FloatGrid>()                         ? 0
           : header.getName() == "density"                     ? 4
           : header.getGridClass() == openvdb::GRID_FOG_VOLUME ? 3
           : header.getGridClass() == openvdb::GRID_LEVEL_SET  ? 2
                                                               : 1;
}

std::string choose_density(openvdb::io::File &file)
{
    std::string chosen;
    int best = 0;
    for (auto n = file.beginName(); n != file.endName(); ++n) {
        int suits = suits_as_density(*file.readGridMetadata(n.gridName()));
        if (suits > best) {
            best = suits;
            chosen = n.gridName();
        }
    }
    return chosen;
}

void take_header(openvdb::io::File &file, vdb_density &out)
{
    auto meta = file.getMetadata();
    auto time = meta->getMetadata<openvdb::DoubleMetadata>("time");
    auto frame = meta->getMetadata<openvdb::Int32Metadata>("frame");
    out.time = time ? time->value() : 0;
    out.frame = frame ? frame->value() : -1;
}

void take_voxels(const FloatGrid &grid, vdb_density &out)
{
    size_t most = size_t(grid.activeVoxelCount());
    out.node = room<int32_t[3]>(most);
    out.value = room<float>(most);
    for (auto leaf = grid.tree().cbeginLeaf(); leaf; ++leaf)
        for (auto voxel = leaf->cbeginValueOn(); voxel; ++voxel) {
            if (*voxel <= 0)
                continue;
            Coord at = voxel.getCoord();
            for (int i = 0; i < 3; i++)
                out.node[out.count][i] = at[i];
            out.value[out.count++] = *voxel;
        }
}

void take_density(FloatGrid::Ptr grid, vdb_density &out)
{
    const openvdb::Index64 most = 1u << 31;
    if (!is_plain(*grid))
        throw std::runtime_error("the voxels of grid '" + grid->getName() +
                                 "' are not cubes along the axes; resample it in the program that "
                                 "wrote it");
    if (grid->activeVoxelCount() > most)
        throw std::length_error("grid '" + grid->getName() + "' has " +
                                std::to_string(grid->activeVoxelCount()) +
                                " voxels; a picture takes at most " + std::to_string(most));
    openvdb::Vec3d corner = grid->indexToWorld(openvdb::Vec3d(0, 0, 0));
    for (int i = 0; i < 3; i++)
        out.origin[i] = corner[i];
    out.voxel = grid->voxelSize()[0];
    out.is_level_set = grid->getGridClass() == openvdb::GRID_LEVEL_SET;
    if (out.is_level_set)
        openvdb::tools::sdfToFogVolume(*grid, float(out.voxel));
    if (grid->activeVoxelCount() > most)
        throw std::length_error("grid '" + grid->getName() + "' is too large inside");
    grid->tree().voxelizeActiveTiles();
    take_voxels(*grid, out);
}

} // namespace

firn_status vdb_read_density(const char *path, const char *grid, vdb_density *out)
{
    *out = vdb_density{};
    firn_status status = with_file(path, [&](openvdb::io::File &file) {
        take_header(file, *out);
        std::string best = grid ? grid : choose_density(file);
        take_density(choose_grid(file, best.empty() ? nullptr : best.c_str()), *out);
    });
    if (status != FIRN_OK)
        vdb_density_clear(out);
    return status;
}

void vdb_density_clear(vdb_density *density)
{
    free(density->node);
    free(density->value);
    *density = vdb_density{};
}
