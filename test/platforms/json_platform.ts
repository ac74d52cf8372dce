import {
  isRecord,
  type PlatformAnswer,
  type PlatformRequest,
  type PlatformStandin,
  readJson,
  type StandinOptions,
  textOf,
} from '#services/local/platforms/standin.ts';

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
  accepted(count: number): PlatformAnswer;
  /** How the platform refuses a whole request, with the usual status of the problem. */
  refusal(status: number, message: string, problem: Problem): PlatformAnswer;
  /** How it refuses some events of a request. */
  refused(faults: Faults, count: number): PlatformAnswer;
  /** Whether it accepts the rest of such a request all the same. */
  takesOthers?: true;
  /** The header in which it says how long to wait; where it is left out it throttles with a plain 429. */
  retryHeader?: string;
  throttled?(retryAfterS: number | null): PlatformAnswer;
  /** Requests that are not for events, such as for a token; null for any other. */
  aside?(request: PlatformRequest, nowMs: number): { scope: string; answer: PlatformAnswer } | null;
}

/** What can be wrong with a request as a whole, and the status that usually says so. */
const PROBLEMS = {
  path: [404, 'no such path'],
  account: [404, 'no such account'],
  token: [401, 'the token is not valid'],
  form: [400, 'the request is malformed'],
  size: [413, 'too large'],
  throttle: [429, 'too many requests'],
} as const;
export type Problem = keyof typeof PROBLEMS;

function refuse({ refusal }: JsonPlatform, problem: Problem, detail?: string): PlatformAnswer {
  const [status, message] = PROBLEMS[problem];
  return refusal(status, detail ?? message, problem);
}

/** Events that the platform knows by a name and an id, each in a field. */
export function byNameAndId(nameField: string, idField: string): JsonPlatform['identify'] {
  return (event) => {
    const [name, id] = [textOf(event[nameField]), textOf(event[idField])];
    return { key: [name, id], id, name };
  };
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

function accessProblem(accounts: StandinOptions['accounts'], scope: string, token: string | null): Problem | null {
  if (token === null || token === '') return 'token';
  if (accounts === null || accounts === undefined) return null;
  const tokens = accounts[scope];
  if (tokens === undefined) return 'account';
  return tokens.includes(token) ? null : 'token';
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
  const aside = platform.aside?.(asked, nowMs) ?? null;
  if (aside !== null) return aside.answer;
  const request = read(platform, asked);
  if (asked.method !== 'POST' || !platform.path.test(request.url.pathname)) return refuse(platform, 'path');
  const problem = accessProblem(options.accounts, request.scope, platform.tokenOf(request));
  if (problem !== null) return refuse(platform, problem);
  const events = platform.eventsOf(request);
  if (Buffer.byteLength(asked.body) > platform.bytesMax) return refuse(platform, 'size');
  if (events === null || events.length === 0) return refuse(platform, 'form', 'there are no events');
  if (events.length > platform.eventsMax) return refuse(platform, 'form', 'there are too many events');
  const faults = faultsOf(platform, options, request, events, nowMs);
  if (faults.size === 0) return accept(platform, request, events, platform.accepted(events.length), nowMs);
  const good = platform.takesOthers === true ? events.filter((_, place) => !faults.has(place)) : [];
  return accept(platform, request, good, platform.refused(faults, events.length), nowMs);
}

function throttleOf(platform: JsonPlatform): Pick<JsonPlatform, 'throttled'> {
  const { retryHeader, throttled } = platform;
  if (throttled !== undefined) return { throttled };
  if (retryHeader === undefined) return {};
  const headers = (seconds: number | null): Record<string, string> =>
    seconds === null ? {} : { [retryHeader]: String(seconds) };
  return { throttled: (seconds) => ({ ...refuse(platform, 'throttle'), headers: headers(seconds) }) };
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
    ...throttleOf(platform),
  });
