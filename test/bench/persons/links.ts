import { setTimeout as sleep } from 'node:timers/promises';
import { insertBlock, type Warehouse } from '#infra/clickhouse/client.ts';
import {
  BASE_DICTIONARY,
  createPersonReloader,
  PERSON_DICTIONARIES,
  RECENT_DICTIONARY,
} from '#infra/clickhouse/person_dictionaries.ts';
import { createLogger } from '#infra/log/logger.ts';
import { basePersonId } from '#pipelines/identity/identity.ts';
import { cpuOf } from '../cpu.ts';
import type { Server } from '../warehouse_alone.ts';

const LINKS_PER_SECOND = 1e6 / 3600;
const BLOCK_MS = 500;
const POLL_MS = 100;
const REPORT_MS = 60_000;
const GOAL_SECONDS = 10;

interface Waiting {
  person: string;
  storedAtMs: number;
}

/** Adds links at the rate of a million in an hour, and says how long it takes until queries know them. */
export async function addSteadily({ warehouse, pid }: Server, seconds: number, say: (line: string) => void) {
  const loads: Record<string, number[]> = { [BASE_DICTIONARY]: [], [RECENT_DICTIONARY]: [] };
  const reloader = createPersonReloader({
    warehouse,
    cluster: null,
    report: { reloaded: (name, took) => loads[name]?.push(took), delayed: () => undefined, holds: () => undefined },
    logger: createLogger('bench'),
    nowMs: Date.now,
  });
  say(`\n${LINKS_PER_SECOND.toFixed(0)} links a second for ${seconds} s`);
  const [cpuBefore, from] = [cpuOf(pid), performance.now()];
  const waiting: Waiting[] = [];
  const delays: number[] = [];
  const watch = watchDelays(warehouse, waiting, delays);
  let added = 0;
  let reportedAt = from;
  for (let block = 0; performance.now() - from < seconds * 1000; block++) {
    const due = Math.round(((performance.now() - from + BLOCK_MS) / 1000) * LINKS_PER_SECOND);
    const links = Array.from({ length: due - added }, (_, at) => linkOf(added + at));
    await insertBlock(warehouse, 'person_links', `bench/${block}`, links);
    added = due;
    reloader.changed();
    const last = links.at(-1);
    if (last !== undefined) waiting.push({ person: last.person_id, storedAtMs: performance.now() });
    if (performance.now() - reportedAt > REPORT_MS) {
      reportedAt = performance.now();
      say(`  ${added} links, ${shown(delays)}`);
    }
    await sleep(BLOCK_MS - ((performance.now() - from) % BLOCK_MS));
  }
  while (waiting.length > 0) await sleep(POLL_MS);
  watch.stop();
  reloader.stop();
  const share = (cpuOf(pid) - cpuBefore) / ((performance.now() - from) / 1000);
  say(`${added} links: ${shown(delays)}; ClickHouse took ${share.toFixed(2)} cores`);
  for (const name of PERSON_DICTIONARIES)
    say(`${name}: loaded ${loads[name]?.length} times, ${spread(loads[name] ?? [])}`);
  say(
    `the longest delay is ${delays.every((s) => s < GOAL_SECONDS) ? 'within' : 'NOT within'} the goal of ${GOAL_SECONDS} s`,
  );
}

const linkOf = (number: number) => ({
  ...{ site_id: 'shop', person_id: basePersonId('shop', `a${number}`), target: basePersonId('shop', `b${number}`) },
  ...{ first_seen: 0, version: Date.now() * 1000 },
});

/** Asks for who is waited for until queries know them. */
function watchDelays(warehouse: Warehouse, waiting: Waiting[], delays: number[]): { stop(): void } {
  let isStopped = false;
  const query = `SELECT arrayMap(each -> dictHas('${RECENT_DICTIONARY}', cityHash64('shop', cityHash64(each)))
    OR dictHas('${BASE_DICTIONARY}', cityHash64('shop', cityHash64(each))), {persons:Array(String)}) AS known`;
  const watch = async (): Promise<void> => {
    while (!isStopped) {
      const asked = [...waiting];
      if (asked.length > 0) {
        const query_params = { persons: asked.map(({ person }) => person) };
        const [row] = await (await warehouse.query({ query, query_params, format: 'JSONEachRow' })).json<{
          known: number[];
        }>();
        const known = asked.filter((_, at) => row?.known[at] === 1);
        delays.push(...known.map(({ storedAtMs }) => (performance.now() - storedAtMs) / 1000));
        for (const one of known) waiting.splice(waiting.indexOf(one), 1);
      }
      await sleep(POLL_MS);
    }
  };
  void watch();
  return {
    stop() {
      isStopped = true;
    },
  };
}

const shown = (delays: readonly number[]): string => `delay ${spread(delays)}`;

function spread(values: readonly number[]): string {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): string =>
    (sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0).toFixed(2);
  return `p50 ${at(0.5)} s, p99 ${at(0.99)} s, max ${at(1)} s`;
}
