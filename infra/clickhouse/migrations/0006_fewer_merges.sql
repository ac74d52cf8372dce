ALTER TABLE event_rows MODIFY SETTING merge_selector_base = 12;
