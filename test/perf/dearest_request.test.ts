import fc from 'fast-check';
import { expect, test } from 'vitest';
import { eventsOfHits } from '#pipelines/intake/ga4/hit_event.ts';
import { readHits } from '#pipelines/intake/ga4/hits.ts';
import { readMeasurements } from '#pipelines/intake/ga4/measurement_protocol.ts';
import { processBatch } from '#pipelines/intake/take_event.ts';
import { PayloadError } from '#services/edge/errors.ts';
import { segment } from '#services/edge/protocols/segment.ts';
import { RECEIVED_AT_MS, SECRET, server } from '#test/unit/intake/context.ts';
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
function msOf(work: () => void, tries: number): number {
  const once = (): void => {
    for (let time = 0; time < TIMES; time += 1) work();
  };
  return Math.min(...Array.from({ length: tries }, () => cpuMsOf(once) / TIMES));
}

test('no request within the limits holds the process for long, as far as a search for the dearest tells', () => {
  expectNoneDear(shape, (found) => {
    const events = requestOf(found);
    return () => processBatch(events, server());
  });
});

/** What a request says once for all of its events, as Segment's batches and GA4's requests do. */
interface SharedShape {
  protocol: 'segment' | 'measurements' | 'hits';
  shared: 'names' | 'list' | 'text' | 'json';
  unit: string;
  characters: number;
  copies: number;
}

const sharedShape: fc.Arbitrary<SharedShape> = fc.record({
  protocol: fc.constantFrom('segment', 'measurements', 'hits'),
  shared: fc.constantFrom('names', 'list', 'text', 'json'),
  unit,
  characters: fc.constantFrom(300, 3_000, 30_000, 60_000, 240_000),
  copies: fc.constantFrom(2, 25, 50, 169, 1_000),
});

function sharedOf({ shared, unit: repeated, characters }: SharedShape): unknown {
  switch (shared) {
    case 'names':
      return Object.fromEntries(Array.from({ length: characters / 7 }, (_, at) => [at.toString(36), 0]));
    case 'list':
      return { list: Array.from({ length: characters / 2 }, () => 0) };
    case 'text':
      return { text: repeated.repeat(characters / repeated.length) };
    case 'json':
      return { json: JSON.stringify(Array.from({ length: characters / 2 }, () => 0)) };
  }
}

/** Reads the request and takes its events as the edge does; what is refused costs what it costs to refuse it. */
function takeShared(found: SharedShape): () => void {
  const shared = sharedOf(found);
  const each = Array.from({ length: found.copies }, (_, at) => at);
  switch (found.protocol) {
    case 'segment': {
      const body = { context: shared, batch: each.map((at) => ({ type: 'track', event: 'e', messageId: `m${at}` })) };
      return () => takeCalls(body);
    }
    case 'measurements': {
      const body = { client_id: '1', user_properties: shared, events: each.map(() => ({ name: 'e' })) };
      return () => {
        const read = readMeasurements(body, SECRET);
        if (read.ok) processBatch(read.events, server({ isCrossOrigin: true }));
      };
    }
    case 'hits': {
      const named = Object.entries(shared as object).map(([name, value]) => [`up.${name}`, JSON.stringify(value)]);
      const query = named.map(([name = '', value = '']) => `${name}=${encodeURIComponent(value)}`).join('&');
      const lines = each.map((at) => `en=e${at}`).join('\n');
      return () => {
        const read = readHits(query, lines);
        const arrival = { caller: 'server', secret: SECRET } as const;
        if (read.ok) processBatch(eventsOfHits(read.hits, arrival), server({ isCrossOrigin: true }));
      };
    }
  }
}

function takeCalls(body: object): void {
  try {
    const { calls, map } = segment.read('/v1/batch', body, {});
    const arrival = { caller: 'server', receivedAtMs: RECEIVED_AT_MS, sentAtMs: null } as const;
    const mapped = calls.map((call) => map(call, arrival)).flatMap((call) => (call.ok ? [call.event] : []));
    processBatch(mapped, server({ isCrossOrigin: true }));
  } catch (error) {
    if (!(error instanceof PayloadError)) throw error;
  }
}

test('what a request says once for many events makes it no longer than one that says it for each', () => {
  expectNoneDear(sharedShape, takeShared, ({ copies }) => Math.max(1, copies / EVENTS));
});

/** As many as a request of ours may hold: one of more may take as much longer. */
const EVENTS = 50;

function expectNoneDear<T>(
  shapes: fc.Arbitrary<T>,
  workOf: (found: T) => () => void,
  parts: (found: T) => number = () => 1,
): void {
  const seen: { ms: number; shape: T }[] = [];
  const measured = (found: T, tries: number) => ({ ms: msOf(workOf(found), tries) / parts(found), shape: found });
  fc.assert(
    fc.property(shapes, (found) => {
      seen.push(measured(found, 1));
    }),
    { numRuns: SEARCHED },
  );
  const finalists = seen.sort((one, other) => other.ms - one.ms).slice(0, FINALISTS);
  const dearest = finalists.map(({ shape: found }) => measured(found, 4)).sort((one, other) => other.ms - one.ms);
  console.log(`the dearest of ${seen.length}: ${JSON.stringify(dearest.slice(0, 3))}`);
  expect(dearest[0]?.ms).toBeLessThan(REQUEST_MS_MAX);
}
