import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { TagNotes } from '#pipelines/tag/tag_health.ts';
import type { Event } from '#schemas/event.ts';
import { createTagHealth, type TagHealth } from '#services/edge/site_activity.ts';
import { newEvent, postEvents } from '#test/harness/ingest.ts';
import { filledTable, put } from '#test/unit/settings/filled_table.ts';
import { site } from '#test/unit/settings/samples.ts';
import { startEdge } from '../edge.ts';

const BUY = JSON.stringify({ id: 'buy', name: 'purchase', trigger: 'click' });
const table = filledTable({ site: site({ event_definitions: [BUY] }) });

let noted: [string, TagNotes][];
let isAway: boolean;
let health: TagHealth;
beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000 });
  noted = [];
  isAway = false;
  health = createTagHealth({
    table,
    async note(siteId, notes) {
      if (isAway) throw new Error('away');
      noted.push([siteId, notes]);
    },
    nowMs: Date.now,
  });
});
afterEach(() => vi.useRealTimers());

const eventOf = (properties: object, event = 'page_view') =>
  ({ event, caller: 'browser', properties: JSON.stringify(properties) }) as Event;
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

test('what came in 2 s is passed on together, by site', async () => {
  health.read('shop', [eventOf({ $current_url: 'https://shop.example/a' }), eventOf({})])();
  health.read('shop', [eventOf({ $current_url: 'https://shop.example/b', $definition_id: 'buy' })])();
  health.read('other', [eventOf({})])();
  expect(noted).toEqual([]);
  await pass(2_000);
  expect(noted).toHaveLength(2);
  expect(noted[0]).toMatchObject(['shop', { hours: new Map([[0, 3]]) }]);
  expect([...(noted[0]?.[1].pages.keys() ?? [])]).toEqual(['shop.example/a', 'shop.example/b']);
  expect(noted[0]?.[1].fired.get('buy')?.count).toBe(1);
  await pass(10_000);
  expect(noted).toHaveLength(2);
});

test('a definition that the site does not have is not noted, until it has it', async () => {
  health.read('shop', [eventOf({ $definition_id: 'later' })])();
  put(table, { site: site({ event_definitions: [BUY, BUY.replace('"buy"', '"later"')] }) });
  health.read('shop', [eventOf({ $definition_id: 'later' })])();
  await pass(2_000);
  expect(noted[0]?.[1].fired.get('later')?.count).toBe(1);
});

test('what could not be passed on is passed on before the next', async () => {
  isAway = true;
  health.read('shop', [eventOf({})])();
  await pass(2_000);
  isAway = false;
  health.read('shop', [eventOf({})])();
  await pass(2_000);
  expect(noted).toMatchObject([
    ['shop', { hours: new Map([[0, 1]]) }],
    ['shop', { hours: new Map([[0, 1]]) }],
  ]);
});

test('what is left is passed on at the end', async () => {
  health.read('shop', [eventOf({})])();
  await health.stop();
  expect(noted).toHaveLength(1);
});

test('what servers send is not noted: it would hide a tag that has stopped', async () => {
  health.read('shop', [{ ...eventOf({}), caller: 'server' }])();
  health.read('shop', [])();
  await pass(2_000);
  expect(noted).toEqual([]);
});

test('the edge tells of accepted events, and who sent them', async () => {
  vi.useRealTimers();
  const edge = await startEdge();
  await postEvents(edge.url, edge.browserKey, [newEvent(), newEvent()]);
  await postEvents(edge.url, edge.serverKey, [newEvent()]);
  await edge.close();
  expect(edge.accepted.map(([siteId, events]) => [siteId, events.map(({ caller }) => caller)])).toEqual([
    ['shop', ['browser', 'browser']],
    ['shop', ['server']],
  ]);
});
