import { afterAll, beforeAll, expect, test } from 'vitest';
import { drillOutage } from '#test/drill/outage.ts';
import { type Place, startStandins } from '#test/drill/place.ts';
import { drillReplay } from '#test/drill/replay.ts';
import { sharedService } from '#test/harness/shared_service.ts';

const TEST_MS = 240_000;
const service = sharedService();

let place: Place;
beforeAll(async () => {
  const standins = await startStandins();
  const close = async () => void (await Promise.all(Object.values(standins).map((standin) => standin.stop())));
  place = { edge: service.ready.edge, service, standins, close };
});
afterAll(() => place.close());

const quiet = (): void => undefined;

test('an outage delays nobody else, and afterwards everything is there once', { timeout: TEST_MS }, async () => {
  const size = { events: 900, sites: 6, calmMs: 6_000, outageMs: 9_000, healedMs: 90_000 };
  expect((await drillOutage(place, size, quiet)).problems).toEqual([]);
});

test('each destination, pointed back an hour, gets what it had not', { timeout: TEST_MS }, async () => {
  const size = { events: 400, sites: 4, perSecond: 200, from: new Date().toISOString() };
  expect((await drillReplay(place, size, quiet)).problems).toEqual([]);
});
