import { remembered } from '#pipelines/remembered.ts';
import type { Coordinate, Person } from '#schemas/event.ts';
import { decodeIdentityPart, type EntryView } from '#schemas/event_batch.ts';
import type { IdentityLink } from '#schemas/identity_link.ts';
import { basePersonId, type IdentityAnswer, type IdentityQuestion, type IdentityStore, questionOf } from './resolve.ts';

export interface IdentifiedEntry {
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
export class CoordinateMissingError extends Error {
  readonly code = 'coordinate_missing';
}

/** Says of each event who it belongs to, asking the store once a site. */
export async function identify(views: readonly EntryView[], store: IdentityStore, secret: Buffer): Promise<Identified> {
  const questions = questionsOf(views, secret);
  const personOf = remembered(
    ({ personId, identifiers }: IdentityAnswer): Person => ({ person_id: personId, identifiers }),
  );
  const identified: Identified = { entries: [], links: [], capped: 0 };
  const places = bySite(questions);
  await Promise.all(
    [...places].map(async ([siteId, indexes]) => {
      const answers = await store.resolve(
        siteId,
        indexes.map((index) => questions[index] as IdentityQuestion),
      );
      answers.forEach((answer, at) => {
        const index = indexes[at] as number;
        const view = views[index] as EntryView;
        identified.entries[index] = { view, coordinate: coordinateOf(view), person: personOf(answer) };
        identified.links.push(...answer.links);
        identified.capped += answer.capped;
      });
    }),
  );
  return identified;
}

/** What identity asks of each event. */
export function questionsOf(views: readonly EntryView[], secret: Buffer): IdentityQuestion[] {
  const persons = remembered((siteId: string) => remembered((distinctId: string) => basePersonId(siteId, distinctId)));
  return views.map((view) => {
    const { siteId, distinctId, receivedAtMs } = view;
    const event = { siteId, basePersonId: persons(siteId)(distinctId), receivedAtMs, coordinate: coordinateOf(view) };
    return questionOf(secret, event, decodeIdentityPart(view.eventBytes));
  });
}

function coordinateOf(view: EntryView): Coordinate {
  if (view.coordinate === null) throw new CoordinateMissingError('event without a coordinate');
  return view.coordinate;
}

function bySite(questions: readonly IdentityQuestion[]): Map<string, number[]> {
  const places = new Map<string, number[]>();
  questions.forEach(({ siteId }, index) => {
    const indexes = places.get(siteId);
    if (indexes === undefined) places.set(siteId, [index]);
    else indexes.push(index);
  });
  return places;
}
