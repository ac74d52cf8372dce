import { describe, expect, it } from 'vitest';
import { statusReport } from '#services/cli/status.ts';

const READY = {
  edge: 'http://127.0.0.1:8080',
  kafka: '127.0.0.1:9092',
  site: 'demo',
  browserKey: 'svc_pk_x',
  demo: { shop: { site: 'shop' } },
};
const HEALTHY = { status: 200, body: '{"ok":true,"ratelimit":"redis"}' };

function report(ready: string | null, health: { status: number; body: string } | null, json = false) {
  const asked: string[] = [];
  const fetched = async (url: string) => {
    asked.push(url);
    return health;
  };
  return statusReport(
    { readReadyFile: () => ready, fetched, readStages: async () => null, isTerminal: false },
    json,
  ).then((result) => ({ ...result, asked }));
}

describe('status', () => {
  it('says what runs where, and that the edge accepts', async () => {
    const result = await report(JSON.stringify(READY), HEALTHY);
    expect(result.stdout).toBe(
      [
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
      dedup: { pid: 1, metrics: 'http://127.0.0.1:9001/metrics' },
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
        body: '{"ready":false,"waiting_for":["kafka","clickhouse"],"away":["registry"]}',
      },
      'http://127.0.0.1:9002/metrics': {
        status: 200,
        body: '# TYPE svc_lag_records gauge\nsvc_lag_records{partition="0"} 12\nsvc_lag_records{partition="1"} 30\n',
      },
    };
    const result = await statusReport(
      {
        readReadyFile: () => JSON.stringify({ edge: READY.edge, processes }),
        fetched: async (url) => answers[url] ?? null,
        readStages: async () => null,
        isTerminal: true,
      },
      false,
    );
    expect(result.exitCode).toBe(1);
    expect(result.stdout).toContain('dedup                        ready, 1 record behind\n');
    expect(result.stdout).toContain(
      'warehouse                    waiting for kafka, clickhouse, no answer from registry, 42 records behind\n',
    );
    expect(result.stdout).toContain('quota                        does not answer\n');
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
      const ports = { readReadyFile: () => JSON.stringify(ready), fetched, readStages: async () => null, isTerminal };
      const { stdout } = await statusReport(ports, json);
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
    const ports = {
      readReadyFile: () => null,
      fetched: async () => null,
      readStages: async () => ({ items: [stage], as_of: '2026-11-27T10:00:00.000Z', not_seen: [] }) as never,
      isTerminal: false,
    };
    const result = await statusReport(ports, false);
    const says = consumers === 0 ? 'no consumers' : 'consumers: 1';
    expect(result.stdout).toBe(`STAGE  STATE\ndedup  ${says}, 12 records behind, the oldest for more than 10 s\n`);
    expect(result.exitCode).toBe(exitCode);
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
