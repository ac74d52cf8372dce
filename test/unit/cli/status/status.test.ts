import { describe, expect, it } from 'vitest';
import { type StatusPorts, statusReport } from '#services/cli/status/status.ts';

const READY = {
  edge: 'http://127.0.0.1:8080',
  kafka: '127.0.0.1:9092',
  site: 'demo',
  browserKey: 'svc_pk_x',
  demo: { shop: { site: 'shop' } },
};
const HEALTHY = { status: 200, body: '{"ok":true,"ratelimit":"redis"}' };

const NOW_MS = Date.UTC(2027, 0, 5, 12);

function portsOf(some: Partial<StatusPorts>): StatusPorts {
  return {
    readReadyFile: () => null,
    fetched: async () => null,
    askControl: null,
    edgeUrl: null,
    readDisks: async () => [],
    nowMs: () => NOW_MS,
    isTerminal: false,
    ...some,
  };
}

function report(ready: string | null, health: { status: number; body: string } | null, json = false) {
  const asked: string[] = [];
  const fetched = async (url: string) => {
    asked.push(url);
    return health;
  };
  return statusReport(portsOf({ readReadyFile: () => ready, fetched }), { json, metrics: [] }).then((result) => ({
    ...result,
    asked,
  }));
}

describe('status', () => {
  it('says what runs where, and that the edge accepts', async () => {
    const result = await report(JSON.stringify(READY), HEALTHY);
    expect(result.stdout).toBe(
      [
        'Nothing is wrong.',
        '',
        'WHAT            WHERE',
        'edge            http://127.0.0.1:8080',
        'kafka           127.0.0.1:9092',
        'site            demo',
        'browserKey      svc_pk_x',
        'demo.shop.site  shop',
        'health          the edge accepts events; its limits are kept in redis',
        '',
      ].join('\n'),
    );
    expect(result).toMatchObject({ exitCode: 0, stderr: '', asked: ['http://127.0.0.1:8080/v1/health'] });
  });

  it('says the same as JSON', async () => {
    const result = await report(JSON.stringify(READY), HEALTHY, true);
    expect(JSON.parse(result.stdout)).toMatchObject({ ...READY, health: { ok: true } });
  });

  it.each([
    [null, 'the edge does not answer'],
    [{ status: 503, body: '{"ok":false,"ratelimit":"memory"}' }, 'the edge answers 503 and accepts nothing'],
    [{ status: 200, body: '{"ok":false}' }, 'the edge answers 200 and accepts nothing'],
    [{ status: 200, body: '<html>' }, 'the edge answers 200 and accepts nothing'],
  ])('exits with 1 when the edge answers %o', async (health, says) => {
    const result = await report(JSON.stringify(READY), health);
    expect(result.exitCode).toBe(1);
    expect(result.stdout).toContain(says);
  });

  it('says of each process whether it can do its work, and how far it is behind', async () => {
    const processes = {
      dedup: { pid: 1, metrics: 'http://127.0.0.1:9001/metrics', died_ms: [] },
      warehouse: { pid: 2, metrics: 'http://127.0.0.1:9002/metrics' },
      quota: { pid: 3, metrics: 'http://127.0.0.1:9003/metrics' },
      standin: { pid: 4, metrics: null },
    };
    const answers: Record<string, { status: number; body: string }> = {
      'http://127.0.0.1:8080/v1/health': HEALTHY,
      'http://127.0.0.1:9001/ready': { status: 200, body: '{"ready":true,"waiting_for":[]}' },
      'http://127.0.0.1:9001/metrics': {
        status: 200,
        body: 'svc_lag_records{stage="dedup",topic="t",partition="0"} 1\n',
      },
      'http://127.0.0.1:9002/ready': {
        status: 503,
        body: `{"ready":false,"waiting_for":["kafka","clickhouse"],"away":["registry"],"since":{"kafka":${NOW_MS - 600_000}}}`,
      },
      'http://127.0.0.1:9002/metrics': {
        status: 200,
        body: '# TYPE svc_lag_records gauge\nsvc_lag_records{partition="0"} 12\nsvc_lag_records{partition="1"} 30\n',
      },
    };
    const result = await statusReport(
      portsOf({
        readReadyFile: () => JSON.stringify({ edge: READY.edge, processes }),
        fetched: async (url) => answers[url] ?? null,
      }),
      { json: false, metrics: [] },
    );
    expect(result.exitCode).toBe(1);
    expect(result.stdout).toBe(
      `critical  Kafka does not answer: warehouse waits for it (since 2027-01-05T11:50:00Z, 10 min)
          -> look at the broker's log (a full disk ends it) and start it again: docs/operations.md#disks-and-parts
critical  ClickHouse does not answer: warehouse waits for it
          -> look at ClickHouse's log, start it again; rows wait in Kafka for nine days: docs/operations.md#disks-and-parts
critical  quota does not answer: it hangs, was killed, or cannot be reached from here
          -> look at its log; kill it where it hangs, whatever supervises it starts it again: docs/operations.md#logs
warning   The registry does not answer: warehouse goes on without it
          -> start the schema registry again; processes that start now wait for it: docs/operations.md#logs

WHAT       WHERE
health     the edge accepts events; its limits are kept in redis
dedup      ready, 1 record behind
warehouse  waiting for kafka, clickhouse, no answer from registry, 42 records behind
quota      does not answer
`,
    );
  });

  it.each([true, false])('shows secrets to a person alone (%s)', async (isTerminal) => {
    const ready = {
      edge: READY.edge,
      clickhouse: 'http://svc:s3cret@127.0.0.1:8123/svc',
      serverKey: 'svc_sk_x',
      adminTokenFile: '.local/admin_token',
      demo: { shop: { site: 'shop', serverKey: 'svc_sk_y' } },
    };
    for (const json of [true, false]) {
      const fetched = async () => HEALTHY;
      const ports = portsOf({ readReadyFile: () => JSON.stringify(ready), fetched, isTerminal });
      const { stdout } = await statusReport(ports, { json, metrics: [] });
      for (const secret of ['s3cret', 'svc_sk_x', 'svc_sk_y']) expect(stdout.includes(secret)).toBe(isTerminal);
      expect(stdout).toContain('.local/admin_token');
      if (!isTerminal) expect(stdout).toContain('http://svc:(in ready.json)@127.0.0.1:8123/svc');
    }
  });

  it.each([
    [1, 0],
    [0, 1],
  ])('of an installation elsewhere says how far its stages are, with %i at work', async (consumers, exitCode) => {
    const stage = { stage: 'dedup', consumers, lag: 12, waits_longer_than_ms: 10_000, on_lanes: 0, rate: null };
    const askControl = async (path: string) =>
      path === '/stages' ? { kind: 'item', item: { items: [stage] } } : { kind: 'refused', isUnknown: false };
    const ports = portsOf({ askControl: askControl as never });
    const result = await statusReport(ports, { json: false, metrics: [] });
    const says = consumers === 0 ? 'no consumers' : 'consumers: 1';
    expect(result.stdout).toContain(`STATE\ndedup  ${says}, 12 records behind, the oldest for more than 10 s\n`);
    expect(result.exitCode).toBe(exitCode);
  });

  it('asks processes elsewhere by the addresses of their metrics, and each stage that gave events up for open letters', async () => {
    const asked: string[] = [];
    const fetched = async (url: string) =>
      url.endsWith('/ready')
        ? { status: 200, body: '{"ready":true,"waiting_for":[],"away":[]}' }
        : { status: 200, body: 'svc_events_dead_total{reason="wire_null",stage="dedup"} 2\n' };
    const askControl = async (path: string, query: object = {}) => {
      asked.push(`${path} ${JSON.stringify(query)}`);
      return { kind: 'item', item: { items: path === '/dead-letters' ? [{ died_at: NOW_MS - 90_000 }] : [] } };
    };
    const ports = portsOf({ fetched, askControl: askControl as never });
    const result = await statusReport(ports, {
      json: false,
      metrics: ['http://a:9464/metrics', 'http://b:9464/metrics'],
    });
    expect(asked.at(-1)).toBe('/dead-letters {"stage":"dedup","state":"open","limit":"1"}');
    expect(asked).toHaveLength(5);
    expect(result.exitCode).toBe(1);
    expect(result.stdout).toContain(
      'warning   dedup@a:9464 gave events up since it started: wire_null 2 (since 2027-01-05T11:58:30Z, 90 s)\n',
    );
    expect(result.stdout).toContain('dedup@b:9464  ready\n');
  });

  it('leaves out destinations that were deleted or disabled', async () => {
    const failing = { destination: 'webhook', state: 'failing', reason: 'http_500', waiting: 1, delivered_at: null };
    const lists: Record<string, object[]> = {
      '/delivery-health': ['there', 'disabled', 'deleted'].map((site_id) => ({ ...failing, site_id })),
      '/destinations': [
        { site_id: 'there', name: 'webhook', enabled: true },
        { site_id: 'disabled', name: 'webhook', enabled: false },
      ],
    };
    const askControl = async (path: string) => ({ kind: 'item', item: { items: lists[path] ?? [] } });
    const { stdout } = await statusReport(portsOf({ askControl: askControl as never }), { json: false, metrics: [] });
    expect(stdout).toContain('warning   webhook of there fails (http_500): 1 events wait');
    expect(stdout).not.toMatch(/deleted|disabled/);
  });

  it.each([
    ['unavailable', { kind: 'unavailable', isSilent: true }, 'control does not answer'],
    ['unknown to', { kind: 'refused', isUnknown: true }, 'refuses the admin token'],
  ])('is not well where it is %s the control service', async (_, answer, says) => {
    const ports = portsOf({ askControl: (async () => answer) as never });
    const result = await statusReport(ports, { json: false, metrics: [] });
    expect(result.exitCode).toBe(1);
    expect(result.stdout).toContain(says);
  });

  it('knows when there is no edge', async () => {
    const result = await report('{"kafka":"x"}', HEALTHY);
    expect(result).toMatchObject({ exitCode: 1, asked: [] });
    expect(result.stdout).toContain('no address is known');
  });

  it.each([
    [null, 'not_running'],
    ['half of it', 'ready_malformed'],
    ['[]', 'ready_malformed'],
  ])('of an installation whose file is %j is an error with a code', async (ready, code) => {
    const result = await report(ready, HEALTHY);
    expect(result).toMatchObject({ exitCode: 1, stdout: '' });
    expect(result.stderr).toMatch(new RegExp(`^svc: ${code}: [^\\n]+\\n$`));
  });
});
