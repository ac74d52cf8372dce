// Routes of another product's protocol: finds the key in small bodies first, maps calls to events, answers as that
// product does.

import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  clientAddress,
  type HttpReply,
  type HttpRequestIn,
  type HttpServer,
  sentQuery,
} from '#infra/http/http_server.ts';
import { type Arrival, CALL_PROBLEMS, type MappedCall } from '#pipelines/intake/compat/mapped_call.ts';
import {
  type JsonOutline,
  type JsonOutlineRead,
  JsonScanner,
  type JsonSpan,
  type KeyPlaces,
  LIST,
  withoutByteOrderMark,
} from '#pipelines/intake/json_text.ts';
import type { Rejection, Yielder } from '#pipelines/intake/take_event.ts';
import type { Limited } from '#pipelines/quota/limits.ts';
import { checkKey, type KeyCheck } from '#pipelines/settings/callers.ts';
import type { Caller } from '#schemas/event.ts';
import { checkCaller, pageOrigin, requestSignals } from '../auth.ts';
import { type Decoded, type DecodeProblem, decoded, decompress, parseJson, reserveGrowth, sentBytes } from '../body.ts';
import { type EdgeContext, eventScope, type RequestHook } from '../edge_context.ts';
import { type Answer, type EdgeErrorCode, limitedHeaders, PayloadError, retryAfterOf, sendAnswer } from '../errors.ts';
import { type Acceptance, asksForHistory, type IngestCaller, openTimeSlices } from '../ingest_service.ts';

/**
 * The routes of a foreign protocol, on the same path as our own. A key in a header or in the query is checked before the
 * body is read; one that is in the body is looked for before anything is parsed, in no more than so small a body may become.
 */
export function mountProtocol(app: HttpServer, protocol: CompatProtocol, context: EdgeContext): void {
  const bodies: [string, number] = ['*', protocol.bodyBytesMax];
  const shaped = (code: EdgeErrorCode): Answer => refused(protocol, code);
  const counted = (request: HttpRequestIn, code: EdgeErrorCode) => refusedCounted(protocol, context, request, code);
  eventScope(app, context, { bodies, shaped, refused: counted }, (scope) => {
    const onRequest: RequestHook = (request, reply, goOn) => {
      const check = checkHeaders(protocol, context, request);
      if (!check.ok && check.code !== 'key_missing') {
        context.noteRefused(request, check);
        sendAnswer(reply, refused(protocol, check.code));
        return;
      }
      if (check.ok) context.markKnown(request, check);
      const address = clientAddress(request);
      const known = check.ok
        ? context.ingestService.limited(address, check)
        : context.anonymousLimiter.limited(address);
      if (known === null) goOn();
      else sendAnswer(reply, limitedIn(protocol, known));
    };
    const handle = async (request: HttpRequestIn, reply: HttpReply): Promise<HttpReply> =>
      sendAnswer(reply, await answerCalls(protocol, context, request));
    for (const path of protocol.paths) scope.post(path, { onRequest }, handle);
  });
}

function refused(protocol: CompatProtocol, code: EdgeErrorCode): Answer {
  const answer = protocol.refused(code, []);
  return { ...answer, ...retryAfterOf(answer.status) };
}

function limitedIn(protocol: CompatProtocol, limited: Limited): Answer {
  return { ...protocol.refused('rate_limited', []), ...limitedHeaders(limited) };
}

/** Refuses a request for its content, unless its caller's rate is exceeded: it counts all the same. */
async function refusedCounted(
  protocol: CompatProtocol,
  { ingestService, knownCaller }: EdgeContext,
  request: HttpRequestIn,
  code: EdgeErrorCode,
): Promise<Answer> {
  const caller = knownCaller(request);
  const limited = caller && (await ingestService.countRefused(clientAddress(request), caller, code));
  return limited ? limitedIn(protocol, limited) : refused(protocol, code);
}

function checkHeaders(protocol: CompatProtocol, context: EdgeContext, request: HttpRequestIn): KeyCheck {
  const key = protocol.keyOfHeaders(request.headers.authorization);
  if (key === null) return checkCaller(context.table, request, context.nowMs());
  return checkKey(context.table, key, pageOrigin(request), context.nowMs());
}

