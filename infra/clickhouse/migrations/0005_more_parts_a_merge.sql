-- Each row is written anew half as often (docs/decisions/README.md, 21).

ALTER TABLE event_rows MODIFY SETTING merge_selector_base = 60;
