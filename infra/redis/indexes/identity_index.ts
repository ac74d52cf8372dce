import { hash } from 'node:crypto';
import { type IdentityAnswer, type IdentityLookup, type SplitPlan, statedNodes } from '#pipelines/identity/identity.ts';
import { IDENTIFIER_FIELDS, type Identifiers } from '#schemas/event.ts';
import type { IdentityLink } from '#schemas/records.ts';
import { createIndexScript, pairsOf } from '../client.ts';
import type { Redis } from '../connection.ts';
import { createIndexEpoch } from './index_epoch.ts';

/**
 * What one script asks of a site lies in one slot: the epoch of the index, the site's persons, and what is remembered of its
 * visitors where that is in the same Redis. On a single server each site's keys have a tag of their own and the index has
 * one epoch; in a cluster the sites share sixteen slots, each with an epoch.
 */
export interface IdentityKeys {
  /** Prefixes of the epochs. */
  indexes: readonly string[];
  /** Prefix of the epoch of the part of the index that a site is in. */
  indexOf(siteId: string): string;
  personsOf(siteId: string): string;
  memoriesOf(siteId: string): string;
}

const INDEX = 'i:';
const TAGS = '0123456789abcdef'.split('');
const TAGS_KNOWN_MAX = 10_000;

const SINGLE: IdentityKeys = {
  indexes: [INDEX],
  indexOf: () => INDEX,
  personsOf: (siteId) => `${INDEX}{${siteId}}:`,
  memoriesOf: (siteId) => `engage:{${siteId}}:`,
};

const tags = new Map<string, string>();

/** Hashed once, as a batch may name thousands of sites. */
function tagOf(siteId: string): string {
  const known = tags.get(siteId);
  if (known !== undefined) return known;
  const tag = hash('sha256', siteId).charAt(0);
  if (tags.size >= TAGS_KNOWN_MAX) tags.clear();
  tags.set(siteId, tag);
  return tag;
}

const indexOf = (tag: string): string => `${INDEX}{${tag}}:`;

const CLUSTERED: IdentityKeys = {
  indexes: TAGS.map(indexOf),
  indexOf: (siteId) => indexOf(tagOf(siteId)),
  personsOf: (siteId) => `${indexOf(tagOf(siteId))}${siteId}:`,
  memoriesOf: (siteId) => `engage:{${tagOf(siteId)}}:${siteId}:`,
};

export const identityKeys = (isCluster: boolean): IdentityKeys => (isCluster ? CLUSTERED : SINGLE);

/** What is remembered of a visitor in a Redis without the index. */
export const separateMemory = (siteId: string, person: string): string => `${SINGLE.memoriesOf(siteId)}${person}`;

/** Most distinct ids of one person: a shared address (of a till, of a family) joins no more people than that. */
export const DISTINCT_IDS_PER_PERSON_MAX = 100;

/**
 * Which of the question's nodes, from 0, were not followed: `capped` at the cap, `others` as another user has the person, or it was
 * not believed; and whose they are by browsers' keys alone (`hearsay`).
 */
type ScriptAnswer = [
  leader: string,
  identifiers: string[],
  members: string[],
  version: string,
  capped: number[],
  others: number[],
  hearsay: number[],
];
/** The version, and flat each person, whom it is part of, and its first seen. */
type SplitAnswer = [version: string, persons: string[]];
type LookupAnswer = [leader: string, identifiers: string[]] | null;

/** A person as derived from a distinct id, and whom it is part of. */
export interface GroupedPerson {
  person: string;
  leader: string;
  firstSeen: number;
}

/** The identity graph in Redis. Throws IndexLostError if a part of it may be missing. */
export type IdentityIndex = ReturnType<typeof createIdentityStore>;

/** Items of one script call at most, as every other command waits while a script runs. */
const QUESTIONS_PER_SCRIPT = 500;
const RESTORING = 1;
const RESOLVING = 0;
const SPLITTING = 2;

