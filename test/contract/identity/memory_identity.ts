import {
  type IdentityAnswer,
  type IdentityLookup,
  type IdentityStore,
  statedNodes,
} from '#pipelines/identity/identity.ts';
import type { Identifiers } from '#schemas/event.ts';
import type { IdentityLink } from '#schemas/records.ts';
import { NO_IDENTIFIERS } from './questions.ts';

/** People that are one: when each was first seen, what is known of them, and the event that changed them last. */
interface Group {
  members: Map<string, number>;
  known: Partial<Record<keyof Identifiers, string>>;
  changedBy: string | null;
  /** Nodes that browsers' keys have said first that they are theirs. */
  publicNodes: number;
  /** Whether a server's key has said something of them. */
  isKnownToServers: boolean;
}

interface Site {
  groups: Map<string, Group>;
  leaders: Map<string, string>;
  /** By node a person that has it. */
  holders: Map<string, string>;
  /** Nodes of which browsers' keys alone have said whose they are. */
  hearsay: Set<string>;
  /** By person the node by which it was claimed first. */
  claims: Map<string, string>;
  version: number;
}

/** First seen of a person that only ever held a node. */
const UNSEEN = Number.MAX_SAFE_INTEGER;

/** Who belongs together, in memory: what infra/redis/indexes/identity.lua does, without the losing. */
export function createMemoryIdentity(personsMax: number): IdentityStore {
  const sites = new Map<string, Site>();
  return {
    async resolve(siteId, questions) {
      const site = sites.get(siteId) ?? {
        groups: new Map(),
        leaders: new Map(),
        holders: new Map(),
        hearsay: new Set(),
        claims: new Map(),
        version: 0,
      };
      sites.set(siteId, site);
      return questions.map((question) => answer(site, siteId, question, personsMax));
    },
  };
}

function answer(site: Site, siteId: string, question: IdentityLookup, personsMax: number): IdentityAnswer {
  const linked = question.nodes.length > 0 ? link(site, question, personsMax) : null;
  const leader = linked?.leader ?? leaderOf(site, question.basePersonId);
  const { known = {}, members = new Map(), changedBy = null } = site.groups.get(leader) ?? {};
  const isOwnChange = linked !== null && changedBy === question.coordinate;
  if (isOwnChange) site.version++;
  const record = (kind: IdentityLink['kind'], person_id: string, target: string, first_seen: number): IdentityLink => ({
    site_id: siteId,
    kind,
    person_id,
    target,
    first_seen,
    version: kind === 'edge' ? 0 : site.version,
  });
  return {
    personId: leader,
    identifiers: Object.keys(known).length === 0 ? null : { ...NO_IDENTIFIERS, ...known },
    links: [
      ...question.nodes
        .filter((node) => !linked?.others.includes(node))
        .map((node) => ({
          ...record('edge', question.basePersonId, node, question.receivedAtMs),
          decision: linked?.capped.includes(node) ? ('capped' as const) : ('joined' as const),
          is_hearsay: linked?.capped.includes(node) ? question.isPublic === true : site.hearsay.has(node),
        })),
      ...(isOwnChange ? [...members].map(([person, seen]) => record('person', person, leader, seen)) : []),
    ],
    capped: (linked?.capped.length ?? 0) + (linked?.others.length ?? 0),
  };
}

interface Linked {
  leader: string;
  capped: string[];
  /** Not followed as another user has the person. */
  others: string[];
}

function link(site: Site, question: IdentityLookup, personsMax: number): Linked {
  const { basePersonId: person, nodes, receivedAtMs, coordinate, claim } = question;
  let leader = leaderOf(site, person);
  const merged = [leader];
  const members = new Map(site.groups.get(leader)?.members);
  let changed = receivedAtMs < (members.get(person) ?? Number.POSITIVE_INFINITY);
  if (changed) members.set(person, receivedAtMs);
  const capped: string[] = [];
  const others: string[] = [];
  const claimed = site.claims.get(person);
  let isKnown = site.leaders.has(person);
  let said = 0;
  let hasOwnNode = false;
  const isPublic = question.isPublic === true;
  const isServed = () => merged.some((one) => site.groups.get(one)?.isKnownToServers === true);
  const isBeyond = () => isServed() || saidOf() >= 5;
  const saidOf = () => merged.reduce((sum, one) => sum + (site.groups.get(one)?.publicNodes ?? 0), said);
  for (const node of nodes) {
    const isAnothers = claim?.node === node && claim.yields && claimed !== undefined && claimed !== node;
    const other = leaderOf(site, site.holders.get(node) ?? person);
    const isHeld = site.holders.has(node);
    const joining = new Map([[other, UNSEEN], ...(site.groups.get(other)?.members ?? [])]);
    const isOne = isHeld && merged.includes(other);
    if (isAnothers && !isOne) {
      others.push(node);
      continue;
    }
    const isHearsay = !isPublic && site.hearsay.has(node) && site.groups.get(other)?.isKnownToServers === true;
    if (isHeld && !isOne && isHearsay && (hasOwnNode || isServed())) {
      takeOver(site, question, node, other);
      continue;
    }
    if (isHeld && !isOne && members.size + joining.size > personsMax) {
      capped.push(node);
      continue;
    }
    const joined = site.groups.get(other);
    const isOfEvent = joined?.members.size === 1 && joined.changedBy === coordinate && !joined.isKnownToServers;
    const isHalf = members.size + joining.size > Math.ceil(personsMax / 2);
    const isDisbelieved = isHeld ? (isKnown && !isOfEvent) || isHalf : !node.startsWith('u:') && isBeyond();
    if (isPublic && !isOne && isDisbelieved) {
      others.push(node);
      continue;
    }
    if (isPublic && !isHeld && !node.startsWith('u:')) said++;
    if (claim?.node === node && claimed === undefined) site.claims.set(person, node);
    if (!isHeld) site.holders.set(node, person);
    if (!isHeld && !isPublic && !node.startsWith('u:')) hasOwnNode = true;
    if (!isPublic) site.hearsay.delete(node);
    else if (!isHeld) site.hearsay.add(node);
    if (isOne || !isHeld) continue;
    for (const [one, seen] of joining) members.set(one, seen);
    merged.push(other);
    isKnown = true;
    changed = true;
  }
  if (changed) leader = store(site, members, merged, question);
  const group = site.groups.get(leader);
  if (group !== undefined) group.publicNodes += said;
  if (group !== undefined && !isPublic) group.isKnownToServers = true;
  if (group !== undefined) remember(site, question, leader, group);
  return { leader, capped, others };
}

