ALTER TABLE event_rows MODIFY SETTING non_replicated_deduplication_window = 10000;
ALTER TABLE person_links MODIFY SETTING non_replicated_deduplication_window = 10000;
ALTER TABLE quota_usage MODIFY SETTING non_replicated_deduplication_window = 10000;
ALTER TABLE delivery_outcomes MODIFY SETTING non_replicated_deduplication_window = 10000;
ALTER TABLE inventory MODIFY SETTING non_replicated_deduplication_window = 10000;
ALTER TABLE event_hours MODIFY SETTING non_replicated_deduplication_window = 10000;
