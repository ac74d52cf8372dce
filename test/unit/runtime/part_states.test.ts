import { expect, test } from 'vitest';
import { createMetrics } from '#infra/metrics/metrics.ts';
import { createPartStates } from '#services/stage/runtime.ts';

function world() {
  const lines: unknown[] = [];
  const clock = { ms: 0 };
  const metrics = createMetrics('test');
  const log = (level: string) => (facts: object, message: string) => void lines.push([level, facts, message]);
  const parts = createPartStates({ warn: log('warn'), info: log('info') } as never, metrics, () => clock.ms);
  return { lines, clock, metrics, parts };
}

test('parts that are needed are waited for, others are only named', () => {
  const { parts } = world();
  const well = { redis: false, registry: false, kafka: true };
  parts.needs('redis', () => well.redis);
  parts.needs('kafka', () => well.kafka);
  parts.uses('registry', () => well.registry);
  expect([parts.waitingFor(), parts.away()]).toEqual([['redis'], ['registry']]);
  Object.assign(well, { redis: true, registry: true });
  expect([parts.waitingFor(), parts.away()]).toEqual([[], []]);
});

test('a part that goes is logged once, and once when it returns, however often it is looked at', async () => {
  const { parts, lines, clock, metrics } = world();
  let isWell = true;
  parts.needs('kafka', () => isWell);
  const look = () => {
    parts.look();
    parts.look();
  };
  look();
  expect(lines).toEqual([]);
  isWell = false;
  look();
  expect(Object.keys(parts.since())).toEqual(['kafka']);
  expect(await metrics.text()).toContain('svc_part_up{part="kafka",stage="test"} 0');
  clock.ms = 61_400;
  isWell = true;
  look();
  expect(parts.since()).toEqual({});
  expect(lines).toEqual([
    ['warn', { part: 'kafka', waits: true }, 'dependency unavailable'],
    ['info', { part: 'kafka', seconds: 61 }, 'dependency available again'],
  ]);
  expect(await metrics.text()).toContain('svc_part_up{part="kafka",stage="test"} 1');
});

test('another condition under the name of one before it goes on with its state', () => {
  const { parts, lines } = world();
  parts.needs('redis', () => false);
  parts.look();
  parts.needs('redis', () => true);
  parts.look();
  expect(lines.map((line) => (line as unknown[])[2])).toEqual(['dependency unavailable', 'dependency available again']);
});
