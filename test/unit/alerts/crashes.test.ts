import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type AlertFacts, applyChanges } from '#infra/alerts/alert_topic.ts';
import type { SendOutcome } from '#pipelines/alerts/sends.ts';
import { alertKey, createSettingsTable, siteKey } from '#pipelines/settings/table.ts';
import type { Setting } from '#schemas/setting.ts';
import { createEvaluation } from '#services/alerts/evaluation.ts';
import { type AlertLog, openAlertLog } from '#services/alerts/leader.ts';
import { sendDue } from '#services/alerts/sending.ts';
import { cases } from '#test/harness/environment.ts';
import { alertWith, DAY_MS, figureAt, HOUR_MS, NOON_MS, site } from './alert_world.ts';

class Crash extends Error {}

/** Hours from noon on; below ten an alert fires. */
const HOURS = [20, 20, 5, 5, 20, 3, 20, 20];
const FIRED_HOURS = [2, 5];
const TICK_MS = 60_000;

interface Plan {
  /** Steps in which the process dies: before or after their effect. */
  crashes: ReadonlyMap<number, 'before' | 'after'>;
  /** When the mail server is away, in minutes after noon, and for how many. */
  away: readonly [from: number, minutes: number];
}

function settings() {
  const table = createSettingsTable();
  const alert = alertWith({
    channels: [
      { id: 'mail', kind: 'email', target: 'a@shop.example' },
      { id: 'hook', kind: 'webhook', target: 'https://hook.example' },
    ],
  });
  const base = { changed_at: NOON_MS, changed_by: 'test', account: null, site: null, key: null, destination: null };
  const setting = {
    site_id: 'shop',
    id: alert.id,
    version: 1,
    definition: JSON.stringify(alert),
    secrets: {},
    created_at: NOON_MS,
  };
  table.apply(siteKey('shop'), { ...base, site } satisfies Setting);
  table.apply(alertKey('shop', alert.id), { ...base, alert: setting } satisfies Setting);
  return table;
}

/** Runs a day, each minute of which the process has a turn; it is started anew whenever it died. */
async function run({ crashes, away: [awayFrom, awayMinutes] }: Plan) {
  const table = settings();
  const topic: AlertFacts = { states: new Map(), fired: new Map() };
  const arrived: string[] = [];
  let nowMs = NOON_MS;
  let steps = 0;
  /** How many processes died. What is left of one that did does nothing more. */
  let deaths = 0;

  async function process() {
    const mine = deaths;
    async function step<T>(effect: () => T): Promise<T> {
      if (mine !== deaths) throw new Crash();
      const dies = crashes.get(++steps);
      const done = dies === 'before' ? undefined : effect();
      if (dies === undefined) return done as T;
      deaths++;
      throw new Crash();
    }
    const producer = () => ({
      connect: () => step(() => undefined),
      disconnect: async () => undefined,
      transaction: async () => ({ abort: async () => undefined }),
    });
    const session = { kafka: { producer }, groupOf: (name: string) => name };
    const log: AlertLog = await openAlertLog(session as never, {
      all: topic,
      append: (_producer, changes) => step(() => applyChanges(topic, changes)),
      readNow: async () => ({ states: new Map(topic.states), fired: new Map(topic.fired) }),
    });
    const figures = HOURS.map((value, hour) => figureAt(hour, value));
    const evaluation = createEvaluation({
      settings: table,
      source: {
        ofIntervals: (_one, judgedTo, endedBy) =>
          step(() => {
            const over = figures.filter(({ from, to }) => to <= endedBy && from >= judgedTo - HOUR_MS);
            return { ok: true, figures: over, detail: '' };
          }),
        ofStates: async () => [],
      },
      isStored: async () => true,
      evaluated: () => undefined,
      logger: { info: () => undefined, warn: () => undefined },
      nowMs: () => nowMs,
    });
    const sending = {
      settings: table,
      tell({ fired_id }: { fired_id: string }, { channel }: { channel: string }): Promise<SendOutcome> {
        const minute = (nowMs - NOON_MS) / TICK_MS;
        const isAway = channel === 'mail' && minute >= awayFrom && minute < awayFrom + awayMinutes;
        return step(() => {
          if (isAway) return { kind: 'again', reason: 'smtp_econnection' };
          arrived.push(`${fired_id}.${channel}`);
          return { kind: 'sent' };
        });
      },
      told: () => undefined,
      logger: { warn: () => undefined },
      nowMs: () => nowMs,
      random: () => 0.5,
    };
    return async (): Promise<void> => {
      await evaluation.step(log);
      while ((await sendDue(sending, log)) > 0);
    };
  }

  let turn: (() => Promise<void>) | null = null;
  for (; nowMs < NOON_MS + DAY_MS; nowMs += TICK_MS) {
    try {
      turn ??= await process();
      await turn();
    } catch (error) {
      if (!(error instanceof Crash)) throw error;
      turn = null;
    }
  }
  return { fired: [...topic.fired.values()], arrived, steps, deaths };
}

const plans: fc.Arbitrary<Plan> = fc.record({
  crashes: fc
    .array(fc.tuple(fc.integer({ min: 1, max: 80 }), fc.constantFrom('before' as const, 'after' as const)), {
      maxLength: 12,
    })
    .map((all) => new Map(all)),
  away: fc.tuple(fc.integer({ min: 0, max: 480 }), fc.integer({ min: 0, max: 120 })),
});

/** How often each message arrived, by its id. */
const timesOf = (arrived: readonly string[]): Map<string, number> =>
  new Map([...Map.groupBy(arrived, (id) => id)].map(([id, all]) => [id, all.length]));

test('whenever the process dies, and whenever the mail server is away, each channel is told once of each firing', async () => {
  await fc.assert(
    fc.asyncProperty(plans, async (plan) => {
      const { fired, arrived, deaths } = await run(plan);
      const hours = fired.map(({ from }) => ((from ?? 0) - NOON_MS) / HOUR_MS).sort((a, b) => a - b);
      expect(hours).toEqual(FIRED_HOURS);
      const times = timesOf(arrived);
      const sends = fired.flatMap((one) => one.sends.map((send) => ({ send, id: `${one.fired_id}.${send.channel}` })));
      expect([...times.keys()].sort()).toEqual(sends.map(({ id }) => id).sort());
      for (const { send, id } of sends) {
        expect(send.state).toBe('sent');
        // Only what was under way when the process died may have come again, under the same id, and that is said.
        if (!send.is_repeated) expect(times.get(id)).toBe(1);
      }
      const repeated = sends.filter(({ send }) => send.is_repeated).length;
      expect(repeated).toBeLessThanOrEqual(2 * deaths);
      expect(arrived.length).toBeLessThanOrEqual(sends.length + 2 * deaths);
    }),
    { numRuns: cases(150) },
  );
});

test('ten deaths on the way, and a mail server that is away for an hour', async () => {
  // Between steps of sending; where one dies in them is up to chance above.
  const crashes = new Map([1, 2, 4, 6, 8, 10, 12, 14, 16, 18].map((at) => [at, 'before'] as const));
  const { fired, arrived, deaths } = await run({ crashes, away: [180, 60] });
  expect(deaths).toBe(10);
  expect(fired).toHaveLength(2);
  expect(timesOf(arrived).size).toBe(4);
});
