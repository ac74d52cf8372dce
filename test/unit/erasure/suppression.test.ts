import { expect, test } from 'vitest';
import { newErasure, newSiteErasure } from '#pipelines/erasure/erasure.ts';
import { type PersonSubject, readSubject } from '#pipelines/erasure/subject.ts';
import { CLOCK_DIFFERENCE_MS, createSuppressionList } from '#pipelines/erasure/suppression.ts';
import { basePersonId, nodeOf } from '#pipelines/identity/identity.ts';
import { hashEmail, noIdentifiers, sha256Hex } from '#pipelines/privacy/hash_identifiers.ts';
import type { Event } from '#schemas/event.ts';
import { encodeEvent } from '#schemas/event_batch.ts';
import type { Site } from '#schemas/setting.ts';
import { server, take } from '#test/unit/intake/context.ts';
import { sampleEvent } from '#test/unit/schemas/sample_event.ts';

const SECRET = Buffer.alloc(32, 3);
const ASKED_MS = 5_000;
const EMAIL = 'jane@example.com';
const EMAIL_SHA256 = sha256Hex(EMAIL);

const subject: PersonSubject = {
  persons: [basePersonId('shop', 'old')],
  identifiers: [{ kind: 'email', value: EMAIL_SHA256, node: nodeOf(SECRET, 'shop', 'email', EMAIL_SHA256) }],
};
const erasureOf = (erasure_id: string, of: PersonSubject = subject, atMs = ASKED_MS) =>
  newErasure({ erasure_id, site_id: 'shop', asked_by: 'tester', destinations: [], sealed: 'sealed' }, SECRET, of, atMs);

function viewOf(changes: Partial<Event>) {
  const event = sampleEvent(changes);
  const { site_id: siteId, distinct_id: distinctId, received_at: receivedAtMs } = event;
  return { siteId, distinctId, receivedAtMs, eventBytes: encodeEvent(event) };
}

const says = { identifiers: { ...noIdentifiers(), ...hashEmail(EMAIL) } };
const at = (timestamp: number, received_at: number) => ({ timestamp, received_at });
/** As edges may say whose clocks are ahead of control's. */
const LAST_MS = ASKED_MS + CLOCK_DIFFERENCE_MS;
const [BEFORE, AFTER] = [at(ASKED_MS, LAST_MS + 9), at(LAST_MS + 1, LAST_MS + 1)];
const ARRIVED_BEFORE = at(LAST_MS + 9, LAST_MS);

const list = createSuppressionList(SECRET);
list.apply('e1', erasureOf('e1'));

test.for<[what: string, event: Partial<Event>, isKept: boolean]>([
  ['an old id, before', { distinct_id: 'old', ...BEFORE }, false],
  ['an old id, after', { distinct_id: 'old', ...AFTER }, false],
  ['an old id at another site', { distinct_id: 'old', site_id: 'other', ...BEFORE }, true],
  ['a new id with their address, before', { distinct_id: 'new', ...says, ...BEFORE }, false],
  ['a new id with their address, of a clock that is ahead', { distinct_id: 'new', ...says, ...ARRIVED_BEFORE }, false],
  ['a new id with their address, after', { distinct_id: 'new', ...says, ...AFTER }, true],
  ['a new id that names an old one, before', { distinct_id: 'new', previous_distinct_id: 'old', ...BEFORE }, false],
  ['a new id that names an old one, after', { distinct_id: 'new', previous_distinct_id: 'old', ...AFTER }, true],
  ['a new id with nothing of theirs, before', { distinct_id: 'new', ...BEFORE }, true],
])('%s', ([, event, isKept]) => {
  expect(list.kept([viewOf(event)], (view) => view)).toHaveLength(isKept ? 1 : 0);
});

test('a damaged event is left to whoever takes it', () => {
  const damaged = { ...viewOf({ distinct_id: 'new', ...BEFORE }), eventBytes: Buffer.of(1) };
  expect(list.kept([damaged], (view) => view)).toEqual([damaged]);
});

test('what is forgotten suppresses nothing, but for what another erasure of the person says', () => {
  const two = createSuppressionList(SECRET);
  const isKept = (): boolean => two.kept([viewOf({ distinct_id: 'old' })], (view) => view).length === 1;
  two.apply('e1', erasureOf('e1'));
  two.apply('e2', erasureOf('e2', subject, ASKED_MS + 10));
  two.apply('e1', null);
  expect([isKept(), two.isEmpty()]).toEqual([false, false]);
  two.apply('e2', { ...erasureOf('e2', subject, ASKED_MS + 10), persons: [], identifiers: [] });
  expect([isKept(), two.isEmpty()]).toEqual([true, true]);
});