/** An index that identity.links and events.identified can make again. */
export function createIdentityStore(redis: Redis, personsMax = DISTINCT_IDS_PER_PERSON_MAX) {
  const script = createIndexScript(redis, 'indexes/identity.lua');
  const keys = identityKeys(redis.isCluster);
  /** Of sites in one part of the index. */
  const askSites = (calls: readonly [SiteCall, ...SiteCall[]], mode: number): Promise<unknown[]> =>
    script.run(
      [keys.indexOf(calls[0].siteId), ...calls.map(({ siteId }) => keys.personsOf(siteId))],
      [personsMax, mode, ...calls.map(({ questions }) => toText(questions))],
    ) as Promise<unknown[]>;
  const resolveSite = sharedScripts(keys.indexOf, (calls) => askSites(calls, RESOLVING));
  const restoreSite = (siteId: string, questions: readonly object[]) => askSites([{ siteId, questions }], RESTORING);

  async function resolveSome(siteId: string, questions: readonly IdentityLookup[]): Promise<IdentityAnswer[]> {
    const { items, places } = asItems(questions);
    const asked = items.map((item) => ('question' in item ? toScript(item.question) : { p: item.lookups }));
    const answers = (await resolveSite(siteId, asked)) as (ScriptAnswer | LookupAnswer[])[];
    const read = items.map((item, index) => toAnswers(siteId, item, answers[index]));
    return places.map(({ item, at }) => read[item]?.[at] as IdentityAnswer);
  }

  return {
    epoch: createIndexEpoch(redis, keys.indexes),
    async resolve(siteId: string, questions: readonly IdentityLookup[]): Promise<IdentityAnswer[]> {
      const answers: IdentityAnswer[] = [];
      for (let at = 0; at < questions.length; at += QUESTIONS_PER_SCRIPT) {
        answers.push(...(await resolveSome(siteId, questions.slice(at, at + QUESTIONS_PER_SCRIPT))));
      }
      return answers;
    },
    /** Restores what records of identity.links say of one site. Within each of RESTORE_PASSES the order does not matter. */
    async restoreLinks(siteId: string, links: readonly IdentityLink[]): Promise<void> {
      await restoreSite(siteId, links.map(linkToScript));
    },
    /**
     * Restores the identifiers that events of one site had when they were identified; which persons are one and whose an
     * identifier is, links say, which are restored before.
     */
    async restoreQuestions(siteId: string, questions: readonly IdentityLookup[]): Promise<void> {
      const telling = questions.filter(({ identifiers }) => identifiers !== null);
      await restoreSite(
        siteId,
        telling.map((question) => ({ ...toScript(question), n: [] })),
      );
    },
    /** All who are one with any of some persons, each with whom it is part of and when it was first seen. */
    async groupsOf(siteId: string, persons: readonly string[]): Promise<GroupedPerson[]> {
      const [[flat] = []] = (await askSites([{ siteId, questions: [{ g: persons }] }], RESOLVING)) as [string[]][];
      return groupedPersons(flat ?? []);
    },
    /** Splits people as planned; what is to be written down of it, or null where they are no longer all of who they were. */
    async split(siteId: string, { groups, cuts, holders }: SplitPlan): Promise<IdentityLink[] | null> {
      const item = { m: groups, c: cuts, h: holders };
      const [[answer] = []] = (await askSites([{ siteId, questions: [item] }], SPLITTING)) as [SplitAnswer | null][];
      if (!answer) return null;
      const persons = groupedPersons(answer[1]);
      const seen = new Map(persons.map(({ person, firstSeen }) => [person, firstSeen]));
      const linkOf = (kind: IdentityLink['kind'], person_id: string, target: string): IdentityLink => ({
        ...{ site_id: siteId, kind, person_id, target },
        first_seen: seen.get(person_id) ?? 0,
        version: Number(answer[0]),
      });
      return [
        ...persons.map(({ person, leader }) => linkOf('split', person, leader)),
        ...cuts.map(([person, node]) => linkOf('cut', person, node)),
        ...holders.map(([node, person]): IdentityLink => {
          return { ...linkOf('edge', person, node), version: 0, decision: 'joined' };
        }),
      ];
    },
  };
}

interface SiteCall {
  siteId: string;
  questions: readonly object[];
}

/** What most small sites ask, of which one call holds many, needs no JSON. */
function toText(questions: readonly object[]): string {
  const [only] = questions as { p?: string[] }[];
  const [person] = only?.p ?? [];
  const isOnePerson = questions.length === 1 && only?.p?.length === 1;
  return isOnePerson && person !== undefined ? person : JSON.stringify(questions);
}

interface Waiting extends SiteCall {
  answered(answer: unknown): void;
  failed(error: unknown): void;
}

/**
 * Sites that are asked about at the same moment share scripts, those in one part of the index one: each script asks the server once
 * whether the index is whole, which costs as much as the questions of many small sites.
 */
function sharedScripts(
  indexOf: (siteId: string) => string,
  run: (calls: readonly [SiteCall, ...SiteCall[]]) => Promise<unknown[]>,
) {
  let waiting: Waiting[] = [];

  async function send(calls: readonly [Waiting, ...Waiting[]]): Promise<void> {
    try {
      const answers = await run(calls);
      for (const [at, { answered }] of calls.entries()) answered(answers[at]);
    } catch (error) {
      for (const { failed } of calls) failed(error);
    }
  }

  function flush(): void {
    const all = waiting;
    waiting = [];
    for (const ofIndex of Map.groupBy(all, ({ siteId }) => indexOf(siteId)).values()) sendInTurn(ofIndex);
  }

  function sendInTurn(all: readonly Waiting[]): void {
    for (let from = 0, to = 0, size = 0; from < all.length; from = to, size = 0) {
      do size += all[to++]?.questions.length ?? 0;
      while (to < all.length && size + (all[to]?.questions.length ?? 0) <= QUESTIONS_PER_SCRIPT);
      void send(all.slice(from, to) as [Waiting, ...Waiting[]]);
    }
  }

  return (siteId: string, questions: readonly object[]): Promise<unknown> =>
    new Promise((answered, failed) => {
      if (waiting.push({ siteId, questions, answered, failed }) === 1) queueMicrotask(flush);
    });
}

