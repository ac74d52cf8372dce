import { expect, test } from 'vitest';
import { settingGroups, settingWarnings } from '#infra/config/catalogue.ts';

test.for([
  ['WAREHOUSE_BLOK_ROWS', 'WAREHOUSE_BLOCK_ROWS'],
  ['EDGE_PROT', 'EDGE_PORT'],
  ['KAFKA_BROKER', 'KAFKA_BROKERS'],
  ['DEDUP_WINDOW_HOUR', 'DEDUP_WINDOW_HOURS'],
  ['DELIVERY_META_BASE_URI', 'DELIVERY_<NAME>_BASE_URL'],
] as const)('%s is taken for a mistake, and %s is what was meant', ([name, meant]) => {
  expect(settingWarnings({ [name]: '1' })).toEqual([`nothing reads ${name}: did you mean ${meant}?`]);
});

test.for(['HOME', 'LOG_DIR', 'EVENT_INGEST_OWNER', 'EDGE_SERVICE_HOST', 'EDGE_PORT_8080_TCP_ADDR', 'NODE_ENV'])(
  '%s is nothing of ours',
  (name) => {
    expect(settingWarnings({ [name]: 'x' })).toEqual([]);
  },
);

test('a variable that is read, and one that is empty, give no warning', () => {
  expect(settingWarnings({ EDGE_PORT: '1', DELIVERY_META_BASE_URL: 'http://a', KAFKA_BROKER: '' })).toEqual([]);
});

/** Names whose beginnings are everybody's. */
const SHARED = [
  ...['LOG_LEVEL', 'LOCAL_DIR', 'JAVA_HOME', 'PATH', 'NO_COLOR', 'WATCHDOG_USEC', 'NOTIFY_SOCKET'],
  ...['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_TRACES_SAMPLER_ARG'],
  ...['AWS_ACCESS_KEY_ID', 'AWS_ENDPOINT_URL_S3', 'AWS_REGION', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN'],
];

test('a misspelt end of any variable of ours is noticed', () => {
  const names = Object.values(settingGroups([])).flatMap((group) => group.map(({ facts }) => facts.variable));
  const unnoticed = names.filter((name) => settingWarnings({ [`${name}X`]: '1' }).length === 0);
  expect(unnoticed.sort()).toEqual(SHARED.sort());
});
