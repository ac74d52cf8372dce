import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type AskingEvent, basePersonId, identityNodes, lookupsOf } from '#pipelines/identity/identity.ts';
import type { Identifiers } from '#schemas/event.ts';
import type { IdentityPart } from '#schemas/event_batch.ts';
import { NO_IDENTIFIERS } from '#test/contract/identity/questions.ts';
import { checkAll } from '#test/harness/check_all.ts';
import { cases } from '#test/harness/environment.ts';

const SECRET = Buffer.alloc(32, 7);
const RUNS = { numRuns: cases(300) };
const [EMAIL, PHONE, EXTERNAL] = ['ab'.repeat(32), 'cd'.repeat(32), 'ef'.repeat(32)];
const ALL: Identifiers = { ...NO_IDENTIFIERS, email: EMAIL, phone: PHONE, external_id: EXTERNAL };

const partOf = (changes: Partial<IdentityPart> = {}): IdentityPart => ({
  mode: 'online',
  identify: true,
  identifiers: ALL,
  previous_distinct_id: null,
  event: 'purchase',
  caller: 'server',
  ...changes,
});

const eventOf = (changes: Partial<AskingEvent> = {}): AskingEvent => ({
  siteId: 'shop',
  distinctId: 'u1',
  basePersonId: basePersonId('shop', 'u1'),
  receivedAtMs: 1_790_000_000_000,
  coordinate: { partition: 3, offset: 41, index: 2 },
  ...changes,
});

const hashes = fc.option(fc.constantFrom(EMAIL, PHONE, EXTERNAL, '01'.repeat(32)));
const identifiersOfAnybody = fc.option(
  fc.record(
    Object.fromEntries(Object.keys(NO_IDENTIFIERS).map((field) => [field, hashes])) as unknown as {
      [Field in keyof Identifiers]: fc.Arbitrary<string | null>;
    },
  ),
);
const parts: fc.Arbitrary<IdentityPart> = fc.record({
  mode: fc.constantFrom('online' as const, 'offline' as const),
  identify: fc.boolean(),
  identifiers: identifiersOfAnybody,
  previous_distinct_id: fc.option(fc.constantFrom('a1', 'u1', '')),
  event: fc.constantFrom('$identify', '$merge_dangerously'),
  caller: fc.constantFrom('browser' as const, 'server' as const),
});
const ids = fc.string({ unit: fc.constantFrom('a', 'b', '1', '-', '.', 'é', '\n'), maxLength: 4 });

describe('the person of a distinct id that nothing is known of', () => {
  test('is a digest of site and id, the same in every version of the service', () => {
    expect(basePersonId('shop', 'visitor-1')).toBe('p_bd57aae8820941f4a28e2e3c065230fa');
  });

  test('is another one for another id, and at another site', () => {
    const site = fc.stringMatching(/^[a-z0-9_]{1,3}$/);
    fc.assert(
      fc.property(fc.tuple(site, ids), fc.tuple(site, ids), (one, other) => {
        expect(basePersonId(...one)).toMatch(/^p_[0-9a-f]{32}$/);
        expect(basePersonId(...one) === basePersonId(...other)).toBe(one[0] === other[0] && one[1] === other[1]);
      }),
      RUNS,
    );
  });
});

