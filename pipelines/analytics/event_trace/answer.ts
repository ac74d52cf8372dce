// The trace of one event as it is answered, and in sentences.
import { type Static, Type } from 'typebox';
import { CONSENT_TYPES } from '#schemas/event.ts';

const time = (description: string) =>
  Type.Integer({ description: `${description}, in milliseconds since 1970 UTC`, minimum: 0 });
const orNull = (description: string) => Type.Union([Type.String(), Type.Null()], { description });

const coordinate = Type.Object(
  { partition: Type.Integer(), offset: Type.Integer(), index: Type.Integer() },
  { description: 'Where it stands in events.raw; -1 in each where it came without a coordinate' },
);

const key = Type.Object({
  key_id: Type.String({ description: "The first 16 characters of the key's SHA-256" }),
  shown_prefix: orNull('As lists of keys show it; null where the site has no such key any more'),
  label: orNull('What the key is for'),
});

const accepted = Type.Object({
  received_at: time('When the edge took it'),
  caller: Type.String({ description: 'Kind of key it came with: browser or server' }),
  key: Type.Union([key, Type.Null()], {
    description: 'The key it came with; null in rows of versions that did not keep it',
  }),
  coordinate,
});

const duplicates = Type.Object({
  seen: Type.Integer({ description: 'Copies that dedup dropped: of the last 30 days, of at most 1,000 listed' }),
  copies: Type.Array(
    Type.Object({
      received_at: time('When the copy arrived'),
      event: orNull(
        'Its name: another than the event has means that one id was given to two; null where it was not kept',
      ),
      key: Type.Union([key, Type.Null()], { description: 'The key it came with' }),
      coordinate,
      times: Type.Integer({ description: 'How many copies it stands for: only the first five at once are listed' }),
    }),
    { description: 'In the order they arrived' },
  ),
});

const row = Type.Object({
  event: Type.String({ description: 'Name as sent' }),
  timestamp: time('When it happened'),
  original_timestamp: orNull('As sent, where timestamp was moved, or replaced by arrival'),
  distinct_id: Type.String(),
  mode: Type.String({ description: 'Mode of the site when it arrived' }),
  action_source: Type.String(),
  identify: Type.Boolean({ description: 'Whether its identifiers may link people' }),
  identifiers: Type.Record(Type.String(), Type.String(), {
    description:
      'The identifiers it came with, each as the first eight characters of its SHA-256, a phone number of its keyed hash',
  }),
  city: Type.String(),
  state: Type.String(),
  zip: Type.String(),
  country: Type.String(),
  client_ip: Type.String(),
  client_user_agent: Type.String(),
  value: Type.Union([Type.Number(), Type.Null()]),
  currency: Type.String(),
  order_id: Type.String(),
  ad_storage: Type.String({
    description: 'Consent: granted, denied, or empty where neither the event nor its site says',
  }),
  analytics_storage: Type.String(),
  ad_user_data: Type.String(),
  ad_personalization: Type.String(),
  consent_defaults: Type.String({ description: "Those of the four that are the site's default, apart by commas" }),
  limited_data_use: Type.Boolean(),
  historical: Type.Boolean({ description: 'Whether it was brought in of the past of the site, for no destination' }),
  geo_country: Type.String({ description: "Of the visitor's address; empty where not known, as the next ones" }),
  geo_region: Type.String(),
  geo_city: Type.String(),
  browser: Type.String(),
  browser_version: Type.String(),
  os: Type.String(),
  os_version: Type.String(),
  device_type: Type.String(),
  language: Type.String(),
  screen_class: Type.String(),
  properties: Type.Record(Type.String(), Type.Unknown()),
});

const link = Type.Object({
  person_id: Type.String({ description: 'A person that became part of another' }),
  target: Type.String({ description: 'The person it is part of now' }),
  since: time('When that was last decided'),
  first_seen: time('When the person that stays was first seen'),
});

const identified = Type.Object({
  identifier: Type.Enum(['email', 'phone', 'external_id']),
  digest_begin: Type.String({
    description: 'The first eight characters of its SHA-256, of a phone number of its keyed hash',
  }),
  since: time('When the first event with it arrived'),
  event_id: Type.String({ description: 'That event' }),
});

