-- An id that is a UUID, as most are, by two numbers: the text of one and its digest took 23 bytes of an event's 34, and a merge compared
-- and copied 37 bytes of it. Its first half is in `uuid_high`. The second one is in `uuid_mixed`, mixed with the first so that it tells
-- ids apart alone, as the digest of a text does: also those of version 1, whose second half is a computer's. What there is stays
-- as it is; `sent_id` and `event_hash` are the same of both. The constant is 2^64 divided by the golden ratio, odd. Before 0016, as a new
-- name waits for what is rewritten, and nothing does for a new name.

ALTER TABLE event_rows
    RENAME COLUMN event_hash TO text_hash,
    ADD COLUMN uuid_high UInt64 COMMENT 'First half of the id where that is a UUID, and event_id empty; else 0' CODEC(Delta, ZSTD(1)) AFTER event_id,
    ADD COLUMN uuid_mixed UInt64 COMMENT 'Second half of the id where that is a UUID: bitXor(uuid_mixed, uuid_high * 11400714819323198485); else 0' CODEC(NONE) AFTER uuid_high,
    ADD COLUMN event_hash UInt64 ALIAS bitXor(text_hash, uuid_mixed) COMMENT 'Digest of sent_id, for queries that only tell events apart',
    ADD COLUMN sent_id String ALIAS if(empty(event_id), toString(reinterpretAsUUID(bitOr(bitShiftLeft(toUInt128(bitXor(uuid_mixed, uuid_high * 11400714819323198485)), 64), toUInt128(uuid_high)))), event_id) COMMENT 'Chosen by the sender or made for it; one event, however often it was sent',
    MODIFY ORDER BY (site_id, toDate(timestamp), event, cityHash64(distinct_id), event_id, uuid_high, uuid_mixed);

ALTER TABLE event_rows
    MODIFY COLUMN text_hash UInt64 MATERIALIZED if(empty(event_id), 0, cityHash64(event_id));

ALTER TABLE event_rows
    COMMENT COLUMN event_id 'The id where it is no UUID, or the row of before; else empty, and sent_id has it',
    COMMENT COLUMN text_hash 'Digest of event_id; 0 where that is empty';