describe('the nodes of an event', () => {
  test('are one for e-mail, phone and external id each, in this order, and none for anything else', () => {
    const one = (field: keyof Identifiers, hashed: string): string[] =>
      identityNodes(SECRET, 'shop', partOf({ identifiers: { ...NO_IDENTIFIERS, [field]: hashed } }));
    const joining = [...one('email', EMAIL), ...one('phone', PHONE), ...one('external_id', EXTERNAL)];
    expect(joining).toHaveLength(3);
    expect(identityNodes(SECRET, 'shop', partOf())).toEqual(joining);
    const others = Object.keys(NO_IDENTIFIERS).filter((field) => !['email', 'phone', 'external_id'].includes(field));
    expect(others).toHaveLength(7);
    expect(others.flatMap((field) => one(field as keyof Identifiers, EMAIL))).toEqual([]);
  });

  test('are none of an event that may not stitch', () =>
    checkAll<Partial<IdentityPart>>(
      [
        { identify: false },
        { mode: 'offline' },
        { mode: 'offline', identify: false },
        { identifiers: null },
        { identifiers: NO_IDENTIFIERS },
      ],
      (changes) => expect(identityNodes(SECRET, 'shop', partOf(changes))).toEqual([]),
    ));

  test('are keyed: another secret, site or kind makes another node of the same hash', () => {
    const email = { ...NO_IDENTIFIERS, email: EMAIL };
    const nodes = [
      ...identityNodes(SECRET, 'shop', partOf({ identifiers: email })),
      ...identityNodes(SECRET, 'other', partOf({ identifiers: email })),
      ...identityNodes(Buffer.alloc(32, 8), 'shop', partOf({ identifiers: email })),
      ...identityNodes(SECRET, 'shop', partOf({ identifiers: { ...NO_IDENTIFIERS, phone: EMAIL } })),
      ...identityNodes(SECRET, 'shop', partOf({ identifiers: { ...NO_IDENTIFIERS, external_id: EMAIL } })),
    ];
    expect(new Set(nodes).size).toBe(5);
    // Who is stored in Redis stays found: the form of a node must not change.
    expect(nodes[0]).toBe('9yUqBX8_fTmIC_j_f5ihBcKMs4bGjude');
    for (const node of nodes) expect(EMAIL).not.toContain(node);
  });

  test('are the same whatever else is known of the person', () => {
    fc.assert(
      fc.property(parts, (part) => {
        const { email = null, phone = null, external_id = null } = part.identifiers ?? {};
        const bare = { ...NO_IDENTIFIERS, email, phone, external_id };
        const count = [email, phone, external_id].filter((hashed) => hashed !== null).length;
        const nodes = identityNodes(SECRET, 'shop', part);
        expect(nodes).toEqual(identityNodes(SECRET, 'shop', { ...part, identifiers: bare }));
        expect(nodes).toHaveLength(part.identify && part.mode === 'online' ? count : 0);
      }),
      RUNS,
    );
  });
});

