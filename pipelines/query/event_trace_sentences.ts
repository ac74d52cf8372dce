import type { EventTrace } from './event_trace_shapes.ts';

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
    ...(known.dead_letters ?? []).map(letterSentence),
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

function storedSentences(row: NonNullable<Known['row']>, rows: number): string[] {
  const { event, distinct_id, timestamp, original_timestamp } = row;
  const replaced = original_timestamp === null ? '' : ` (${JSON.stringify(original_timestamp)} was sent)`;
  return [
    `Stored as ${JSON.stringify(event)} of distinct id ${JSON.stringify(distinct_id)}, happened ${instant(timestamp)}${replaced}.`,
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

function letterSentence({ id, stage, reason, died_at, resent_at }: NonNullable<Known['dead_letters']>[number]): string {
  const again = resent_at === null ? '' : `, sent in again ${instant(resent_at)}`;
  return `A dead letter of ${stage} holds it (${id}): ${reason}, since ${instant(died_at)}${again}.`;
}
