import { afterAll, beforeAll, expect, test } from 'vitest';
import type { BenchChild } from '#test/bench/edge/child.ts';
import { newEvent, postEvents, type SentEvent } from '#test/harness/ingest.ts';
import { countedUsage } from '#test/harness/quota_counter.ts';
import { startSecondEdge } from '#test/harness/second_edge.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { settledUsage } from '#test/harness/stored_rows.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { until } from '#test/harness/until.ts';

const service = sharedService();
const ALLOWANCE = 1_000;
const LIMIT = 1_200;
const CLIENTS = 20;

let second: BenchChild;
let edges: string[];
beforeAll(async () => {
  second = await startSecondEdge(service);
  edges = [service.ready.edge, second.url];
});
afterAll(() => second.stop());

interface Taken {
  accepted: number;
  dropped: number;
  /** Ids of events that were accepted: the first ones of each request. */
  ids: string[];
}

/** Has 20 clients send requests of different sizes to both edges at once. */
async function sendAll(site: TestSite, requests: readonly SentEvent[][]): Promise<Taken> {
  const taken: Taken = { accepted: 0, dropped: 0, ids: [] };
  let next = 0;
  const client = async (): Promise<void> => {
    for (let at = next++; at < requests.length; at = next++) {
      const events = requests[at] as SentEvent[];
      const { status, body } = await postEvents(edges[at % edges.length] as string, site.serverKey, events);
      expect(status).toBe(200);
      const { accepted, dropped = 0 } = body as { accepted: number; dropped?: number };
      expect(accepted + dropped).toBe(events.length);
      taken.accepted += accepted;
      taken.dropped += dropped;
      taken.ids.push(...events.slice(0, accepted).map(({ uuid }) => uuid));
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return taken;
}

/** Requests of 1 to 50 events, so many events in all. */
function requestsOf(events: SentEvent[]): SentEvent[][] {
  const requests: SentEvent[][] = [];
  for (let at = 0, size = 1; at < events.length; at += size, size = (size * 7 + 3) % 50 || 50) {
    requests.push(events.slice(at, at + size));
  }
  return requests;
}

const fresh = (count: number): SentEvent[] =>
  Array.from({ length: count }, (_, index) => newEvent({ distinct_id: `visitor-${index % 40}` }));

function whenSettled(site: TestSite, used: number) {
  return until(
    `${used} used and nothing held`,
    () => countedUsage(service, site.account),
    (counted) => counted.used === used && counted.held === 0,
  );
}

test('20 clients at two edges are answered exactly the allowance and its grace', async () => {
  const site = await makeSite(service, { allowance: ALLOWANCE });
  const sent = 2_500;
  const { accepted, dropped } = await sendAll(site, requestsOf(fresh(sent)));
  expect({ accepted, dropped }).toEqual({ accepted: LIMIT, dropped: sent - LIMIT });
  await whenSettled(site, LIMIT);
  // What was accepted is never dropped later.
  await until(
    'usage is published',
    () => settledUsage(service, site.account),
    (used) => used === LIMIT,
  );
  expect(await postEvents(edges[1] as string, site.serverKey, [newEvent()])).toMatchObject({
    status: 200,
    body: { accepted: 0, dropped: 1 },
  });
  await site.close();
});

test('duplicates give their allowance back and let further events in', async () => {
  const site = await makeSite(service, { allowance: ALLOWANCE });
  const first = fresh(400);
  // Each event twice: 800 are reserved, in requests of their own and beside each other.
  const doubled = await sendAll(site, [...requestsOf(first), ...requestsOf(first)]);
  expect(doubled).toMatchObject({ accepted: 800, dropped: 0 });
  await whenSettled(site, 400);

  const more = await sendAll(site, requestsOf([...fresh(900), ...first.slice(0, 300)]));
  expect(more.accepted).toBe(800);
  const unique = new Set([...doubled.ids, ...more.ids]).size;
  await whenSettled(site, unique);

  const rest = await sendAll(site, requestsOf(fresh(1_000)));
  expect(rest.accepted).toBe(LIMIT - unique);
  await whenSettled(site, LIMIT);
  await site.close();
});

test('the first events of a request are taken and the last ones dropped', async () => {
  const site = await makeSite(service, { allowance: 10 });
  const events = fresh(20);
  // What is rejected or a robot's reserves nothing.
  const bad = { ...newEvent(), event: '' };
  expect(await postEvents(edges[0] as string, site.serverKey, [bad, ...events])).toMatchObject({
    status: 200,
    body: { accepted: 12, dropped: 8, rejected: [{ index: 0 }] },
  });
  await whenSettled(site, 12);
  await site.close();
});