describe('the questions of an event', () => {
  test('are one of its visitor, with what it says of the person', () => {
    expect(lookupsOf(SECRET, eventOf(), partOf())).toEqual([
      {
        siteId: 'shop',
        isPublic: false,
        isHistorical: false,
        basePersonId: basePersonId('shop', 'u1'),
        nodes: identityNodes(SECRET, 'shop', partOf()),
        claim: null,
        identifiers: ALL,
        receivedAtMs: 1_790_000_000_000,
        coordinate: '3:41:2',
      },
    ]);
  });

  test('keep what only describes a person where something joins, and nothing where nothing does', () => {
    const names = { ...NO_IDENTIFIERS, first_name: '02'.repeat(32), email_google: '03'.repeat(32) };
    const [alone] = lookupsOf(SECRET, eventOf(), partOf({ identifiers: names }));
    expect(alone).toMatchObject({ nodes: [expect.any(String)], identifiers: null });
    expect(lookupsOf(SECRET, eventOf(), partOf({ identifiers: names, caller: 'browser' }))).toMatchObject([
      { nodes: [] },
    ]);
    const withEmail = { ...names, email: EMAIL };
    const [joined] = lookupsOf(SECRET, eventOf(), partOf({ identifiers: withEmail }));
    expect(joined?.identifiers).toEqual(withEmail);
    const [refused] = lookupsOf(SECRET, eventOf(), partOf({ identifiers: withEmail, identify: false }));
    expect(refused).toMatchObject({ nodes: [], identifiers: null });
  });

  test('are three where it names another id of its visitor, joined by a node that the visitor takes first', () => {
    const [own, previous, after, ...more] = lookupsOf(SECRET, eventOf(), partOf({ previous_distinct_id: 'a1' }));
    expect(more).toEqual([]);
    expect(after).toMatchObject({ basePersonId: own?.basePersonId, nodes: [], claim: null, identifiers: null });
    expect(previous).toMatchObject({ basePersonId: basePersonId('shop', 'a1'), identifiers: null });
    expect(previous?.nodes).toHaveLength(1);
    expect(own?.nodes).toEqual([...identityNodes(SECRET, 'shop', partOf()), ...(previous?.nodes ?? [])]);
    expect(own?.identifiers).toEqual(ALL);
    // By the same node whoever the other one is, and by another one at another site or of another visitor.
    const nodeFor = (event: Partial<AskingEvent>, previous_distinct_id: string) =>
      lookupsOf(SECRET, eventOf(event), partOf({ previous_distinct_id }))[1]?.nodes;
    expect(nodeFor({}, 'b1')).toEqual(previous?.nodes);
    expect(nodeFor({ distinctId: 'u2' }, 'a1')).not.toEqual(previous?.nodes);
    expect(nodeFor({ siteId: 'other' }, 'a1')).not.toEqual(previous?.nodes);
  });

  test('claim both ids for the visitor, and the other one only where it is nobody else’s, unless a server merges users', () => {
    const claims = (changes: Partial<IdentityPart>) =>
      lookupsOf(SECRET, eventOf(), partOf({ previous_distinct_id: 'a1', ...changes })).map(
        ({ claim }) => claim?.yields,
      );
    expect(claims({ event: '$identify' })).toEqual([false, true, undefined]);
    expect(claims({ event: '$merge_dangerously', caller: 'browser' })).toEqual([false, true, undefined]);
    expect(claims({ event: '$merge_dangerously', caller: 'server' })).toEqual([false, false, undefined]);
    const [own, previous] = lookupsOf(SECRET, eventOf(), partOf({ previous_distinct_id: 'a1' }));
    expect([previous?.claim?.node, own?.claim?.node]).toEqual([previous?.nodes[0], own?.nodes.at(-1)]);
    expect(previous?.nodes[0]).toMatch(/^u:[\w-]{32}$/);
  });

  test('of a visitor without identifiers join the two all the same, and keep nothing', () => {
    const part = partOf({ identifiers: null, previous_distinct_id: 'a1' });
    const [own, previous] = lookupsOf(SECRET, eventOf(), part);
    expect(own).toMatchObject({ nodes: previous?.nodes, identifiers: null });
  });

  test('do not ask of another id where the event may not stitch', () =>
    checkAll<Partial<IdentityPart>>([{ identify: false }, { mode: 'offline' }], (changes) => {
      const part = partOf({ previous_distinct_id: 'a1', ...changes });
      expect(lookupsOf(SECRET, eventOf(), part)).toMatchObject([
        { basePersonId: basePersonId('shop', 'u1'), nodes: [], identifiers: null },
      ]);
    }));

  test('end with that of the visitor, come from one place, and link by each node once', () => {
    fc.assert(
      fc.property(parts, fc.nat(), fc.nat(), (part, offset, receivedAtMs) => {
        const event = eventOf({ coordinate: { partition: 0, offset, index: 1 }, receivedAtMs });
        const questions = lookupsOf(SECRET, event, part);
        expect(questions.at(-1)?.basePersonId).toBe(event.basePersonId);
        for (const question of questions) {
          expect(question).toMatchObject({ siteId: 'shop', receivedAtMs, coordinate: `0:${offset}:1` });
          expect(new Set(question.nodes).size).toBe(question.nodes.length);
          if (question.nodes.length === 0) expect(question.identifiers).toBeNull();
        }
        const mayStitch = part.identify && part.mode === 'online';
        expect(questions).toHaveLength(mayStitch && part.previous_distinct_id !== null ? 3 : 1);
        if (!mayStitch) expect(questions.flatMap(({ nodes }) => nodes)).toEqual([]);
      }),
      RUNS,
    );
  });
});