const person = Type.Object({
  person_id: Type.String({ description: 'As known now' }),
  arrived_person_id: Type.String({ description: 'As the row has it; merges of each night are written into rows' }),
  distinct_person_id: Type.String({ description: 'The person that its distinct id stands for by itself' }),
  links: Type.Array(link, { description: 'By which those two became part of the person' }),
  identified_by: Type.Union([Type.Array(identified), Type.Null()], {
    description:
      'By what events of this distinct id said who it is, the oldest first; null where that takes too long to find',
  }),
});

const attempt = Type.Object({
  attempt: Type.Integer({ description: 'From 1' }),
  attempted_at: time('When it was made'),
  outcome: Type.String({ description: 'delivered, skipped, diverted, paused or dead' }),
  reason: Type.String({ description: 'Stable code; empty where delivered' }),
  took_ms: Type.Integer({ description: 'Time of the call; 0 where none was made' }),
  answer: Type.Union(
    [
      Type.Object({
        status: Type.Integer({ description: 'Of HTTP' }),
        body: Type.String({
          description: 'The first 256 characters, without personal data, digests, addresses and secrets',
        }),
      }),
      Type.Null(),
    ],
    { description: "The platform's answer; null where there was none" },
  ),
});

const destination = Type.Object({
  destination: Type.String(),
  state: Type.Enum(['delivered', 'waiting', 'dead', 'skipped', 'not_attempted'], {
    description:
      'waiting: on a retry topic after its newest attempt; dead: a dead letter of delivery; not_attempted: no outcome is stored, reason says why where settings tell',
  }),
  reason: Type.String({ description: 'Of the newest attempt, or why there is none; empty where delivered' }),
  attempts: Type.Array(attempt, { description: 'In their order, the newest 100' }),
});

const deadLetter = Type.Object({
  id: Type.String({ description: 'The dead letter, for /v1/admin/dead-letters/{letter_id}' }),
  stage: Type.String(),
  reason: Type.String({ description: 'Stable code' }),
  died_at: time('When it became a dead letter'),
  resent_at: Type.Union([Type.Integer(), Type.Null()], { description: 'When it was sent in again; null: it was not' }),
});

/** The answer of what became of one event. */
export const eventTraceShape = Type.Object({
  site_id: Type.String(),
  event_id: Type.String(),
  accepted: Type.Union([accepted, Type.Null()], { description: 'Null where no row is stored' }),
  row: Type.Union([row, Type.Null()], { description: 'The row that counts; null where none is stored' }),
  rows_stored: Type.Integer({ description: 'More than 1 where it was sent again after its id was forgotten' }),
  duplicates,
  person: Type.Union([person, Type.Null()], { description: 'Null where no row is stored' }),
  destinations: Type.Array(destination, { description: 'Those of the site, and others that have an outcome of it' }),
  dead_letters: Type.Union([Type.Array(deadLetter), Type.Null()], {
    description:
      'Dead letters of dedup, identity and warehouse that hold it; null where its row is stored, as then none is looked for',
  }),
  status: Type.Array(Type.String(), { description: 'All of that in sentences' }),
});
export type EventTrace = Static<typeof eventTraceShape>;

type Known = Omit<EventTrace, 'status'>;
type Person = NonNullable<Known['person']>;

/** What became of an event, in sentences. What the sender chose stands in quotes, as JSON has it. */
export function traceSentences(known: Known): string[] {
  const { accepted, row, person } = known;
  return [
    ...(accepted === null ? ['No row of it is stored.'] : [acceptedSentence(accepted)]),
    ...(row === null ? [] : storedSentences(row, known.rows_stored)),
    ...duplicateSentences(known.duplicates, row?.event ?? null),
    ...(person === null ? [] : personSentences(person)),
    ...known.destinations.map(destinationSentence),
    ...(known.dead_letters ?? []).map(deadLetterSentence),
  ];
}

const instant = (timeMs: number): string => new Date(timeMs).toISOString();
const times = (count: number): string => (count === 1 ? 'once' : `${count} times`);

function acceptedSentence({ received_at, caller, key, coordinate }: NonNullable<Known['accepted']>): string {
  const { partition, offset, index } = coordinate;
  const place = offset < 0 ? '' : `, as event ${index} of events.raw ${partition}/${offset}`;
  const which = key === null ? `a ${caller} key` : `the ${caller} key ${keyName(key)}`;
  return `Accepted ${instant(received_at)} with ${which}${place}.`;
}