async function answerCalls(protocol: CompatProtocol, context: EdgeContext, request: HttpRequestIn): Promise<Answer> {
  const isKnown = context.knownCaller(request) !== undefined;
  const text = await readText(protocol, request, isKnown);
  if (!text.ok) {
    if (isKnown) throw new PayloadError(text.code);
    return refuseAnonymous(protocol, context, request, TOLD_TO_ANONYMOUS.has(text.code) ? text.code : 'key_missing');
  }
  if (!isKnown) {
    const check = checkKey(context.table, text.value.outline.key, pageOrigin(request), context.nowMs());
    if (!check.ok) {
      context.noteRefused(request, check);
      return refuseAnonymous(protocol, context, request, check.code);
    }
    context.markKnown(request, check);
  }
  const caller = context.callerOf(request);
  context.onKeyUsed(caller.key.key_hash);
  const body = await parseBodyText(text.value);
  const path = request.routeOptions.url ?? '';
  const read = protocol.read(path, body, request.query as Record<string, unknown>);
  if (read.calls.length > protocol.callsMax) throw new PayloadError('calls_too_many');
  return takeCalls(protocol, context, request, caller, read);
}

/** Whose body cannot be read has shown no key; these reasons why it cannot be looked for one are said all the same. */
const TOLD_TO_ANONYMOUS: ReadonlySet<EdgeErrorCode> = new Set([
  'body_too_large',
  'body_too_complex',
  'compression_unsupported',
]);

function refuseAnonymous(
  protocol: CompatProtocol,
  { anonymousLimiter }: EdgeContext,
  request: HttpRequestIn,
  code: EdgeErrorCode,
): Answer {
  anonymousLimiter.record(clientAddress(request));
  return refused(protocol, code);
}

async function readText(
  protocol: CompatProtocol,
  request: HttpRequestIn,
  isKnown: boolean,
): Promise<BodyRead<BodyText>> {
  if (isLz64(sentQuery(request))) return { ok: false, code: 'compression_unsupported' };
  const bytes = sentBytes(request);
  const bytesMax = isKnown ? protocol.bodyBytesMax : anonymousBytesMax(bytes.length, protocol.bodyBytesMax);
  return readBodyText(request, protocol.keyPlaces, bytesMax);
}

async function takeCalls(
  protocol: CompatProtocol,
  context: EdgeContext,
  request: HttpRequestIn,
  caller: IngestCaller,
  read: ProtocolRequest,
): Promise<Answer> {
  const isHistorical = asksForHistory(read.historical, caller);
  const mapped = await mapCalls(read, caller.key.caller, context.nowMs(), isHistorical, openTimeSlices());
  const peer = { clientIp: clientAddress(request), isCrossOrigin: true, isHistorical, ...requestSignals(request) };
  const source = { calls: read.calls, origins: mapped.origins, rejected: mapped.rejected };
  const accepted = await context.ingestService.accept(mapped.events, peer, caller, source);
  if (!accepted.ok) {
    return accepted.code === 'rate_limited' ? limitedIn(protocol, accepted.limited) : refused(protocol, accepted.code);
  }
  const { rate } = accepted;
  const rejected = accepted.rejected.map((one) => ({ ...one, index: mapped.origins[one.index] ?? -1 }));
  const calls = [...mapped.rejected, ...rejected];
  const refusedCalls = new Set(calls.map(({ index }) => index)).size;
  const isRefused = refusedCalls === read.calls.length;
  return {
    ...(isRefused ? protocol.refused('events_rejected', calls) : protocol.accepted(accepted, peer.userAgent)),
    rate,
  };
}

interface MappedCalls {
  events: unknown[];
  /** The call that each event came of. */
  origins: number[];
  rejected: RefusedCall[];
}

/** Foreign calls become events in several turns: their names are copied, which costs as much as looking at them. */
async function mapCalls(
  { calls, sentAtMs, map }: ProtocolRequest,
  caller: Caller,
  receivedAtMs: number,
  isHistorical: boolean,
  turns: Yielder,
): Promise<MappedCalls> {
  const mapped: MappedCalls = { events: [], origins: [], rejected: [] };
  for (const [index, call] of calls.entries()) {
    if (turns.isOver()) await turns.next();
    const outcome = map(call, { caller, receivedAtMs, sentAtMs, isHistorical });
    if (outcome.ok) {
      mapped.events.push(outcome.event);
      mapped.origins.push(index);
    } else mapped.rejected.push({ index, code: outcome.code, message: CALL_PROBLEMS[outcome.code] });
  }
  return mapped;
}

