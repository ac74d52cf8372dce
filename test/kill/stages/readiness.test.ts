import { expect, test } from 'vitest';
import type { PartName } from '#services/local/parts/part.ts';
import { until } from '#test/harness/until.ts';
import { type StageProcess, startStage, useStageWorld } from './stages_fixture.ts';

const TEST_MS = 240_000;
/** How soon an operator is to know. */
const NOTICED_MS = 10_000;
const STAGES = ['dedup', 'identity', 'quota', 'warehouse'] as const;
/** Which stages wait for a part; the others have it beside them at the most. */
const WAIT: Record<PartName, readonly string[]> = {
  redis: ['dedup', 'identity', 'quota'],
  clickhouse: ['warehouse'],
  kafka: STAGES,
  registry: [],
};
const world = useStageWorld();

test('a part that hangs is named within ten seconds, and logged once when it goes and once when it returns', {
  timeout: TEST_MS,
}, async () => {
  const at = world();
  const stages = new Map(STAGES.map((name) => [name, startStage(at, name)]));
  await Promise.all([...stages.values()].map(({ ready }) => ready));
  for (const [part, waiting] of Object.entries(WAIT) as [PartName, readonly string[]][]) {
    const all = [...stages].map(async ([name, stage]) => {
      const list = waiting.includes(name) ? 'waiting_for' : part === 'registry' ? 'away' : null;
      if (list === null) return;
      await until(`${name} to name ${part}`, async () => (await stage.parts())[list].includes(part), Boolean, {
        timeoutMs: NOTICED_MS,
      });
      await until('it to be logged', () => told(stage, 'dependency unavailable').includes(part));
    });
    at.parts[part]?.kill('SIGSTOP');
    try {
      await Promise.all(all);
    } finally {
      at.parts[part]?.kill('SIGCONT');
    }
    await Promise.all(
      [...stages.values()].map((stage) =>
        until('it to be ready', async () => {
          const { waiting_for, away } = await stage.parts();
          return waiting_for.length + away.length === 0;
        }),
      ),
    );
  }
  for (const [name, stage] of stages) {
    const parts = (Object.keys(WAIT) as PartName[]).filter((part) => part === 'registry' || WAIT[part].includes(name));
    await until(
      'the return of all to be logged',
      () => told(stage, 'dependency available again').length >= parts.length,
    );
    expect({ name, went: told(stage, 'dependency unavailable') }).toEqual({ name, went: parts });
    expect({ name, returned: told(stage, 'dependency available again') }).toEqual({ name, returned: parts });
    expect(stage.log().filter(({ msg }) => msg === 'stopping: unknown error')).toEqual([]);
  }
});

test('an edge whose host is days off is not ready, and names the clock', { timeout: TEST_MS }, async () => {
  const clock = new URL('../../fault/world/shifted_clock.ts', import.meta.url);
  for (const days of [9, -9]) {
    clock.searchParams.set('days', String(days));
    const edge = startStage(world(), 'edge', { EDGE_PORT: '0', NODE_OPTIONS: `--import ${clock.href}` });
    await edge.ready;
    await until('the edge to name the clock', async () => (await edge.parts()).waiting_for.includes('clock'));
    expect((await edge.parts()).waiting_for).toEqual(['clock']);
    await edge.said('the clock of this host differs from that of Redis');
    const seconds = Number(/^svc_clock_ahead_seconds\S* (\S+)$/m.exec(await edge.metrics())?.[1]);
    expect(Math.round(seconds / 86_400)).toBe(days);
  }
});

function told(stage: StageProcess, message: string): unknown[] {
  return stage.log().flatMap(({ msg, part }) => (msg === message ? [part] : []));
}
