extern "C" {
#include "io/file.h"
#include "status.h"
}
#include "io/vdb.h"

/* Debian's OpenVDB is built with default visibility and crashes in initialize() when the program's
 * copies of its type information are hidden. */
#pragma GCC visibility push(default)
#include <openvdb/io/Archive.h>
#include <openvdb/openvdb.h>
#include <openvdb/tools/LevelSetRebuild.h>
#pragma GCC visibility pop

#include <new>
#include <streambuf>
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
