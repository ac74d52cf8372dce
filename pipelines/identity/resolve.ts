import { createHmac, hash } from 'node:crypto';
import type { Coordinate, Identifiers } from '#schemas/event.ts';
import type { IdentityPart } from '#schemas/event_batch.ts';
import type { IdentityLink } from '#schemas/identity_link.ts';

/** The person a distinct id stands for before anything is linked: a digest, so that no state is needed for it. */
export function basePersonId(siteId: string, distinctId: string): string {
  return `p_${hash('sha256', `${siteId}\n${distinctId}`, 'hex').slice(0, 32)}`;
}

/** One event's question to the identity store. */
export interface IdentityQuestion {
  siteId: string;
  basePersonId: string;
  /** Keyed identifiers that link, first those of `identifiers` in the order of JOINING; empty where the event may not stitch. */
  nodes: string[];
  /** Whose distinct id the question is of, where its event says that; null where it does not. */
  claim: Claim | null;
  /** What the event says of the person, to be kept for destinations' matching. */
  identifiers: Identifiers | null;
  /** Whether a browser's key said it, which is public: then it joins no two of whom something is known. */
  isPublic?: boolean;
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
  resolve(siteId: string, questions: readonly IdentityQuestion[]): Promise<IdentityAnswer[]>;
}

/** Identifiers that join people. Names do not. */
const JOINING = ['email', 'phone', 'external_id'] as const;

/** By identifier of a question the node that it links by. */
export function nodesSaid({ identifiers, nodes }: IdentityQuestion): Partial<Record<keyof Identifiers, string>> {
  const said = JOINING.filter((kind) => identifiers !== null && identifiers[kind] !== null);
  return Object.fromEntries(said.map((kind, at) => [kind, nodes[at]]));
}

/** Of a user's distinct id: an edge says by this that it was a claim. */
const USER_NODE = 'u:';

/** Bare hashes of phones can be enumerated; joined on an HMAC they are worth nothing outside. */
export function nodeOf(secret: Buffer, siteId: string, kind: string, hashed: string): string {
  return createHmac('sha256', secret).update(`${siteId}\n${kind}\n${hashed}`).digest('base64url').slice(0, 32);
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
export function nodesOf(secret: Buffer, siteId: string, part: IdentityPart): string[] {
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
  coordinate: Coordinate;
}

/**
 * The questions of one event, the last of which is of its visitor. An event that names another id of the visitor asks three:
 * first what it says of its visitor, who takes the node of the own distinct id by that; then whether the other id follows this
 * node, which nobody else can have taken; then who the visitor is after that. A browser that is a user's already is no other's,
 * whoever logs in there next, as in PostHog; only `$merge_dangerously` of a server joins users.
 */
export function questionsOf(secret: Buffer, event: AskingEvent, part: IdentityPart): IdentityQuestion[] {
  const { siteId, distinctId, basePersonId: visitor, receivedAtMs } = event;
  const { partition, offset, index } = event.coordinate;
  const isPublic = part.caller === 'browser';
  const shared = { siteId, receivedAtMs, isPublic, coordinate: `${partition}:${offset}:${index}` };
  const silent = { ...shared, basePersonId: visitor, nodes: [], claim: null, identifiers: null };
  const nodes = nodesOf(secret, siteId, part);
  const own = { ...silent, nodes, identifiers: nodes.length === 0 ? null : part.identifiers };
  const previousId = part.identify && part.mode === 'online' ? part.previous_distinct_id : null;
  if (previousId === null) return [own];
  const node = visitorNode(secret, siteId, distinctId);
  const yields = !(part.event === '$merge_dangerously' && part.caller === 'server');
  return [
    { ...own, nodes: [...nodes, node], claim: { node, yields: false } },
    { ...silent, basePersonId: basePersonId(siteId, previousId), nodes: [node], claim: { node, yields } },
    silent,
  ];
}
