ALTER TABLE event_rows MODIFY SETTING min_bytes_for_wide_part = 67108864;
