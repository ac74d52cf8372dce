import fc from 'fast-check';
import { expect, test } from 'vitest';
import { takeBatch } from '#pipelines/intake/take_event.ts';
import { server } from '#test/unit/intake/context.ts';
import { cpuMsOf } from './linear.ts';

const BODY_BYTES = 256 * 1024;
const REQUEST_MS_MAX = 50;
const SEARCHED = 400;
const FINALISTS = 8;

const ATOMS =
  'a|Z|9|@|.|%|+|=|&|"|4|0|:|é|你|,|%40|%2B|tel:|@b.com|email=|%3D|+1415|%25|%E2|%E2=|00 |@@|<b>|://|:pw@|plus |\\t|\'|\u0301| |&#64;|\\u0040|%E2%80%8B|(65|06 |650 |555|01 23 |１|١|"a":|"tel":"1|{a:\'|%22|wa.me/|call |DE89|x1234567 |650 555 0142x|4155550100,|a@b.co |{|[|\\"'.split(
    '|',
  );
const unit = fc.array(fc.constantFrom(...ATOMS), { minLength: 1, maxLength: 4 }).map((atoms) => atoms.join(''));

interface Shape {
  unit: string;
  /** Whether each text is told from the others, so that nothing is read once for all. */
  isNumbered: boolean;
  events: number;
  /** Texts of each event. */
  texts: number;
  /** JSON texts around each. */
  nesting: number;
  as: 'values' | 'names' | 'ids';
}

const shape: fc.Arbitrary<Shape> = fc.record({
  unit,
  isNumbered: fc.boolean(),
  events: fc.constantFrom(1, 4, 50),
  texts: fc.constantFrom(1, 8, 60, 1_000, 2_400),
  nesting: fc.constantFrom(0, 0, 0, 1, 3, 13),
  as: fc.constantFrom('values', 'values', 'names', 'ids'),
});

/** A request of that shape, cut to what a body may hold. */
function requestOf({ unit: repeated, isNumbered, events, texts, nesting, as }: Shape): unknown[] {
  const each = Math.floor(BODY_BYTES / events / texts);
  const characters = as === 'values' ? each - 10 : Math.min(each, 190);
  const textOf = (at: number): string => {
    const one = isNumbered ? `${repeated}${at}` : repeated;
    let text = one.repeat(Math.max(1, Math.floor(characters / one.length)));
    for (let round = 0; round < nesting; round += 1) text = JSON.stringify([text]);
    return text.slice(0, Math.max(characters, 4));
  };
  let bytes = 0;
  return Array.from({ length: events }, (_, event) => {
    const members: [string, unknown][] = [];
    for (let at = 0; at < texts && bytes < BODY_BYTES; at += 1) {
      const text = textOf(event * texts + at);
      bytes += Buffer.byteLength(JSON.stringify(text)) + 10;
      members.push(as === 'names' ? [text, 1] : [`p${at}`, text]);
    }
    const id = textOf(event).slice(0, 190);
    const ids = as === 'ids' ? { uuid: id, distinct_id: id } : {};
    return { event: 'e', ...ids, properties: Object.fromEntries(members) };
  });
}

/** So often in a row, as the processor's time is counted in steps of some milliseconds. */
const TIMES = 5;

/** The least of some tries, as what the machine does beside it makes each longer and none shorter. */
function msOf(events: readonly unknown[], tries: number): number {
  const once = (): void => {
    for (let time = 0; time < TIMES; time += 1) takeBatch(events, server());
  };
  return Math.min(...Array.from({ length: tries }, () => cpuMsOf(once) / TIMES));
}

test('no request within the limits holds the process for long, as far as a search for the dearest tells', () => {
  const seen: { ms: number; shape: Shape }[] = [];
  fc.assert(
    fc.property(shape, (found) => {
      seen.push({ ms: msOf(requestOf(found), 1), shape: found });
    }),
    { numRuns: SEARCHED },
  );
  const finalists = seen.sort((one, other) => other.ms - one.ms).slice(0, FINALISTS);
  const dearest = finalists
    .map(({ shape: found }) => ({ ms: msOf(requestOf(found), 4), shape: found }))
    .sort((one, other) => other.ms - one.ms);
  console.log(`the dearest of ${seen.length}: ${JSON.stringify(dearest.slice(0, 3))}`);
  expect(dearest[0]?.ms).toBeLessThan(REQUEST_MS_MAX);
});
