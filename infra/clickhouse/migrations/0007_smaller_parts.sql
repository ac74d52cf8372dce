-- Smaller parts (docs/decisions/README.md, 21). What there is stays as it is until it is merged.

-- What questions read stays LZ4; all else without a codec of its own, places in projections among it, becomes ZSTD.
ALTER TABLE event_rows
    MODIFY COLUMN event CODEC(LZ4),
    MODIFY COLUMN value CODEC(LZ4),
    MODIFY COLUMN person_hash CODEC(LZ4),
    MODIFY COLUMN event_hash CODEC(LZ4);

-- Lengths of the texts in property_texts stand before each text: in streams of their own they took nearly as much as the texts.
ALTER TABLE event_rows
    MODIFY SETTING default_compression_codec = 'ZSTD(1)', propagate_types_serialization_versions_to_nested_types = 0;
