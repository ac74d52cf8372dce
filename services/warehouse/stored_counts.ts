import { ColumnarEvent } from '#infra/clickhouse/event_columns.ts';
import type { SinkOptions } from '#infra/kafka/block_sink/block_sink_options.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import type { Metrics } from '#infra/metrics/metrics.ts';
import type { Row } from './tables.ts';

/** Counts what is stored and committed; `linksChanged` is called where persons may have merged. */
export function countStored(
  metrics: Pick<Metrics, 'in' | 'passed' | 'ageSeconds'>,
  linksChanged: () => void,
): SinkOptions<Row>['committed'] {
  return (topic, _partition, rows) => {
    metrics.in(rows.length);
    metrics.passed(rows.length);
    if (topic === TOPICS.links) linksChanged();
    const [oldest] = rows;
    if (oldest instanceof ColumnarEvent) metrics.ageSeconds((Date.now() - oldest.received_at) / 1000);
  };
}
