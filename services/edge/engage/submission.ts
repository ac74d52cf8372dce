// What submissions of visitors share: body, ids, token, proof of work, rate, and the way in for their events.
import { clientAddress, type HttpRequestIn } from '#infra/http/http_server.ts';
import type { CountedSubmission, Impression } from '#infra/redis/engage/engage.ts';
import type { Look } from '#pipelines/engage/decide.ts';
import type { EngageKind, ItemName } from '#pipelines/engage/definition_fields.ts';
import {
  type Circumstances,
  circumstancesProblem,
  type EngageEvent,
  visitorId,
} from '#pipelines/engage/engage_event.ts';
import {
  ENGAGE_BODY_BYTES_MAX,
  type Proof,
  type RequestRead,
  type SentVisitor,
} from '#pipelines/engage/engage_request.ts';
import { type ReadyItem, siteEngage } from '#pipelines/engage/site_engage.ts';
import {
  AHEAD_MS,
  type Challenge,
  checkEngageToken,
  coreOfText,
  isSolved,
  judgeAmongOthers,
  makeChallenge,
  nonceOf,
  OLD_TOKEN_MS,
  readableText,
  type SpamCounts,
  type SpamReason,
  type SpamVerdict,
  TOKEN_MS,
  type TokenCheck,
} from '#pipelines/engage/spam.ts';
import { basePersonId } from '#pipelines/identity/identity.ts';
import { cleanDistinctId } from '#pipelines/intake/call.ts';
import { readShortText } from '#pipelines/intake/field_rules.ts';
import { hmacSha256 } from '#pipelines/privacy/hash_identifiers.ts';
import { networkOf } from '#pipelines/privacy/ip_addresses.ts';
import { isNobodysId } from '#pipelines/privacy/placeholder_ids.ts';
import { redactCards } from '#pipelines/privacy/redact_secrets.ts';
import { readPageAddress } from '#pipelines/settings/url_pattern.ts';
import type { Site } from '#schemas/setting.ts';
import { requestSignals } from '../auth.ts';
import { hasBody, parseJson, unpackedBody } from '../body.ts';
import type { EdgeContext, RequestHook } from '../edge_context.ts';
import { type Answer, errorAnswer, errorCodeOf, limitedAnswer, refusal } from '../errors.ts';
import type { Acceptance, IngestCaller } from '../ingest_service.ts';
import type { EngageMemories, SpamWatch } from './visitor_memory.ts';

/** What the routes of surveys, promos and forms need beside what all routes share. */
export interface EngageParts {
  /** Signs tokens and draws shares; the same in every edge, and made of the identity secret. */
  secret: Buffer;
  /** Hashes distinct ids that are e-mail addresses or phone numbers, as the events have them. */
  identitySecret: Buffer;
  /** Who calls, as limits count it; null where an address is exempt. */
  addressOf(clientIp: string): string | null;
  randomBytes(bytes: number): Buffer;
  memory: EngageMemories;
  spam: SpamWatch;
}

/** What each of the routes is mounted with. */
export interface Engage extends EngageParts {
  context: EdgeContext;
  rate: EngageRate;
  hooks: RequestHook[];
}

/** An event of a survey, promo or form, and what it tells of the visitor. */
interface Happened {
  event: EngageEvent;
  notes: readonly Impression[];
  /** A person waits for what becomes of it, and would be thanked. */
  isAwaited: boolean;
}

/** When a visitor may send again what cannot be taken now. */
export const LATER_S = 600;

/**
 * Hands events to the ingest service, and notes what the visitor saw once Kafka holds them.
 *
 * @param more What is answered beside how many are stored.
 */
