import {
  isRecord,
  type PlatformAnswer,
  type PlatformRequest,
  readJson,
} from '#services/local/platforms/acceptance_ledger.ts';
import type { PlatformStandin, StandinOptions } from '#services/local/platforms/standin.ts';

/** A request as a JSON platform sees it. */
export interface JsonRequest {
  request: PlatformRequest;
  url: URL;
  /** The account the path names. */
  scope: string;
  body: Record<string, unknown>;
}

/** An event by which the platform knows a repetition, and by which tests know it. */
interface EventIdentity {
  /** Parts of the key beside the scope. */
  key: readonly string[];
  id: string;
  name: string;
}

/** Why the platform refuses events, by their place in the request. */
export type Faults = ReadonlyMap<number, string>;

/** A platform that takes lists of events as JSON, told by what it checks and how it answers. */
export interface JsonPlatform {
  keyWindowMs: number;
  /** The path events are posted to; its first group is the account. */
  path: RegExp;
  /** The account, where the path does not name it. */
  scopeOf?(url: URL, body: Record<string, unknown>): string;
  tokenOf(request: JsonRequest): string | null;
  /** The events of a request; null where its form is not the platform's. */
  eventsOf(request: JsonRequest): readonly unknown[] | null;
  eventsMax: number;
  bytesMax: number;
  /** Why the platform refuses an event; null when it does not. */
  eventFault(event: Record<string, unknown>, request: JsonRequest, nowMs: number): string | null;
  identify(event: Record<string, unknown>, request: JsonRequest): EventIdentity;
  answers: {
    accepted(count: number): PlatformAnswer;
    unknownPath(): PlatformAnswer;
    unknownAccount(): PlatformAnswer;
    badToken(): PlatformAnswer;
    /** Something is wrong with the request as a whole. */
    malformed(what: string): PlatformAnswer;
    oversize(): PlatformAnswer;
    /** Some events are refused. `takesOthers`: the rest of the request is accepted all the same. */
    refused(faults: Faults, count: number): PlatformAnswer & { takesOthers: boolean };
    throttled?(retryAfterS: number | null): PlatformAnswer;
  };
  /** Requests that are not for events, such as for a token; null for any other. */
  aside?(request: PlatformRequest, nowMs: number): { scope: string; answer: PlatformAnswer } | null;
}

/** An answer with a JSON body. */
export const jsonAnswer = (status: number, body: unknown, headers: Record<string, string> = {}): PlatformAnswer => ({
  status,
  headers,
  body: JSON.stringify(body),
});

/** The token of an `Authorization: Bearer` header. */
export function bearerToken({ request }: JsonRequest): string | null {
  return /^Bearer (\S+)$/.exec(request.headers['authorization'] ?? '')?.[1] ?? null;
}

function read(platform: JsonPlatform, request: PlatformRequest): JsonRequest {
  const url = new URL(request.path, 'http://standin');
  const value = readJson(request.body);
  const body = isRecord(value) ? value : {};
  const scope = platform.scopeOf?.(url, body) ?? platform.path.exec(url.pathname)?.[1] ?? '';
  return { request, url, scope, body };
}

function accessFault(
  { answers }: JsonPlatform,
  accounts: StandinOptions['accounts'],
  scope: string,
  token: string | null,
): PlatformAnswer | null {
  if (token === null || token === '') return answers.badToken();
  if (accounts === null || accounts === undefined) return null;
  const tokens = accounts[scope];
  if (tokens === undefined) return answers.unknownAccount();
  return tokens.includes(token) ? null : answers.badToken();
}

function faultsOf(
  platform: JsonPlatform,
  options: StandinOptions,
  request: JsonRequest,
  events: readonly unknown[],
  nowMs: number,
): Faults {
  return new Map(
    events.flatMap((event, place): [number, string][] => {
      if (!isRecord(event)) return [[place, 'not an object']];
      const isTold = options.refusedIds?.has(platform.identify(event, request).id) === true;
      const fault = isTold ? 'as told' : platform.eventFault(event, request, nowMs);
      return fault === null ? [] : [[place, fault]];
    }),
  );
}

function accept(
  platform: JsonPlatform,
  request: JsonRequest,
  events: readonly unknown[],
  answer: PlatformAnswer,
  nowMs: number,
): PlatformAnswer {
  const accepted = events.filter(isRecord).map((event) => {
    const { key, id, name } = platform.identify(event, request);
    const { scope } = request;
    return { key: JSON.stringify([scope, ...key]), event_id: id, event_name: name, scope, at: nowMs };
  });
  return { ...answer, accepted };
}

function answer(
  platform: JsonPlatform,
  options: StandinOptions,
  asked: PlatformRequest,
  nowMs: number,
): PlatformAnswer {
  const { answers } = platform;
  const aside = platform.aside?.(asked, nowMs) ?? null;
  if (aside !== null) return aside.answer;
  const request = read(platform, asked);
  if (asked.method !== 'POST' || !platform.path.test(request.url.pathname)) return answers.unknownPath();
  const refused = accessFault(platform, options.accounts, request.scope, platform.tokenOf(request));
  if (refused !== null) return refused;
  const events = platform.eventsOf(request);
  if (Buffer.byteLength(asked.body) > platform.bytesMax) return answers.oversize();
  if (events === null || events.length === 0) return answers.malformed('there are no events');
  if (events.length > platform.eventsMax) return answers.malformed('there are too many events');
  const faults = faultsOf(platform, options, request, events, nowMs);
  if (faults.size === 0) return accept(platform, request, events, answers.accepted(events.length), nowMs);
  const { takesOthers, ...refusal } = answers.refused(faults, events.length);
  const good = takesOthers ? events.filter((_, place) => !faults.has(place)) : [];
  return accept(platform, request, good, refusal, nowMs);
}

/** A stand-in for a platform that takes lists of events as JSON. */
export const jsonStandin =
  (platform: JsonPlatform): PlatformStandin =>
  (options) => ({
    keyWindowMs: platform.keyWindowMs,
    scopeOf: (asked) => {
      const aside = platform.aside?.(asked, 0) ?? null;
      if (aside !== null) return { scope: aside.scope, token: null };
      const request = read(platform, asked);
      return { scope: request.scope, token: platform.tokenOf(request) };
    },
    answer: (request, nowMs) => answer(platform, options, request, nowMs),
    ...(platform.answers.throttled === undefined ? {} : { throttled: platform.answers.throttled }),
  });