/** A call of a foreign request that was not taken, by its place in the request. */
export type RefusedCall = Omit<Rejection, 'code'> & { code: string };

/** What became of the events of a request that were sound. */
export type Stored = Pick<Extract<Acceptance, { ok: true }>, 'accepted' | 'dropped'>;

export type ProtocolAnswer = Pick<Answer, 'status' | 'body'>;

/** What a request of a foreign protocol holds, before its calls are looked at. */
export interface ProtocolRequest {
  calls: readonly unknown[];
  sentAtMs: number | null;
  /** What it says of whether its calls are of the past, as it was sent; absent where its protocol has no word for it. */
  historical?: unknown;
  map(call: unknown, arrival: Arrival): MappedCall;
}

/** A foreign protocol: where its key is, how its calls become events, and how it says yes and no. */
export interface CompatProtocol {
  paths: readonly string[];
  /** Bytes of a body at the most, compressed and not. */
  bodyBytesMax: number;
  callsMax: number;
  /** The key in the Authorization header, where the protocol has it there. */
  keyOfHeaders(authorization: string | undefined): string | null;
  /** Where the key is in the body; of a list of calls, in its first. */
  keyPlaces: KeyPlaces;
  /** Throws PayloadError where it holds no calls. */
  read(path: string, body: unknown, query: Readonly<Record<string, unknown>>): ProtocolRequest;
  /** What is said of a request of which something was taken, or had nothing wrong with it. */
  accepted(stored: Stored, userAgent: string | null): ProtocolAnswer;
  /** An error in the shape the protocol's clients understand. */
  refused(code: EdgeErrorCode, calls: readonly RefusedCall[]): ProtocolAnswer;
}

const GZIP_START = Buffer.from([0x1f, 0x8b]);
const FORM_START = Buffer.from('data=');
/** Form fields come from beacons, which a browser limits to 64 KiB. */
const FORM_BYTES_MAX = 512 * 1024;

/**
 * What the body of an anonymous caller may become, however small it was sent: batches of events shrink to a tenth, seldom to
 * less than a fortieth.
 */
const ANONYMOUS_BYTES = 256 * 1024;
const ANONYMOUS_GROWTH_MAX = 64;

/** Bytes that are looked through for the key of somebody who has sent so many; no more than all may send. */
function anonymousBytesMax(sentBytes: number, bytesMax: number): number {
  return Math.min(bytesMax, Math.max(ANONYMOUS_BYTES, ANONYMOUS_GROWTH_MAX * sentBytes));
}

/** A body as text, of which the key and the bounds of the calls are known. */
interface BodyText {
  text: Buffer;
  outline: JsonOutline;
}

type BodyProblem = DecodeProblem | 'body_too_complex' | 'compression_unsupported';
type BodyRead<T> = { ok: true; value: T } | { ok: false; code: BodyProblem };

/**
 * Reads a body by what it is, not by what its type says: foreign clients call gzip and JSON form data, and send base64
 * in a form field. Nothing is parsed. Every step is bounded by `bytesMax`, and none holds the process for long. Throws PayloadError
 * where the request may not hold what it has become.
 */
export async function readBodyText(
  request: HttpRequestIn,
  places: KeyPlaces,
  bytesMax: number,
): Promise<BodyRead<BodyText>> {
  const plain = plainText(sentBytes(request), request.headers['content-encoding'], bytesMax);
  if (!plain.ok) return plain;
  reserveGrowth(request, plain.value);
  const text = withoutByteOrderMark(plain.value);
  const read = await outlineOf(text, places);
  if (read.ok) return { ok: true, value: { text, outline: read.outline } };
  return { ok: false, code: read.problem === 'not_json' ? 'body_not_json' : 'body_too_complex' };
}

/** What PostHog's older browser libraries sent: a packing of their own, whose texts unpack to any size. */
const LZ64 = /(?:^|&)compression=lz64(?:&|$)/;

/** Whether a query, or a form, says that its events are packed by lz-string. */
const isLz64 = (form: string): boolean => LZ64.test(form);