export async function acceptEngage(
  { context, rate, memory, identitySecret }: Engage,
  request: HttpRequestIn,
  happened: readonly Happened[],
  more: object = {},
): Promise<Answer> {
  const caller = context.callerOf(request);
  const events = happened.map(({ event }) => withConsent(event, caller.site));
  const acceptance = await rate.accept(request, events);
  if (!acceptance.ok) {
    return acceptance.code === 'rate_limited' ? limitedAnswer(acceptance.limited) : refusal(acceptance.code);
  }
  const { accepted, dropped, blocked, rejected } = acceptance;
  if (rejected.length > 0 && rejected.length === events.length) {
    return { status: 400, body: { ...errorAnswer('events_rejected').body, rejected } };
  }
  if (accepted === 0 && dropped + blocked > 0 && happened.some(({ isAwaited }) => isAwaited)) {
    return { ...refusal('not_taken_now'), retryAfterS: LATER_S };
  }
  if (accepted > 0) {
    for (const { event, notes } of happened) {
      const { rememberedId } = idsOf({ distinct_id: event.distinct_id ?? '' }, caller, identitySecret);
      if (rememberedId !== null && notes.length > 0) memory.note(caller.site.site_id, rememberedId, notes);
    }
  }
  return { status: 200, body: { accepted, ...more } };
}

/** @param isDone It was answered, clicked or submitted. */
export function notesOf(name: ItemName, showing: string, isDone: boolean): Impression[] {
  const shown = { kind: 'shown', name, id: showing.toLowerCase() } as const;
  return isDone ? [shown, { kind: 'done', name }] : [shown];
}

/** On a site that measures nobody who has not agreed, whoever says nothing of it has not. */
function withConsent(event: EngageEvent, { tag }: Site): EngageEvent {
  if (!tag.consent_required || Object.hasOwn(event.properties, '$consent')) return event;
  return { ...event, properties: { ...event.properties, $consent: { analytics: false, ads: false } } };
}

/** What is answered for spam: as for robots' events, nothing that teaches. */
export const SPAM_ANSWER: Answer = { status: 200, body: { accepted: 0 } };

export type BodyRead<Body> = { ok: true; body: Body } | { ok: false; answer: Answer };

/** Reads a body of one of these routes: JSON of at most 64 KiB in the shape that `read` knows. */
export function readEngageBody<Body>(
  request: HttpRequestIn,
  read: (value: unknown) => RequestRead<Body>,
): BodyRead<Body> {
  if (!hasBody(request)) return { ok: false, answer: refusal('content_type_unsupported') };
  const bytes = unpackedBody(request, ENGAGE_BODY_BYTES_MAX);
  const value = bytes.ok ? parseJson(bytes.value) : bytes;
  if (!value.ok) return { ok: false, answer: refusal(value.code) };
  const body = read(value.value);
  return body.ok ? body : { ok: false, answer: invalidBody(body.field) };
}

/** Names the field at fault, and never what was sent. */
export function invalidBody(field: string): Answer {
  const { status, body } = errorAnswer('engage_invalid');
  return { status, body: { error: { ...body.error, field } } };
}

/** A visitor's ids; null for an anonymous visitor, and on a site in offline mode, which keeps no ids. */
interface VisitorIds {
  /** As events have it. */
  distinctId: string | null;
  /**
   * The one under which anything is remembered, and known. An e-mail address or phone number is none for a browser: its
   * key is public, so that anybody could ask what became of the person whose address they know.
   */
  rememberedId: string | null;
}

export function idsOf(visitor: SentVisitor, { site, key }: IngestCaller, identitySecret: Buffer): VisitorIds {
  const sent = site.mode === 'offline' ? null : readShortText(visitorId(visitor));
  if (sent === null || isNobodysId(sent)) return { distinctId: null, rememberedId: null };
  const { distinctId } = cleanDistinctId(sent, identitySecret, site);
  return { distinctId, rememberedId: key.caller === 'browser' && distinctId !== sent ? null : distinctId };
}

/** What stands for a visitor of whom no person is remembered in drawing shares: an anonymous one is their network and device. */
export function shareIdOf(request: HttpRequestIn, { site_id: siteId }: Site, { distinctId }: VisitorIds): string {
  if (distinctId !== null) return basePersonId(siteId, distinctId);
  return `${networkOf(clientAddress(request))} ${request.headers['user-agent'] ?? ''}`;
}