/** Gives a node to the person of the question, and takes back what was known by it of who had it by hearsay. */
function takeOver(site: Site, question: IdentityLookup, node: string, holder: string): void {
  site.holders.set(node, question.basePersonId);
  site.hearsay.delete(node);
  const { known = {} } = site.groups.get(holder) ?? {};
  const nodes = statedNodes(question);
  for (const fields of VALUES) {
    const value = question.identifiers?.[fields[0]] ?? null;
    if (nodes[fields[0]] === node && known[fields[0]] === value) replace(known, fields, {});
  }
}

/** What is known of a person: each value with its variants. */
const VALUES = [
  ['email', 'email_google', 'email_stripped'],
  ['phone', 'phone_digits'],
  ['external_id'],
  ['first_name', 'first_name_google'],
  ['last_name', 'last_name_google'],
] as const satisfies (keyof Identifiers)[][];

function remember(site: Site, question: IdentityLookup, leader: string, { known, isKnownToServers }: Group): void {
  const nodes = statedNodes(question);
  const isTheirs = (node: string): boolean => leaderOf(site, site.holders.get(node) ?? '') === leader;
  const isAnother = ([kind, node]: [string, string]): boolean => {
    const before = known[kind as keyof Identifiers];
    return before !== undefined && before !== question.identifiers?.[kind as keyof Identifiers] && isTheirs(node);
  };
  if (question.isPublic !== true && Object.entries(nodes).some(isAnother)) {
    if (question.isHistorical === true) return;
    for (const fields of VALUES) replace(known, fields, {});
  }
  const areAllTheirs = !(question.isPublic === true && isKnownToServers) && Object.values(nodes).every(isTheirs);
  for (const fields of VALUES) {
    const node = nodes[fields[0]];
    if ((question.identifiers?.[fields[0]] ?? null) === null) continue;
    if (!(node === undefined ? areAllTheirs : isTheirs(node))) continue;
    const fillsOnly = question.isPublic === true || question.isHistorical === true;
    if (fillsOnly && known[fields[0]] !== undefined) continue;
    replace(known, fields, question.identifiers ?? {});
  }
}

/** A value with its variants by those of one source. */
function replace(known: Group['known'], fields: readonly (keyof Identifiers)[], source: Partial<Identifiers>): void {
  for (const field of fields) {
    const value = source[field] ?? null;
    if (value === null) delete known[field];
    else known[field] = value;
  }
}

/** Oldest first seen, then smallest id, leads: that depends on the people alone, not on the order they came in. */
function store(site: Site, members: Map<string, number>, merged: readonly string[], by: IdentityLookup): string {
  const [first] = [...members].toSorted(([a, seenA], [b, seenB]) => seenA - seenB || (a < b ? -1 : 1));
  const leader = first?.[0] ?? '';
  const known: Group['known'] = {};
  let publicNodes = 0;
  let isKnownToServers = false;
  for (const old of merged) {
    isKnownToServers ||= site.groups.get(old)?.isKnownToServers === true;
    publicNodes += site.groups.get(old)?.publicNodes ?? 0;
    const other: Group['known'] = site.groups.get(old)?.known ?? {};
    for (const fields of VALUES) {
      const [before, value] = [known[fields[0]], other[fields[0]]];
      if (value === undefined || (before !== undefined && (by.isPublic || before <= value))) continue;
      replace(known, fields, other);
    }
    site.groups.delete(old);
  }
  site.groups.set(leader, { members, known, changedBy: by.coordinate, publicNodes, isKnownToServers });
  for (const person of members.keys()) site.leaders.set(person, leader);
  return leader;
}

function leaderOf(site: Site, person: string): string {
  return site.leaders.get(person) ?? person;
}
