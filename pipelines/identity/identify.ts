import { memoize } from '#pipelines/memoize.ts';
import type { Coordinate, Person } from '#schemas/event.ts';
import { decodeIdentityPart, type EntryView } from '#schemas/event_batch.ts';
import type { IdentityLink } from '#schemas/identity_link.ts';
import {
  basePersonId,
  type IdentityAnswer,
  type IdentityQuestion,
  type IdentityStore,
  questionsOf,
} from './resolve.ts';

interface IdentifiedEntry {
  view: EntryView;
  coordinate: Coordinate;
  /** The same object for all events of a batch that were answered together. */
  person: Person;
}

export interface Identified {
  /** In the order of the events. */
  entries: IdentifiedEntry[];
  links: IdentityLink[];
  capped: number;
}

/** An event of events.unique without its coordinate cannot have come from dedup. */
class CoordinateMissingError extends Error {
  readonly code = 'coordinate_missing';
}

/** Says of each event who it belongs to, asking the store once a site. */
export async function identify(views: readonly EntryView[], store: IdentityStore, secret: Buffer): Promise<Identified> {
  const questions = allQuestionsOf(views, secret);
  const personOf = memoize(
    ({ personId, identifiers }: IdentityAnswer): Person => ({ person_id: personId, identifiers }),
  );
  const identified: Identified = { entries: [], links: [], capped: 0 };
  const places = bySite(questions);
  await Promise.all(
    [...places].map(async ([siteId, indexes]) => {
      const answers = await store.resolve(
        siteId,
        indexes.map((index) => (questions[index] as EventQuestion).question),
      );
      answers.forEach((answer, at) => {
        const { index, isOfVisitor } = questions[indexes[at] as number] as EventQuestion;
        const view = views[index] as EntryView;
        if (isOfVisitor) identified.entries[index] = { view, coordinate: coordinateOf(view), person: personOf(answer) };
        identified.links.push(...answer.links);
        identified.capped += answer.capped;
      });
    }),
  );
  return identified;
}

export interface EventQuestion {
  /** The event's place among those that ask. */
  index: number;
  /** Whether the answer says whose the event is; else it is of another id of the same visitor. */
  isOfVisitor: boolean;
  question: IdentityQuestion;
}

/** What identity asks of events, in their order. */
export function allQuestionsOf(views: readonly EntryView[], secret: Buffer): EventQuestion[] {
  const persons = memoize((siteId: string) => memoize((distinctId: string) => basePersonId(siteId, distinctId)));
  const all: EventQuestion[] = [];
  views.forEach((view, index) => {
    const { siteId, distinctId, receivedAtMs } = view;
    const visitor = persons(siteId)(distinctId);
    const event = { siteId, distinctId, basePersonId: visitor, receivedAtMs, coordinate: coordinateOf(view) };
    const questions = questionsOf(secret, event, decodeIdentityPart(view.eventBytes));
    questions.forEach((question, at) => {
      all.push({ index, isOfVisitor: at === questions.length - 1, question });
    });
  });
  return all;
}

function coordinateOf(view: EntryView): Coordinate {
  if (view.coordinate === null) throw new CoordinateMissingError('event without a coordinate');
  return view.coordinate;
}

function bySite(questions: readonly EventQuestion[]): Map<string, number[]> {
  const places = new Map<string, number[]>();
  questions.forEach(({ question: { siteId } }, index) => {
    const indexes = places.get(siteId);
    if (indexes === undefined) places.set(siteId, [index]);
    else indexes.push(index);
  });
  return places;
}
