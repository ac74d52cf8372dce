-- What became of events that arrived at some time, wherever in the table it stands: a replay asks for that of a few thousand events
-- again and again, and read all that was delivered since. Of what there is the index is made in the background.
ALTER TABLE delivery_outcomes
    ADD INDEX IF NOT EXISTS by_received_at received_at TYPE minmax GRANULARITY 1
SETTINGS alter_sync = 0;

ALTER TABLE delivery_outcomes
    MATERIALIZE INDEX by_received_at
SETTINGS alter_sync = 0, mutations_sync = 0;