function keyName({ key_id, shown_prefix, label }: NonNullable<NonNullable<Known['accepted']>['key']>): string {
  const labelled = label === null || label === '' ? '' : ` (${label})`;
  return shown_prefix === null ? `of SHA-256 ${key_id}…` : `${shown_prefix}…${labelled}`;
}

function consentSentences(row: NonNullable<Known['row']>): string[] {
  const defaults = row.consent_defaults.split(',');
  const stated = CONSENT_TYPES.filter((type) => row[type] !== '').map(
    (type) => `${type} ${row[type]}${defaults.includes(type) ? ' by default' : ''}`,
  );
  if (row.limited_data_use) stated.push('limited data use');
  return stated.length === 0 ? [] : [`Consent: ${stated.join(', ')}.`];
}

function storedSentences(row: NonNullable<Known['row']>, rows: number): string[] {
  const { event, distinct_id, timestamp, original_timestamp } = row;
  const replaced = original_timestamp === null ? '' : ` (${JSON.stringify(original_timestamp)} was sent)`;
  return [
    `Stored as ${JSON.stringify(event)} of distinct id ${JSON.stringify(distinct_id)}, happened ${instant(timestamp)}${replaced}${row.historical ? ', brought in of the past' : ''}.`,
    ...consentSentences(row),
    ...(rows > 1
      ? [`It stands in ${rows} rows: it was sent again after its id was forgotten. Queries count one.`]
      : []),
  ];
}

function duplicateSentences({ seen, copies }: Known['duplicates'], name: string | null): string[] {
  const [first, last] = [copies[0], copies.at(-1)];
  if (first === undefined || last === undefined) return [];
  const until = copies.length === 1 ? '' : ` to ${instant(last.received_at)}`;
  const others = new Set(
    copies.flatMap(({ event }) => (event === null || event === name ? [] : [JSON.stringify(event)])),
  );
  return [
    `It came ${times(seen)} more, ${instant(first.received_at)}${until}, and was dropped as a duplicate.`,
    ...(name === null || others.size === 0
      ? []
      : [
          `Copies were called ${[...others].join(', ')}: one id was given to several events, of which the first counts.`,
        ]),
  ];
}

function personSentences(person: Person): string[] {
  const identified = (person.identified_by ?? []).map(
    ({ identifier, digest_begin, since, event_id }) =>
      `The distinct id was first identified by ${identifier.replace('_', ' ')} (${identifier === 'phone' ? 'keyed hash' : 'SHA-256'} ${digest_begin}…) ${instant(since)}, by event ${JSON.stringify(event_id)}.`,
  );
  return [belongingSentence(person), ...identified];
}

function belongingSentence({ person_id, distinct_person_id, links }: Person): string {
  if (person_id === distinct_person_id) return `Its person is ${person_id}, whom its distinct id stands for by itself.`;
  const link = links.find((one) => one.person_id === distinct_person_id) ?? links[0];
  if (link === undefined) return `Its person is ${person_id}. No link says why yet.`;
  return `Its person is ${person_id}: ${link.person_id}, whom its distinct id stands for, became part of them ${instant(link.since)}.`;
}

const STATE_WORDS: Record<Known['destinations'][number]['state'], string> = {
  delivered: 'delivered',
  waiting: 'waits for another attempt',
  dead: 'given up',
  skipped: 'left out',
  not_attempted: 'not attempted',
};

function destinationSentence({ destination, state, reason, attempts }: Known['destinations'][number]): string {
  const why = reason === '' ? '' : `: ${reason}`;
  const decided = attempts.find(({ outcome }) => outcome === 'delivered') ?? attempts.at(-1);
  if (decided === undefined) return `${destination}: ${STATE_WORDS[state]}${why === '' ? ' yet' : why}.`;
  const tried = attempts.filter(({ outcome }) => outcome !== 'skipped' && outcome !== 'paused').length;
  const count = tried === 0 ? '' : `, attempted ${times(tried)}`;
  const answer = decided.answer === null ? '' : `, answered ${decided.answer.status}`;
  return `${destination}: ${STATE_WORDS[state]} ${instant(decided.attempted_at)}${count}${answer}${why}.`;
}

function deadLetterSentence({
  id,
  stage,
  reason,
  died_at,
  resent_at,
}: NonNullable<Known['dead_letters']>[number]): string {
  const again = resent_at === null ? '' : `, sent in again ${instant(resent_at)}`;
  return `A dead letter of ${stage} holds it (${id}): ${reason}, since ${instant(died_at)}${again}.`;
}
