import { expect, test } from 'vitest';
import { eventsOfHits } from '#pipelines/intake/ga4/hit_event.ts';
import { readHits } from '#pipelines/intake/ga4/hits.ts';
import { readMeasurements } from '#pipelines/intake/ga4/measurement_protocol.ts';
import type { Caller } from '#schemas/event.ts';
import { SECRET } from '#test/unit/intake/context.ts';

const CLIENT = '1234567890.1732000000';
const STRANGER = '987654321.1732000001';

function hitId(query: string, caller: Caller = 'browser', transaction = 'ep.transaction_id=T-1'): unknown {
  const read = readHits(`tid=G-SHOP1&en=purchase&${transaction}&${query}`, '');
  return read.ok ? eventsOfHits(read.hits, { caller, secret: SECRET })[0]?.['uuid'] : read.problem;
}

function measurementId(clientId: string, transactionId: unknown = 'T-1'): unknown {
  const events = [{ name: 'purchase', params: { transaction_id: transactionId } }];
  const read = readMeasurements({ client_id: clientId, events }, SECRET);
  return read.ok ? (read.events[0] as { uuid?: unknown }).uuid : read.problem;
}

test('a stranger who guesses an order number has another id than the buyer', () => {
  expect(hitId(`cid=${STRANGER}`)).not.toBe(hitId(`cid=${CLIENT}`));
  expect([hitId(`cid=${STRANGER}`), hitId('cid='), hitId('')]).not.toContain('T-1');
});

test('a buyer who loads the page of thanks again has the same id', () => {
  expect(hitId(`cid=${CLIENT}&_p=8&_s=2`)).toBe(hitId(`cid=${CLIENT}&_p=7&_s=1`));
});

test('a transaction that is a number is the same as its text', () => {
  const ids = ['ep.transaction_id=1001', 'epn.transaction_id=1001'].flatMap((transaction) => [
    hitId(`cid=${CLIENT}&_p=7&_s=1`, 'browser', transaction),
    hitId(`cid=${CLIENT}&_p=8&_s=1`, 'browser', transaction),
  ]);
  expect(new Set([...ids, measurementId(CLIENT, 1001), measurementId(CLIENT, '1001')]).size).toBe(1);
  expect(['ep', 'epn'].map((kind) => hitId(`cid=${CLIENT}`, 'browser', `${kind}.event_id=55`))).toEqual(['55', '55']);
});

test('a page or a place there that says nothing is none', () => {
  for (const place of ['_p=&_s=', '_p=undefined&_s=1', '_p=7&_s=null']) expect(hitId(place)).toBeUndefined();
  expect(hitId('_p=7&_s=0')).toBeDefined();
});

test('a purchase of no client is known by its place on its page', () => {
  expect(hitId('_p=7&_s=1')).not.toBe(hitId('_p=8&_s=1'));
  expect(hitId('')).toBeUndefined();
});

test("what a server reports with gtag's client id is one with what the browser sent", () => {
  const sent = hitId(`cid=${CLIENT}`);
  expect([measurementId(CLIENT), hitId(`cid=${CLIENT}`, 'server')]).toEqual([sent, sent]);
});

test('what a server reports of a client that is no browser of gtag is known by its transaction alone', () => {
  expect([measurementId('order-77'), hitId('cid=fp.1', 'server'), hitId('', 'server')]).toEqual(['T-1', 'T-1', 'T-1']);
});
