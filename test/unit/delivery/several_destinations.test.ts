import { expect, test } from 'vitest';
import { kindOfDestination, targetKey } from '#pipelines/delivery/destination_id.ts';
import { aimOf, fieldsOfAim, pollRetryTopic } from '#pipelines/delivery/retry_topics.ts';
import { NOW_MS } from './entries.ts';
import { SECOND_MS, webhookWorld } from './webhook_world.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

test('an id says its kind, and the first of a kind is told by its site alone', () => {
  expect(['meta', 'meta-eu', 'meta-eu-2'].map(kindOfDestination)).toEqual(['meta', 'meta', 'meta']);
  expect([targetKey('shop', 'meta'), targetKey('shop', 'meta-eu')]).toEqual(['shop', 'shop/meta-eu']);
});

test('a job for the first of a kind stands as it did; one for another is never due to a process that knows only the first', () => {
  const times = { dueAtMs: NOW_MS, waitsSinceMs: NOW_MS - 1 };
  const first = fieldsOfAim({ destination: 'meta', ...times });
  expect(first).toEqual({ due_at: NOW_MS, waits_since: NOW_MS - 1, further: null });
  expect(aimOf({ due_at: NOW_MS, waits_since: NOW_MS - 1 }, 'meta')).toEqual({ destination: 'meta', ...times });
  const other = fieldsOfAim({ destination: 'meta-eu', ...times });
  expect(aimOf(other, 'meta')).toEqual({ destination: 'meta-eu', ...times });
  // What an older process reads: neither due, nor to be released before.
  expect(other.waits_since).toBe(0);
  const look = { duesMs: [other.due_at], nowMs: NOW_MS + 72 * HOUR_MS, delayMs: 5_000, isMoreBehind: false };
  expect(pollRetryTopic({ ...look, skipCount: 0 })).toMatchObject({ take: [], move: [], leaveFrom: 0 });
});

test('what was replayed to a destination that was deleted before its turn is not for another of its id', async () => {
  const world = await webhookWorld(() => false);
  world.put('shop', 'https://shop.example/in', 'webhook-crm', NOW_MS);
  await world.replay('shop', 'webhook-crm', NOW_MS - 1);
  await world.replay('shop', 'webhook-crm', NOW_MS);
  await world.run(world.time.nowMs + SECOND_MS);
  expect(world.told.flatMap(({ outcomes }) => outcomes.map(({ reason }) => reason)).sort()).toEqual([
    '',
    'before_destination',
  ]);
});

test('of two webhooks of a site each gets every event once, and one that is down holds up neither the other nor its retries', async () => {
  let isCrmDown = true;
  const world = await webhookWorld((host) => host === 'crm' && isCrmDown);
  world.put('shop', 'https://shop.example/in');
  world.put('shop', 'https://crm.example/in', 'webhook-crm');
  world.put('other', 'https://other.example/in', 'webhook-only');
  await world.acceptSingly('shop', 20);
  await world.accept('other', 3);
  await world.run(world.time.nowMs + SECOND_MS);
  const countOf = (host: string): number =>
    [...world.delivered.keys()].filter((id) => id.startsWith(`${host}/`)).length;
  expect([countOf('shop'), countOf('crm'), countOf('other')]).toEqual([20, 0, 3]);
  // The breaker of the one is open, that of the other is not.
  expect(world.calls.get('crm')).toBeLessThan(10);
  expect(new Set(world.jobs.map(({ further }) => further?.destination))).toEqual(new Set(['webhook-crm']));

  isCrmDown = false;
  // As somebody asks for it to be tried again, which is a change of its settings.
  world.put('shop', 'https://crm.example/in', 'webhook-crm');
  await world.run(world.time.nowMs + MINUTE_MS);
  expect(countOf('crm')).toBeGreaterThan(10);
  await world.run(world.time.nowMs + HOUR_MS);
  expect([countOf('shop'), countOf('crm')]).toEqual([20, 20]);
  expect(new Set(world.delivered.values())).toEqual(new Set([1]));
  const deliveredTo = (name: string): number =>
    world.told
      .filter(({ destination }) => destination === name)
      .flatMap(({ outcomes }) => outcomes)
      .filter(({ outcome }) => outcome === 'delivered').length;
  expect(['webhook', 'webhook-crm', 'webhook-only'].map(deliveredTo)).toEqual([20, 20, 3]);
});