/** Who looks at which page; null where the page's address is none. */
export function lookOf(
  request: HttpRequestIn,
  { url, visitor, site }: { url: string; visitor: SentVisitor; site: Site },
  nowMs: number,
): Look | null {
  const page = readPageAddress(url);
  if (page === null) return null;
  const refusesAds = request.headers['sec-gpc'] === '1';
  return {
    page,
    device: visitor.device ?? null,
    locale: visitor.locale ?? null,
    country: countryOf(visitor),
    consent: { analytics: visitor.consent?.analytics === true, ads: visitor.consent?.ads === true && !refusesAds },
    anonymous: site.mode === 'offline',
    nowMs,
  };
}

/** What the browser says, else the region of its language: the edge knows no country of an address. */
function countryOf({ country, locale }: SentVisitor): string | null {
  if (country !== undefined) return country.toUpperCase();
  return /^[a-z]{2,3}(?:-[A-Z][a-z]{3})?-([A-Z]{2})\b/.exec(locale ?? '')?.[1] ?? null;
}

/** How long the token of what was sent is remembered: for as long as any token can be used again. */
export const SENT_NONCE_HELD_MS = OLD_TOKEN_MS + AHEAD_MS;
/** That of what was just shown is remembered for less, as there are many of these. */
const SHOWN_NONCE_HELD_MS = TOKEN_MS + AHEAD_MS;

/** What was shown to a visitor who tells of it. */
interface Shown {
  item: ReadyItem;
  /** The one that the visitor saw. */
  version: number;
  token: TokenCheck;
}

/** Finds what a request tells of, and checks the token that it brings; null: the site has no such item. */
export function findShown(
  { context, secret }: Engage,
  { site: { site_id: siteId } }: IngestCaller,
  name: ItemName,
  sent: { version?: number; token?: string },
): Shown | null {
  const item = siteEngage(context.table.engageItems(siteId)).byName.get(name);
  if (item === undefined) return null;
  const { version = item.version, token = '' } = sent;
  return { item, version, token: checkEngageToken(secret, { siteId, name, version }, token, context.nowMs()) };
}

/** The field for which the event of a request would be refused; null: none. */
export const problemOf = ({ context }: Engage, { key }: IngestCaller, sent: Circumstances): string | null =>
  circumstancesProblem(sent, { receivedAtMs: context.nowMs(), caller: key.caller });

/** What is told of one showing, as it is counted among the others. */
interface Told {
  token: TokenCheck;
  submissionId: string;
  visitor: SentVisitor | undefined;
}

/**
 * Why what is told of a showing proves nothing: its token is none of ours or older than a week, or came with another
 * submission before, or with more visitors than one who says who they are. What is one showing has one token and one id.
 * Null: it proves it.
 */
export async function checkToken(
  engage: Engage,
  caller: IngestCaller,
  told: Told,
  nonceHeldMs = told.token.ok ? SHOWN_NONCE_HELD_MS : SENT_NONCE_HELD_MS,
): Promise<SpamReason | null> {
  const { token } = told;
  if (!token.ok && nonceOf(token) === null) return token.code;
  const counts = await countSubmission(engage, caller, told, { nonceHeldMs });
  return counts?.tokenUsed === true ? 'token_used' : null;
}

/** Counts a submission among those before it, by its token and visitor and by what else is said to be counted. */
function countSubmission(
  { spam, secret, identitySecret }: Engage,
  caller: IngestCaller,
  { token, submissionId, visitor }: Told,
  counted: Partial<CountedSubmission>,
): Promise<SpamCounts | null> {
  const { rememberedId } = idsOf(visitor ?? {}, caller, identitySecret);
  return spam.count({
    siteId: caller.site.site_id,
    submissionId: submissionId.toLowerCase(),
    visitor: rememberedId === null ? null : digestOf(secret, `visitor\0${rememberedId}`),
    nonce: nonceOf(token),
    nonceHeldMs: SENT_NONCE_HELD_MS,
    ...{ address: null, email: null, text: null, network: null, form: null },
    ...counted,
  });
}

/** What a visitor submits, to be judged beside what came before. */
export interface Submitted extends Told {
  challenge: Proof | undefined;
  withoutScript: boolean;
}

export type NotTaken = { kind: 'later' | 'spam'; reason: SpamReason } | { kind: 'challenge'; challenge: Challenge };