test('the first of two erasures of a person suppresses on where the second is forgotten before it', () => {
  const two = createSuppressionList(SECRET);
  two.apply('e1', erasureOf('e1'));
  two.apply('e2', erasureOf('e2', subject, ASKED_MS + 10));
  two.apply('e2', null);
  expect(two.kept([viewOf({ distinct_id: 'old' })], (view) => view)).toEqual([]);
  expect(two.kept([viewOf({ distinct_id: 'new', ...says, ...BEFORE })], (view) => view)).toEqual([]);
});

test('of a site that is erased everything is dropped and nobody is known, of others nothing, until its days are over', () => {
  const sites = createSuppressionList(SECRET);
  const asked = { erasure_id: 's1', site_id: 'shop', account_id: 'acme', asked_by: 'tester', destinations: [] };
  const erasure = newSiteErasure(asked, ASKED_MS);
  const events = [viewOf({ distinct_id: 'new', ...AFTER }), viewOf({ distinct_id: 'new', site_id: 'other' })];
  sites.apply('s1', erasure);
  sites.apply('s2', { ...erasure, erasure_id: 's2' });
  expect(sites.kept(events, (view) => view)).toEqual([events[1]]);
  expect([sites.isErasedPerson('shop', 'p'), sites.isErasedPerson('other', 'p')]).toEqual([true, false]);
  sites.apply('s1', null);
  expect(sites.isErasedSite('shop')).toBe(true);
  sites.apply('s2', { ...erasure, site: { account_id: 'acme', is_suppressed: false } });
  expect([sites.isErasedSite('shop'), sites.isEmpty()]).toEqual([false, true]);
  expect(sites.kept(events, (view) => view)).toBe(events);
});

test('nothing of an erasure is an id or a hash that stands anywhere else', () => {
  const { persons, identifiers } = erasureOf('e1');
  const known = [...subject.persons, EMAIL_SHA256, ...subject.identifiers.map(({ node }) => node)];
  expect([...persons, ...identifiers].filter((hash) => known.includes(hash))).toEqual([]);
});

const site = { site_id: 'shop', default_country: 'DE' } as Site;
const read = (typed: Parameters<typeof readSubject>[0]) => readSubject(typed, site, [SECRET, Buffer.alloc(32, 4)]);

test('what is typed in is read as the pipeline reads it', () => {
  expect(read({ email: '  Jane@Example.com ' })?.identifiers).toEqual(subject.identifiers);
  const byPhone = read({ phone: '0171 1234567' });
  expect(byPhone?.identifiers).toHaveLength(2);
  expect(byPhone?.identifiers).toEqual(read({ phone: '+49 171 1234567' })?.identifiers);
  expect(read({ distinct_id: 'old' })).toEqual({ persons: subject.persons, identifiers: [] });
  expect(read({ distinct_id: EMAIL })?.identifiers).toEqual(subject.identifiers);
  expect(read({ distinct_id: ' old\n' })?.persons).toEqual(subject.persons);
  expect(read({ phone: sha256Hex('+491711234567') })?.identifiers).toEqual(byPhone?.identifiers);
  expect(read({ external_id: ' 12 ' })?.identifiers).toMatchObject([{ kind: 'external_id', value: sha256Hex('12') }]);
});

test('an id that the edge takes in no call of ours is meant as it takes it in one of another product', () => {
  for (const sent of [`${'x'.repeat(1_000)} `, 'two\nlines', '\u{1f600}'.repeat(300)]) {
    const stored = take({ event: 'page', distinct_id: sent }, server({ isCrossOrigin: true, identitySecret: SECRET }));
    expect(read({ distinct_id: sent })?.persons).toEqual([basePersonId('shop', stored.distinct_id)]);
  }
});

test.for([
  { email: 'no address' },
  { phone: '12' },
  { person_id: 'p_1' },
  { external_id: ' ' },
  { distinct_id: ' ' },
  {},
])('what nobody could have said names nobody: %o', (typed) => {
  expect(read(typed)).toBeNull();
});
