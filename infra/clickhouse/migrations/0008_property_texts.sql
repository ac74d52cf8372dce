-- The warehouse sends property_texts; for rows that come without it the server makes it as before (docs/decisions/README.md, 29).

ALTER TABLE event_rows
    MODIFY COLUMN property_texts DEFAULT CAST(JSONExtractKeysAndValuesRaw(properties), 'Map(LowCardinality(String), String)');