/**
 * Judges what is no spam by itself beside what came before. In doubt a script is asked for a proof, and a plain form can bring
 * none.
 *
 * @param alone What it is by itself.
 * @param asksProof Whether a proof is asked for in doubt.
 */
export async function judgeBesideOthers(
  engage: Engage,
  caller: IngestCaller,
  submitted: Submitted,
  { alone, counted, asksProof }: { alone: SpamVerdict; counted: Partial<CountedSubmission>; asksProof: boolean },
): Promise<NotTaken | { kind: 'clean' }> {
  const { submissionId, challenge: proof, withoutScript } = submitted;
  const counts = await countSubmission(engage, caller, submitted, counted);
  const beside: SpamVerdict = counts === null ? { kind: 'clean' } : judgeAmongOthers(submitted, counts);
  const verdict = beside.kind === 'clean' ? alone : beside;
  if (verdict.kind !== 'doubt') return verdict;
  const nowMs = engage.context.nowMs();
  if (!asksProof || isSolved(engage.secret, submissionId, proof, nowMs)) return { kind: 'clean' };
  if (withoutScript) return { kind: 'later', reason: 'challenge_missing' };
  const challenge = makeChallenge(engage.secret, submissionId, nowMs, engage.randomBytes(CHALLENGE_BYTES));
  return { kind: 'challenge', challenge };
}

/** Counts what is not taken, and answers it. Of spam nothing is said that teaches. */
export function notTaken({ spam }: Engage, kind: EngageKind, judged: NotTaken): Answer {
  if (judged.kind === 'challenge') {
    spam.challenged();
    return { status: 200, body: { accepted: 0, challenge: judged.challenge } };
  }
  spam.found(kind, judged.reason);
  return SPAM_ANSWER;
}

/** Shorter ones are what many people write. */
const TEXT_COUNTED_FROM = 30;

/** What stands for something that is counted: nobody without the secret can tell what it is. */
export function digestOf(secret: Buffer, text: string): string {
  return hmacSha256(secret, `count\0${text}`).toString('base64url').slice(0, 22);
}

/** What stands for texts that were written together, small changes left out; null: they are too short to tell anything. */
export function textDigest(secret: Buffer, texts: readonly string[]): string | null {
  const text = readableText(texts.join('\n')).replaceAll(/\s+/g, ' ').trim();
  return text.length < TEXT_COUNTED_FROM ? null : digestOf(secret, coreOfText(text));
}

const CHALLENGE_BYTES = 16;

/** Counts each request of these routes once against the rates of its address and key, whatever becomes of it. */
interface EngageRate {
  /** Hands events to the one way in, which counts the request. */
  accept(request: HttpRequestIn, events: readonly unknown[]): Promise<Acceptance>;
  /** The answer to a request that was judged: where the ingest service has not counted it and its rate is exceeded, that it is. */
  settle(request: HttpRequestIn, answer: Answer): Promise<Answer>;
  /**
   * The answer to a request that exceeds its rate; null: it does not, or was counted before.
   *
   * @param answer What it is answered otherwise, where that is known.
   */
  refusal(request: HttpRequestIn, answer?: Answer): Promise<Answer | null>;
}

export function createEngageRate({
  ingestService,
  callerOf,
}: Pick<EdgeContext, 'ingestService' | 'callerOf'>): EngageRate {
  const counted = new WeakSet<HttpRequestIn>();
  async function refusalOf(request: HttpRequestIn, answer?: Answer): Promise<Answer | null> {
    if (counted.has(request)) return null;
    counted.add(request);
    const code = answer === undefined ? null : errorCodeOf(answer);
    const limited = await ingestService.countRefused(clientAddress(request), callerOf(request), code);
    return limited === null ? null : limitedAnswer(limited);
  }
  return {
    accept(request, events) {
      counted.add(request);
      const signs = requestSignals(request);
      const userAgent = signs.userAgent === null ? null : redactCards(signs.userAgent);
      const peer = { clientIp: clientAddress(request), ...signs, userAgent, isEngageEvent: true };
      return ingestService.accept(events, peer, callerOf(request));
    },
    settle: async (request, answer) => (await refusalOf(request, answer)) ?? answer,
    refusal: refusalOf,
  };
}
