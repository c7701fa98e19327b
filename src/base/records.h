#pragma once
// Records: the parts of a message of which there may be several, such as its entries. A record is a
// varint length, the fields that this version knows, and perhaps fields that a later version has
// added, each a varint number and a string. A reader takes the whole record out of its input and
// passes over what it does not know, so that versions which differ understand each other.
// docs/protocol.md describes the bytes. Not thread-safe; both classes borrow the reader or the
// writer that they are made of.

#include <cstddef>

#include "base/bytes.h"

namespace weir {

/// Writes a record: what is written to the writer while this object lives. Its end puts the length
/// in front.
class RecordWriter {
  public:
    explicit RecordWriter(ByteWriter& writer) : writer_(writer), begin_(writer.begin_length()) {}
    ~RecordWriter() { writer_.end_length(begin_); }
    RecordWriter(const RecordWriter&) = delete;
    RecordWriter& operator=(const RecordWriter&) = delete;

  private:
    ByteWriter& writer_;
    std::size_t begin_;
};

/// Reads a record: its known fields by fields(). Its end makes the outer reader fail if a known
/// field was malformed; what a later version has added is passed over.
class RecordReader {
  public:
    explicit RecordReader(ByteReader& outer) : outer_(outer), fields_(outer.record()) {}
    ~RecordReader() {
        if (!fields_.ok()) {
            outer_.fail();
        }
    }
    RecordReader(const RecordReader&) = delete;
    RecordReader& operator=(const RecordReader&) = delete;
    [[nodiscard]] ByteReader& fields() { return fields_; }

  private:
    ByteReader& outer_;
    ByteReader fields_;
};

/// The head of a message whose entries are all that it says: a record without fields, so that a
/// later version can say something about the message.
inline void write_empty_head(ByteWriter& writer) { const RecordWriter head(writer); }
inline void skip_head(ByteReader& reader) { const RecordReader head(reader); }

}  // namespace weir
