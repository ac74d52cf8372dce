import fc from 'fast-check';
import { expect, test } from 'vitest';
import { eventsOfHits } from '#pipelines/intake/ga4/hit_event.ts';
import { readHits } from '#pipelines/intake/ga4/hits.ts';
import { readItem } from '#pipelines/intake/ga4/items.ts';
import { measurementProblems, readMeasurements } from '#pipelines/intake/ga4/measurement_protocol.ts';
import { processBatch } from '#pipelines/intake/take_event.ts';
import { residue } from '#test/harness/canaries/canaries.ts';
import { cases } from '#test/harness/environment.ts';
import { browser, SECRET, server } from '#test/unit/intake/context.ts';

const EMAIL = 'jane.doe.canary@example.com';
const PHONE = '+16505551212';
const RAW = [EMAIL, '16505551212', '6505551212'];
const RUNS = { numRuns: cases(1_000) };
const TIMEOUT_MS = 60_000 + 20 * RUNS.numRuns;

const keys = fc.oneof(
  fc.constantFrom(
    ...[
      'en',
      'tid',
      'cid',
      'uid',
      'sid',
      'sct',
      'seg',
      'dl',
      'dr',
      'dt',
      'dp',
      'ul',
      'sr',
      'cu',
      'cs',
      'cm',
      'cn',
      'ck',
    ],
    ...['_p', '_s', '_ss', '_et', '_uip', 'gcs', 'gcd', 'dma', 'dma_cps', 'npa', 'em', 'pr1', 'pr2', 'pr200', 'pr999'],
    ...['ep.user_data.email', 'ep.user_data.phone_number', 'ep.user_data.address.0.first_name', 'ep.user_data'],
    ...['ep.event_id', 'ep.transaction_id', 'ep.email', 'ep.phone', 'ep.text', 'ep.__proto__', 'ep.a.b', 'epn.value'],
    ...['up.email', 'up.plan', 'upn.level', 'ep.', 'epn.', '__proto__', 'sst.x', 'gtm', ''],
  ),
  fc.string({ maxLength: 12 }),
);
const values = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(EMAIL, PHONE, EMAIL.toUpperCase(), `https://a.example/?email=${EMAIL}`) },
  fc.constantFrom(`{"email":"${EMAIL}"}`, `tv.1~em.${EMAIL}`, `id1~nm${EMAIL}~k0email~v0${EMAIL}`, `id1~~~nm${PHONE}~`),
  fc.constantFrom('purchase', 'login', '1', 'true', 'G111', '11t1t1t1t5', 'NaN', '1e999', '~', '~~', '~~~', ''),
  fc.string({ maxLength: 40 }),
  fc.string({ unit: 'binary', maxLength: 20 }),
);
const encode = fc.constantFrom(
  (text: string) => encodeURIComponent(text.toWellFormed()),
  (text: string) => new URLSearchParams([['', text]]).toString().slice(1),
  (text: string) => text.replaceAll('&', '%26').replaceAll('+', '%2B'),
);
const pairs = fc.tuple(keys, values, encode).map(([key, value, coded]) => `${key}=${coded(value)}`);
/** What stands between two pairs, and should not. */
const joints = fc.constantFrom(
  '&',
  '&',
  '&',
  '&&',
  '=&',
  '~&',
  '%&',
  '&%',
  '%7&',
  '+&',
  '\r\n',
  '\n',
  '\r',
  '\0&',
  '\ud800&',
);
const line = fc
  .array(fc.tuple(pairs, joints), { maxLength: 12 })
  .map((list) => list.map(([pair, joint]) => pair + joint).join(''));
/** How much of a text is there: mostly all. */
const cuts = fc.oneof({ weight: 3, arbitrary: fc.constant(Number.POSITIVE_INFINITY) }, fc.nat(400));

test(
  'no request breaks the reader, and no event that is made of one holds raw personal data',
  () => {
    const request = fc.record({
      query: fc.tuple(line, cuts).map(([text, cut]) => text.slice(0, cut)),
      body: fc
        .tuple(fc.array(line, { maxLength: 4 }), fc.constantFrom('\r\n', '\n'), cuts)
        .map(([lines, end, cut]) => lines.join(end).slice(0, cut)),
      caller: fc.constantFrom('browser', 'server'),
    });
    let taken = 0;
    fc.assert(
      fc.property(request, ({ query, body, caller }) => {
        const read = readHits(query, body);
        if (!read.ok) return;
        const events = eventsOfHits(read.hits, { caller, secret: SECRET });
        const batch = processBatch(events, caller === 'server' ? server() : browser());
        taken += batch.taken.length;
        expect(residue(JSON.stringify(batch), RAW)).toEqual([]);
      }),
      RUNS,
    );
    expect(taken).toBeGreaterThan(RUNS.numRuns / 10);
  },
  TIMEOUT_MS,
);

test(
  'whatever stands for an item is read, and its tildes come back',
  () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('~', 'k', 'v', '0', 'Q', 'R', 'nm', 'id', 'a'), maxLength: 40 }),
        (text) => {
          readItem(text);
          const name = `x${text}`;
          expect(readItem(`id1~nm${name.replaceAll('~', '~~')}~pr2`)).toEqual({
            item_id: '1',
            item_name: name,
            price: 2,
          });
        },
      ),
      RUNS,
    );
  },
  TIMEOUT_MS,
);

test(
  'no body of the Measurement Protocol breaks its reader, and no event that is made of one holds raw personal data',
  () => {
    const value = fc.oneof(
      fc.constantFrom<unknown>(EMAIL, PHONE, 1, null, true, [], {}),
      fc.jsonValue({ maxDepth: 2 }),
    );
    const object = fc.dictionary(
      fc.constantFrom('email', 'phone', 'text', 'items', 'event_id', '__proto__', 'value'),
      value,
    );
    const event = fc.oneof(
      value,
      fc.record({ name: fc.oneof(fc.constantFrom('purchase', EMAIL), value), params: fc.oneof(object, value) }),
    );
    const body = fc.oneof(
      value,
      fc.record(
        {
          client_id: fc.oneof(fc.constantFrom('1.2', EMAIL), value),
          user_id: value,
          timestamp_micros: value,
          user_properties: fc.oneof(object, value),
          user_data: fc.oneof(object, value),
          consent: value,
          user_location: fc.oneof(object, value),
          ip_override: value,
          user_agent: value,
          events: fc.oneof(fc.array(event, { maxLength: 4 }), value),
        },
        { requiredKeys: ['client_id', 'events'] },
      ),
    );
    fc.assert(
      fc.property(body, (sent) => {
        expect(residue(JSON.stringify(measurementProblems(sent)), RAW)).toEqual([]);
        const read = readMeasurements(sent, SECRET);
        if (!read.ok) return;
        expect(residue(JSON.stringify(processBatch(read.events, server())), RAW)).toEqual([]);
      }),
      RUNS,
    );
  },
  TIMEOUT_MS,
);