function groupedPersons(flat: readonly string[]): GroupedPerson[] {
  const persons: GroupedPerson[] = [];
  for (let at = 0; at < flat.length; at += 3) {
    const [person = '', leader = '', firstSeen] = flat.slice(at, at + 3);
    persons.push({ person, leader, firstSeen: Number(firstSeen) });
  }
  return persons;
}

/** An edge says what was decided of its node; a belonging joins two persons, whatever they have in common. */
function linkToScript(link: IdentityLink): object {
  const { person_id: b, target, first_seen: t } = link;
  if (link.kind === 'person') return { b, n: [], i: null, t, o: target, v: link.version };
  if (link.kind === 'split') return { b, t, o: target, v: link.version, s: link.version };
  if (link.kind === 'cut') return { b, n: [target], i: null, t, d: 'capped' };
  return { b, n: [target], i: null, t, d: link.decision ?? 'unknown', h: link.is_hearsay ?? undefined };
}

function toScript(question: IdentityLookup): object {
  return {
    b: question.basePersonId,
    n: question.nodes,
    i:
      question.identifiers &&
      Object.fromEntries(Object.entries(question.identifiers).filter(([, value]) => value !== null)),
    j: statedNodes(question),
    t: question.receivedAtMs,
    c: question.coordinate,
    w: question.claim?.node,
    y: question.claim?.yields,
    k: question.isPublic === true,
    f: question.isHistorical === true,
  };
}

function toAnswers(siteId: string, item: Item, answer: ScriptAnswer | LookupAnswer[] | undefined): IdentityAnswer[] {
  if ('question' in item) return [toAnswer(siteId, item.question, answer as ScriptAnswer)];
  const found = answer as LookupAnswer[];
  return item.lookups.map((person, at): IdentityAnswer => {
    const [personId, identifiers] = found[at] ?? [person, []];
    return { personId, identifiers: knownOf(identifiers), links: [], capped: 0 };
  });
}

function toAnswer(siteId: string, question: IdentityLookup, answer: ScriptAnswer): IdentityAnswer {
  const [personId, identifiers, members, version, capped, others, hearsay] = answer;
  return {
    personId,
    identifiers: knownOf(identifiers),
    links: [
      ...edges(siteId, question, { capped, others, hearsay }),
      ...belongings(siteId, personId, members, Number(version)),
    ],
    capped: capped.length + others.length,
  };
}

/**
 * None of what another user's claim forbade, which is an edge and forbids it again, or of what was not believed of a
 * browser's key.
 */
function edges(
  siteId: string,
  question: IdentityLookup,
  { capped, others, hearsay }: Record<'capped' | 'others' | 'hearsay', readonly number[]>,
): IdentityLink[] {
  const edge = (node: string, at: number): IdentityLink => ({
    site_id: siteId,
    kind: 'edge',
    person_id: question.basePersonId,
    target: node,
    first_seen: question.receivedAtMs,
    version: 0,
    decision: capped.includes(at) ? 'capped' : 'joined',
    is_hearsay: capped.includes(at) ? question.isPublic === true : hearsay.includes(at),
  });
  return question.nodes.flatMap((node, at) => (others.includes(at) ? [] : [edge(node, at)]));
}

function belongings(siteId: string, personId: string, members: readonly string[], version: number): IdentityLink[] {
  return pairsOf(members).map(([person_id, seen]) => ({
    ...{ site_id: siteId, kind: 'person', person_id, target: personId },
    ...{ first_seen: Number(seen), version },
  }));
}

/** Null where there are marks alone. */
function knownOf(flat: readonly string[]): Identifiers | null {
  const known = new Map(pairsOf(flat).filter(([name]) => !MARKS.has(name)));
  if (known.size === 0) return null;
  return Object.fromEntries(
    IDENTIFIER_FIELDS.map((field) => [field, known.get(field) ?? null]),
  ) as unknown as Identifiers;
}

/** Of identity.lua's, beside what is known of a person. */
const MARKS: ReadonlySet<string> = new Set(['#', '!']);

/** A question of a call of the script: one that links, or persons of whom nothing is said and each is asked for once. */
type Item = { question: IdentityLookup } | { lookups: string[] };

/** Where the answer to a question stands. */
interface Place {
  item: number;
  /** Its person among the item's lookups; 0 where the item is a question. */
  at: number;
}

/**
 * Most events say nothing of who their visitor is, and a visitor has many events. Those between two questions that link go
 * into one question with each person once, and each gets the answer that it would have got alone.
 */
function asItems(questions: readonly IdentityLookup[]): { items: Item[]; places: Place[] } {
  const items: Item[] = [];
  let lookups: string[] = [];
  let seen = new Map<string, number>();
  const places = questions.map((question): Place => {
    if (question.nodes.length > 0) {
      items.push({ question });
      lookups = [];
      seen = new Map();
      return { item: items.length - 1, at: 0 };
    }
    if (lookups.length === 0) items.push({ lookups });
    let at = seen.get(question.basePersonId);
    if (at === undefined) {
      at = lookups.push(question.basePersonId) - 1;
      seen.set(question.basePersonId, at);
    }
    return { item: items.length - 1, at };
  });
  return { items, places };
}