function plainText(bytes: Buffer, contentEncoding: string | undefined, bytesMax: number): BodyRead<Buffer> {
  const sent = decompress(bytes, contentEncoding, bytesMax);
  const plain = sent.ok ? unzipped(sent.value, bytesMax) : sent;
  if (!plain.ok || !startsWith(plain.value, FORM_START)) return plain;
  if (plain.value.length > FORM_BYTES_MAX) return { ok: false, code: 'body_too_large' };
  if (isLz64(plain.value.toString('latin1'))) return { ok: false, code: 'compression_unsupported' };
  const field = formField(plain.value);
  return field === null ? { ok: false, code: 'body_undecodable' } : unzipped(field, bytesMax);
}

function unzipped(bytes: Buffer, bytesMax: number): Decoded<Buffer> {
  return startsWith(bytes, GZIP_START) ? decompress(bytes, 'gzip', bytesMax) : { ok: true, value: bytes };
}

/** The field `data`: base64, or JSON as it is. */
function formField(bytes: Buffer): Buffer | null {
  const [field = ''] = bytes.toString('latin1', FORM_START.length).split('&', 1);
  try {
    const text = decodeURIComponent(field.replaceAll('+', '%20'));
    if (/^\s*[[{]/.test(text)) return Buffer.from(text, 'utf8');
    return Buffer.from(text.replaceAll(' ', '+'), 'base64');
  } catch {
    // What the decoder says of an error quotes the text.
    return null;
  }
}

function startsWith(bytes: Buffer, start: Buffer): boolean {
  return bytes.subarray(0, start.length).equals(start);
}

/** Looked at between two turns of the process: about a millisecond's work. */
const STEP_BYTES = 256 * 1024;

async function outlineOf(text: Buffer, places: KeyPlaces): Promise<JsonOutlineRead> {
  const reader = new JsonScanner(text, places);
  for (;;) {
    const read = reader.step(STEP_BYTES);
    if (read !== null) return read;
    await nextTurn();
  }
}

/** A text up to this size is parsed at once, whatever it holds: less than 50 ms, as is a larger piece of fewer values. */
const PARSED_BYTES_MAX = 256 * 1024;
const PIECE_BYTES_MAX = 1024 * 1024;
const PIECE_VALUES_MAX = 20_000;
/** Pieces are parsed together up to this size. */
const TOGETHER_BYTES = 128 * 1024;

/** Parses a text, a large one call by call, with other work done in between. Throws PayloadError. */
async function parseBodyText({ text, outline }: BodyText): Promise<unknown> {
  const { members, values } = outline;
  const [first] = members ?? [];
  const last = members?.at(-1);
  const isWhole = text.length <= PARSED_BYTES_MAX || first === undefined || last === undefined;
  const around = isWhole ? text : Buffer.concat([text.subarray(0, first.start), text.subarray(last.end)]);
  const calls = isWhole ? [] : (members ?? []);
  const inside = calls.reduce((sum, member) => sum + member.values, 0);
  if (!calls.every(isParsable) || !isParsable({ start: 0, end: around.length, values: values - inside })) {
    throw new PayloadError('body_too_complex');
  }
  const body = decoded(parseJson(around));
  if (isWhole) return body;
  const parsed = await parseMembers(text, calls);
  return Array.isArray(body) ? parsed : { ...(body as object), [LIST]: parsed };
}

function isParsable({ start, end, values }: JsonSpan): boolean {
  const bytes = end - start;
  return bytes <= PARSED_BYTES_MAX || (bytes <= PIECE_BYTES_MAX && values <= PIECE_VALUES_MAX);
}

async function parseMembers(text: Buffer, members: readonly JsonSpan[]): Promise<unknown[]> {
  const calls: unknown[] = [];
  for (let at = 0; at < members.length; ) {
    const start = members[at]?.start ?? 0;
    let end = members[at++]?.end ?? 0;
    for (; at < members.length && (members[at]?.end ?? 0) - start <= TOGETHER_BYTES; at++) end = members[at]?.end ?? 0;
    const some = decoded(parseJson(Buffer.concat([OPEN, text.subarray(start, end), CLOSE])));
    for (const call of some as unknown[]) calls.push(call);
    await nextTurn();
  }
  return calls;
}

const OPEN = Buffer.from('[');
const CLOSE = Buffer.from(']');
