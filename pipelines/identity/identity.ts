// Identity: which person an event is of, how persons are linked, split and restored.

import { hash } from 'node:crypto';
import { hmacSha256 } from '#pipelines/privacy/hash_identifiers.ts';
import { memoize } from '#pipelines/stage.ts';
import type { Identifiers, Person, SourcePosition } from '#schemas/event.ts';
import { decodeIdentityPart, type EncodedEvent, type IdentityPart } from '#schemas/event_batch.ts';
import type { IdentityLink } from '#schemas/records.ts';

interface IdentifiedEntry {
  view: EncodedEvent;
  coordinate: SourcePosition;
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
class SourcePositionMissingError extends Error {
  readonly code = 'coordinate_missing';
}

/** Says of each event who it belongs to, asking the store once a site. */
export async function identify(
  views: readonly EncodedEvent[],
  store: IdentityStore,
  secret: Buffer,
  isErased: IsErasedPerson = () => false,
): Promise<Identified> {
  const questions = allLookups(views, secret, isErased);
  const personOf = memoize(
    ({ personId, identifiers }: IdentityAnswer): Person => ({ person_id: personId, identifiers }),
  );
  const identified: Identified = { entries: [], links: [], capped: 0 };
  const places = Map.groupBy(questions.keys(), (at) => (questions[at] as EventQuestion).question.siteId);
  await Promise.all(
    [...places].map(async ([siteId, indexes]) => {
      const answers = await store.resolve(
        siteId,
        indexes.map((index) => (questions[index] as EventQuestion).question),
      );
      answers.forEach((answer, at) => {
        const { index, isOfVisitor } = questions[indexes[at] as number] as EventQuestion;
        const view = views[index] as EncodedEvent;
        if (isOfVisitor) identified.entries[index] = { view, coordinate: coordinateOf(view), person: personOf(answer) };
        identified.links.push(...answer.links);
        identified.capped += answer.capped;
      });
    }),
  );
  return identified;
}

interface EventQuestion {
  /** The event's place among those that ask. */
  index: number;
  /** Whether the answer says whose the event is; else it is of another id of the same visitor. */
  isOfVisitor: boolean;
  question: IdentityLookup;
}

/** Whether a person of a site, as derived from a distinct id, was erased: events that name the id join nobody to it. */
type IsErasedPerson = (siteId: string, personId: string) => boolean;

/** What identity asks of events, in their order. */
export function allLookups(
  views: readonly EncodedEvent[],
  secret: Buffer,
  isErased: IsErasedPerson = () => false,
): EventQuestion[] {
  const persons = memoize((siteId: string) => memoize((distinctId: string) => basePersonId(siteId, distinctId)));
  const all: EventQuestion[] = [];
  views.forEach((view, index) => {
    const { siteId, distinctId, receivedAtMs } = view;
    const visitor = persons(siteId)(distinctId);
    const event = { siteId, distinctId, basePersonId: visitor, receivedAtMs, coordinate: coordinateOf(view) };
    const part = decodeIdentityPart(view.eventBytes);
    const previousId = part.previous_distinct_id;
    const isForgotten = previousId !== null && isErased(siteId, basePersonId(siteId, previousId));
    const questions = lookupsOf(secret, event, isForgotten ? { ...part, previous_distinct_id: null } : part);
    questions.forEach((question, at) => {
      all.push({ index, isOfVisitor: at === questions.length - 1, question });
    });
  });
  return all;
}

function coordinateOf(view: EncodedEvent): SourcePosition {
  if (view.coordinate === null) throw new SourcePositionMissingError('event without a coordinate');
  return view.coordinate;
}

/** The person a distinct id stands for before anything is linked: a digest, so that no state is needed for it. */
export function basePersonId(siteId: string, distinctId: string): string {
  return `p_${hash('sha256', `${siteId}\n${distinctId}`, 'hex').slice(0, 32)}`;
}

/** One event's question to the identity store. */
export interface IdentityLookup {
  siteId: string;
  basePersonId: string;
  /** Keyed identifiers that link, first those of `identifiers` in the order of JOINING; empty where the event may not stitch. */
  nodes: string[];
  /** Whose distinct id the question is of, where its event says that; null where it does not. */
  claim: Claim | null;
  /** What the event says of the person, to be kept for destinations' matching. */
  identifiers: Identifiers | null;
  /**
   * Whether a browser's key said it, which is public: then it joins no two of whom something is known, says nothing new of whom
   * servers know, and is whose a server says it to be.
   */
  isPublic?: boolean;
  /** Whether it is of the past: then what is known of the person holds. */
  isHistorical?: boolean;
  receivedAtMs: number;
  coordinate: string;
}

/** That a distinct id is a user's, or a browser's that a user has. It is that of whoever claims it first. */
interface Claim {
  /** One of the question's nodes: that of the user. */
  node: string;
  /** Whether the node is not followed where the distinct id is another user's already. */
  yields: boolean;
}

export interface IdentityAnswer {
  personId: string;
  /** What is known of the person; null where nothing is. */
  identifiers: Identifiers | null;
  /** Facts for identity.links: given again when the same event asks again. */
  links: IdentityLink[];
  /** Identifiers that were not followed: past a limit, of another user's distinct id, or not believed of a browser's key. */
  capped: number;
}

/**
 * Holds who belongs together. Union is commutative and idempotent, so order and repetition do not matter; but of two users
 * who claim a distinct id the first has it, which its edge says.
 */
export interface IdentityStore {
  /** Questions of one site in the order of their events; answers in the same order, some of which may be one object. */
  resolve(siteId: string, questions: readonly IdentityLookup[]): Promise<IdentityAnswer[]>;
}

/** Identifiers that join people. Names do not. */
export const JOINING = ['email', 'phone', 'external_id'] as const;

/** By identifier of a question the node that it links by. */
export function statedNodes({ identifiers, nodes }: IdentityLookup): Partial<Record<keyof Identifiers, string>> {
  const said = JOINING.filter((kind) => identifiers !== null && identifiers[kind] !== null);
  return Object.fromEntries(said.map((kind, at) => [kind, nodes[at]]));
}

/** Of a user's distinct id: an edge says by this that it was a claim. */
const USER_NODE = 'u:';

/** Bare hashes of phones can be enumerated; joined on an HMAC they are worth nothing outside. */
export function nodeOf(secret: Buffer, siteId: string, kind: string, hashed: string): string {
  return hmacSha256(secret, `${siteId}\n${kind}\n${hashed}`).toString('base64url').slice(0, 32);
}

/**
 * The keyed hash by which rows have a phone number, given as the SHA-256 of its E.164 form: people are joined on the same. The
 * bare hash is on its way to destinations alone.
 */
export function phoneHmac(secret: Buffer, siteId: string, sha256: string): string {
  return nodeOf(secret, siteId, 'phone', sha256);
}

/** The node by which other ids are a distinct id's. */
export function visitorNode(secret: Buffer, siteId: string, distinctId: string): string {
  return USER_NODE + nodeOf(secret, siteId, 'distinct_id', distinctId);
}

/** Keyed identifiers of an event that may stitch; offline-mode events are never linked. */
export function identityNodes(secret: Buffer, siteId: string, part: IdentityPart): string[] {
  const { identifiers } = part;
  if (!part.identify || part.mode === 'offline' || identifiers === null) return [];
  return JOINING.flatMap((kind) => {
    const hashed = identifiers[kind];
    return hashed === null ? [] : [nodeOf(secret, siteId, kind, hashed)];
  });
}

/** What of an event its questions are made of. */
export interface AskingEvent {
  siteId: string;
  distinctId: string;
  basePersonId: string;
  receivedAtMs: number;
  coordinate: SourcePosition;
}

/**
 * The questions of one event, the last of which is of its visitor. An event that names another id of the visitor asks three:
 * first what it says of its visitor, who takes the node of the own distinct id by that; then whether the other id follows this
 * node, which nobody else can have taken; then who the visitor is after that. A browser that is a user's already is no other's,
 * whoever logs in there next, as in PostHog; only `$merge_dangerously` of a server joins users. A server's order that names
 * nobody has a node of its visitor's alone, by which servers know them: browsers join no others to those.
 */
export function lookupsOf(secret: Buffer, event: AskingEvent, part: IdentityPart): IdentityLookup[] {
  const { siteId, distinctId, basePersonId: visitor, receivedAtMs } = event;
  const { partition, offset, index } = event.coordinate;
  const isPublic = part.caller === 'browser';
  const said = { isPublic, isHistorical: part.historical === true };
  const shared = { siteId, receivedAtMs, ...said, coordinate: `${partition}:${offset}:${index}` };
  const silent = { ...shared, basePersonId: visitor, nodes: [], claim: null, identifiers: null };
  const nodes = identityNodes(secret, siteId, part);
  const own = { ...silent, nodes, identifiers: nodes.length === 0 ? null : part.identifiers };
  const isOnline = part.identify && part.mode === 'online';
  const previousId = isOnline ? part.previous_distinct_id : null;
  if (previousId === null) {
    const isOfServer = isOnline && !isPublic && nodes.length === 0;
    return [isOfServer ? { ...own, nodes: [nodeOf(secret, siteId, 'customer', distinctId)] } : own];
  }
  const node = visitorNode(secret, siteId, distinctId);
  const yields = !(part.event === '$merge_dangerously' && part.caller === 'server');
  return [
    { ...own, nodes: [...nodes, node], claim: { node, yields: false } },
    { ...silent, basePersonId: basePersonId(siteId, previousId), nodes: [node], claim: { node, yields } },
    silent,
  ];
}

/**
 * Which records of identity.links are taught in which pass, so that their order within a pass does not matter: first what
 * somebody split, which no older fact undoes, then who
 * is part of whom and was seen when, then the edges that say what was decided, which give identifiers to those who hold
 * them, then those that do not say it. These only give away what nobody holds by a decision.
 */
export const RESTORE_PASSES: readonly ((link: IdentityLink) => boolean)[] = [
  ({ kind }) => kind === 'cut' || kind === 'split',
  ({ kind }) => kind === 'person',
  (link) => link.kind === 'edge' && !isUndecided(link),
  isUndecided,
];

/** Whether it is an edge of the versions before decisions were written down. */
export function isUndecided({ kind, decision = 'unknown' }: IdentityLink): boolean {
  return kind === 'edge' && decision === 'unknown';
}

/** How one person becomes two. */
export interface SplitPlan {
  /** Those who stay, and those who are moved. */
  groups: [stay: string[], moved: string[]];
  /** Which persons never follow which keyed identifiers again. */
  cuts: [person: string, node: string][];
  /** Of each identifier that both sides had, one who has it from now on. */
  holders: [node: string, person: string][];
}

/**
 * Plans a split by the edges that joined a person. A keyed identifier that both sides have stays, unless it is taken: the
 * side that loses it is cut from it. What only one side has is that side's anyway.
 *
 * @param edges Those of identity.links, whatever was decided of them.
 * @param taken Keyed identifiers that go with those who are moved.
 */
export function splitPlan(
  persons: readonly string[],
  isMoved: (person: string) => boolean,
  edges: readonly IdentityLink[],
  taken: ReadonlySet<string> = new Set(),
): SplitPlan {
  const members = new Set(persons);
  const joined = edges.filter(
    ({ kind, decision, person_id }) => kind === 'edge' && decision !== 'capped' && members.has(person_id),
  );
  const plan: SplitPlan = {
    groups: [persons.filter((person) => !isMoved(person)), persons.filter(isMoved)],
    cuts: [],
    holders: [],
  };
  for (const [node, ones] of Map.groupBy(joined, ({ target }) => target)) {
    const having = [...new Set(ones.map(({ person_id }) => person_id))];
    const isOfMoved = taken.has(node);
    const [first] = having.filter((person) => isMoved(person) === isOfMoved);
    const losing = having.filter((person) => isMoved(person) !== isOfMoved);
    if (first === undefined || losing.length === 0) continue;
    plan.holders.push([node, first]);
    plan.cuts.push(...losing.map((person): [string, string] => [person, node]));
  }
  return plan;
}
