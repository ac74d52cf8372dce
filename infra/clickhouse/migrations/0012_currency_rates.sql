-- Rates by which revenue is told in one currency, as an operator has loaded them.

CREATE TABLE currency_rates
(
    day Date COMMENT 'The day that the rate is of',
    currency LowCardinality(String) COMMENT 'ISO 4217 code; the base is among them',
    base LowCardinality(String) COMMENT 'The currency that all rates are against',
    rate Float64 COMMENT 'How much of the currency one of the base is; 0: taken back',
    loaded_at DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC') COMMENT 'When it was loaded; the newest counts'
)
ENGINE = ReplacingMergeTree(loaded_at)
ORDER BY (currency, day)
SETTINGS non_replicated_deduplication_window = 0;
