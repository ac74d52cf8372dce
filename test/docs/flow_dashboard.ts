// The Grafana dashboard of the flow, from a table of its panels.

/** Units as Grafana names them. */
type Unit = 'ops' | 'percentunit' | 's' | 'short' | 'bytes' | 'bool_on_off';

interface Panel {
  title: string;
  unit: Unit;
  /** By what each line is called. */
  lines: Readonly<Record<string, string>>;
}

const rate = (metric: string, by: string): string => `sum by (${by}) (rate(${metric}[$__rate_interval]))`;
const quantile = (of: number, buckets: string, by: string): string =>
  `histogram_quantile(${of}, ${rate(buckets, `le, ${by}`)})`;

const EDGE = '{stage="edge"}';
const DELIVERY = '{stage=~"delivery[.].+"}';
const WAITING = '{topic!~".+[.](retry[.].+|replay)"}';

/** In the order in which events go through the service. */
const ROWS: Readonly<Record<string, readonly Panel[]>> = {
  Edge: [
    {
      title: 'Events',
      unit: 'ops',
      lines: {
        accepted: rate(`svc_events_passed_total${EDGE}`, 'stage'),
        '{{reason}}': rate(`svc_events_dropped_total${EDGE}`, 'reason'),
      },
    },
    {
      title: 'Not acknowledged',
      unit: 'percentunit',
      lines: {
        share: `sum(rate(svc_events_dropped_total{stage="edge", reason=~"not_acknowledged|queue_full|queue_old|internal"}[$__rate_interval])) / sum(rate(svc_events_in_total${EDGE}[$__rate_interval]))`,
      },
    },
    {
      title: 'Time until acknowledged',
      unit: 's',
      lines: {
        p50: quantile(0.5, `svc_batch_seconds_bucket${EDGE}`, 'stage'),
        p99: quantile(0.99, `svc_batch_seconds_bucket${EDGE}`, 'stage'),
      },
    },
  ],
  Stages: [
    { title: 'Events taken in', unit: 'ops', lines: { '{{stage}}': rate('svc_events_in_total', 'stage') } },
    {
      title: 'Age of the oldest record that waits',
      unit: 's',
      lines: { '{{stage}} {{topic}}': `max by (stage, topic) (svc_lag_seconds${WAITING})` },
    },
    {
      title: 'Lag in records',
      unit: 'short',
      lines: { '{{stage}}': `sum by (stage) (svc_lag_records${WAITING})` },
    },
    {
      title: 'From arrival until done, p99',
      unit: 's',
      lines: { '{{stage}}': quantile(0.99, 'svc_event_age_seconds_bucket', 'stage') },
    },
    {
      title: 'Dropped, by reason',
      unit: 'ops',
      lines: { '{{stage}} {{reason}}': rate('svc_events_dropped_total{stage!="edge"}', 'stage, reason') },
    },
    {
      title: 'Dead letters since the start',
      unit: 'short',
      lines: { '{{stage}} {{reason}}': 'sum by (stage, reason) (svc_events_dead_total)' },
    },
  ],
  Delivery: [
    {
      title: 'Delivered',
      unit: 'ops',
      lines: { '{{stage}}': rate(`svc_events_passed_total${DELIVERY}`, 'stage') },
    },
    {
      title: 'Put on retry topics',
      unit: 'ops',
      lines: { '{{stage}} {{lane}}': rate(`svc_events_diverted_total${DELIVERY}`, 'stage, lane') },
    },
    {
      title: 'Sites with an open circuit breaker',
      unit: 'short',
      lines: { '{{stage}} {{cause}}': 'sum by (stage, cause) (svc_delivery_breakers_open)' },
    },
  ],
  Dependencies: [
    { title: 'Well', unit: 'bool_on_off', lines: { '{{stage}} {{part}}': 'min by (stage, part) (svc_part_up)' } },
    {
      title: 'Active parts of a partition in ClickHouse (refuses inserts at 3,000)',
      unit: 'short',
      lines: { '{{table}}': 'max by (table) (svc_clickhouse_parts)' },
    },
    {
      title: 'Disk of ClickHouse free, memory of Redis used, indexes rebuilt',
      unit: 'percentunit',
      lines: {
        'disk {{disk}}': 'min by (disk) (svc_clickhouse_disk_free_ratio)',
        'Redis memory': 'max(svc_redis_memory_ratio)',
        'index {{index}}': 'min by (index) (svc_index_rebuilt_ratio)',
      },
    },
  ],
  Processes: [
    {
      title: 'CPU',
      unit: 'percentunit',
      lines: { '{{stage}}': rate('process_cpu_seconds_total{job="svc"}', 'stage') },
    },
    {
      title: 'Memory',
      unit: 'bytes',
      lines: { '{{stage}}': 'sum by (stage) (process_resident_memory_bytes{job="svc"})' },
    },
    {
      title: 'Event loop delay, p99',
      unit: 's',
      lines: { '{{stage}}': 'max by (stage) (nodejs_eventloop_lag_p99_seconds{job="svc"})' },
    },
  ],
};

const COLUMNS = 24;
const PER_LINE = 3;
const WIDTH = COLUMNS / PER_LINE;
const HEIGHT = 8;
const SOURCE = { type: 'prometheus', uid: '$datasource' };

function panelOf({ title, unit, lines }: Panel, id: number, x: number, y: number) {
  return {
    ...{ id, type: 'timeseries', title, datasource: SOURCE, gridPos: { h: HEIGHT, w: WIDTH, x, y } },
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    options: { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } },
    targets: Object.entries(lines).map(([legendFormat, expr], index) => ({
      ...{ refId: String.fromCharCode(65 + index), datasource: SOURCE, expr, legendFormat },
    })),
  };
}

/** What `deploy/grafana/flow.json` holds. */
export function flowDashboard() {
  const panels: object[] = [];
  let y = 0;
  for (const [title, all] of Object.entries(ROWS)) {
    panels.push({
      id: panels.length + 1,
      type: 'row',
      title,
      collapsed: false,
      panels: [],
      gridPos: { h: 1, w: COLUMNS, x: 0, y },
    });
    y += 1;
    for (const [index, panel] of all.entries()) {
      const line = Math.floor(index / PER_LINE);
      panels.push(panelOf(panel, panels.length + 1, (index % PER_LINE) * WIDTH, y + line * HEIGHT));
    }
    y += Math.ceil(all.length / PER_LINE) * HEIGHT;
  }
  return {
    ...{
      uid: 'svc-flow',
      title: 'Event ingest: the flow',
      schemaVersion: 39,
      version: 1,
      editable: true,
      tags: ['svc'],
    },
    ...{ refresh: '30s', time: { from: 'now-3h', to: 'now' }, timezone: 'utc', graphTooltip: 1 },
    templating: { list: [{ name: 'datasource', type: 'datasource', query: 'prometheus', label: 'Prometheus' }] },
    panels,
  };
}
