// What `npm run drill -- rolling` does: events at a fixed rate while every process is restarted, one after the other, over and over.

import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { brokersIn } from '#services/local/parts/parts.ts';
import { cpuOf } from '#test/bench/cpu.ts';
import { type Outgoing, pace, type Traffic } from '#test/bench/load.ts';
import { browserTraffic, serverTraffic } from '#test/bench/traffic.ts';
import { descendantsOf } from '#test/harness/processes.ts';
import { makeSite } from '#test/harness/test_site.ts';
import type { RollingOptions } from '../options.ts';
import { ended, inStep } from '../rows/places.ts';
import { startWorld, type World } from '../world/fault_world.ts';
import { eventId, watchArrivals } from './arrivals.ts';
import { type Numbered, openClients } from './clients.ts';
import { linesOf, problemsOf, type RollingFacts } from './verdict.ts';

/** Of what a server sends in a request; every fifth event is one of a browser's. */
const SERVER_EVENTS = 20;
const BROWSER_SHARE = 0.2;
const WARM_MS = 15_000;
const ALLOWANCE = 1_000_000_000;
const CPU_MS = 1_000;
/** From when one is ready until the next is ended, as `minReadySeconds` is in deploy/. */
const SETTLED_MS = 10_000;
/** Nothing of this is the service: it stands for the platforms. */
const STANDIN = 'standin';

/** Runs the drill on parts and processes of its own, two of each stage; answers what did not hold. */
export async function runRolling(
  dataDir: string,
  { rate, minutes, brokers }: RollingOptions,
  say: (line: string) => void,
): Promise<string[]> {
  const layout = { brokers, redisCluster: false, shards: false, processes: 2 } as const;
  const env = { RATE_LIMIT_IP: '0', RATE_LIMIT_KEY: '0' };
  const world = await startWorld({ dataDir, layout, special: {}, env, onProgress: say });
  try {
    const facts = await drill(world, { rate, durationMs: minutes * 60_000 }, say);
    for (const line of linesOf(facts)) say(line);
    return problemsOf(facts);
  } finally {
    await world.stop();
  }
}

async function drill(
  world: World,
  { rate, durationMs }: { rate: number; durationMs: number },
  say: (line: string) => void,
): Promise<RollingFacts> {
  const service = { ready: { ...world.ready, edge: world.edges[0] ?? '' } };
  const site = await makeSite(service, { allowance: ALLOWANCE });
  const numbers = numbered(site);
  const arrivals = await watchArrivals(world.ready.clickhouse, site.site);
  const clients = openClients(world.edges, Math.ceil((rate * (durationMs + WARM_MS) * 1.01) / 1_000) + SERVER_EVENTS);
  try {
    const traffic = numbers.traffic;
    say(`${rate} events/s, first for ${WARM_MS / 1_000} s in which nothing is restarted`);
    await pace({ traffic, durationMs: WARM_MS, eventsPerSecond: rate }, clients.send);
    const warm = { accepted: clients.seen.accepted };
    const cpu = watchCpu();
    const startedMs = performance.now();
    const rolling = rollAll(world, () => performance.now() - startedMs < durationMs, say);
    await pace({ traffic, durationMs, eventsPerSecond: rate }, clients.send);
    const seconds = (performance.now() - startedMs) / 1_000;
    const used = cpu.end();
    const restarts = await rolling;
    const found = await arrivals.end(numbers.sent(), clients.isAccepted);
    const { moved, givenUp } = clients.seen;
    return {
      ...{ rate, seconds, answers: clients.answers, moved, restarts, lateness: found.lateness },
      events: { accepted: clients.seen.accepted - warm.accepted, givenUp, lost: found.lost, doubled: found.doubled },
      requestMs: clients.requestMs(),
      deaths: world.fleet.names().reduce((sum, name) => sum + world.fleet.deaths(name), 0),
      cpu: used,
      processors: cpus().length,
    };
  } finally {
    await arrivals.close();
    await clients.close();
    await site.close();
  }
}

/** Requests of servers and of browsers in turn, each event with a number of its own. */
function numbered({ serverKey, browserKey }: { serverKey: string; browserKey: string }) {
  let sent = 0;
  const newId = (): string => eventId(sent++);
  const server = serverTraffic(serverKey, SERVER_EVENTS, newId);
  const browser = browserTraffic(browserKey, false, newId);
  let ofBrowsers = 0;
  const traffic: Traffic<Numbered> = () => {
    const first = sent;
    const isBrowser = ofBrowsers <= sent * BROWSER_SHARE;
    const outgoing: Outgoing = isBrowser ? browser() : server();
    if (isBrowser) ofBrowsers += outgoing.events;
    return { ...outgoing, first };
  };
  return { traffic, sent: () => sent };
}

/** SIGTERM to one process after the other, each started again and ready for a while before the next; then the brokers, where they are three. */
async function rollAll(world: World, goesOn: () => boolean, say: (line: string) => void) {
  const { fleet, parts, layout } = world;
  const restarts: { name: string; tookMs: number }[] = [];
  const timed = async (name: string, restart: () => Promise<void>): Promise<void> => {
    if (!goesOn()) return;
    const startedMs = performance.now();
    await restart();
    restarts.push({ name, tookMs: performance.now() - startedMs });
    await sleep(SETTLED_MS);
  };
  for (let round = 1; goesOn(); round++) {
    for (const name of fleet.names()) if (name !== STANDIN) await timed(name, () => fleet.restart(name));
    for (const broker of layout.brokers === 1 ? [] : brokersIn(parts.parts)) {
      await timed(broker.name, async () => {
        await ended(broker);
        await broker.start();
        await inStep(world);
      });
    }
    say(`round ${round}: ${restarts.length} restarts so far`);
  }
  await fleet.allReady();
  return restarts;
}

/** CPU seconds of this process and all below it, by what they run, also of those that have ended since. */
function watchCpu() {
  const before = new Map<string, number>();
  const latest = new Map<string, { name: string; seconds: number }>();
  let isFirst = true;
  function look(): void {
    const own = { pid: process.pid, start: 'own', command: 'sender' };
    for (const { pid, start, command } of [own, ...descendantsOf(process.pid)]) {
      const key = `${pid} ${start}`;
      try {
        const seconds = cpuOf(pid);
        if (isFirst) before.set(key, seconds);
        latest.set(key, { name: nameOf(command), seconds });
      } catch {
        // It has ended since it was listed: what was seen of it last counts.
      }
    }
    isFirst = false;
  }
  look();
  const timer = setInterval(look, CPU_MS);
  return {
    end(): Map<string, number> {
      clearInterval(timer);
      look();
      const used = new Map<string, number>();
      for (const [key, { name, seconds }] of latest)
        used.set(name, (used.get(name) ?? 0) + seconds - (before.get(key) ?? 0));
      return used;
    },
  };
}

function nameOf(command: string): string {
  const [, service] = /services\/(\w+)\/main\.ts/.exec(command) ?? [];
  const part = ['kafka.Kafka', 'redis-server', 'clickhouse', 'quarkus'].find((one) => command.includes(one));
  return service ?? part ?? (command === 'sender' ? command : 'others');
}
