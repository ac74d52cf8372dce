import { createHmac, timingSafeEqual } from 'node:crypto';
import {
  type Acceptance,
  isRecord,
  type PlatformAnswer,
  type PlatformRequest,
  type PlatformStandin,
  readJson,
  type StandinOptions,
} from './standin.ts';

/** Secret by path; at a path without one, signatures are checked for their form only. */
export type WebhookSecrets = Readonly<Record<string, string>>;

/** Standard Webhooks advises to refuse timestamps further off than this, against replayed requests. */
const TOLERANCE_S = 300;
const SIGNATURE = /^v1,[A-Za-z0-9+/]{43}=$/;

const pathOf = (request: PlatformRequest): string => new URL(request.path, 'http://standin').pathname;

function isSigned(request: PlatformRequest, id: string, timestamp: string, secret: string | undefined): boolean {
  const signatures = (request.headers['webhook-signature'] ?? '').split(' ');
  if (!signatures.every((signature) => SIGNATURE.test(signature))) return false;
  if (secret === undefined) return true;
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const expected = Buffer.from(
    `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${request.body}`).digest('base64')}`,
  );
  return signatures.some((signature) => timingSafeEqual(Buffer.from(signature), expected));
}

/** One message or a list of them; each is known by its own id, and a single one by the request's, which is the same. */
function acceptances(body: unknown, webhookId: string, scope: string, at: number): Acceptance[] | null {
  if (!isRecord(body)) return null;
  // Of no event; a receiver deletes what it has kept.
  if (body['type'] === 'person.erased') return [];
  const isList = Array.isArray(body['data']);
  const messages: unknown[] = isList ? (body['data'] as unknown[]) : [body];
  const read = messages.map((message): Acceptance | null => {
    const data = isRecord(message) ? message['data'] : null;
    if (!isRecord(message) || !isRecord(data) || typeof data['event_id'] !== 'string') return null;
    const id = isList ? String(message['id']) : webhookId;
    const key = JSON.stringify([scope, id]);
    return { key, event_id: data['event_id'], event_name: String(data['event']), scope, at };
  });
  return read.includes(null) ? null : read.filter((one) => one !== null);
}

function answer(
  secrets: WebhookSecrets,
  options: StandinOptions,
  request: PlatformRequest,
  nowMs: number,
): PlatformAnswer {
  if (request.method !== 'POST') return { status: 405, body: '' };
  const id = request.headers['webhook-id'] ?? '';
  const timestamp = request.headers['webhook-timestamp'] ?? '';
  const scope = pathOf(request);
  if (id === '' || !/^\d{1,12}$/.test(timestamp)) return { status: 401, body: 'headers are missing' };
  if (Math.abs(nowMs / 1000 - Number(timestamp)) > TOLERANCE_S)
    return { status: 401, body: 'timestamp is too far off' };
  if (!isSigned(request, id, timestamp, secrets[scope])) return { status: 401, body: 'no signature matches' };
  const accepted = acceptances(readJson(request.body), id, scope, nowMs);
  if (accepted === null) return { status: 400, body: 'not a message' };
  const isRefused = accepted.some((one) => options.refusedIds?.has(one.event_id) === true);
  return isRefused ? { status: 422, body: 'as told' } : { status: 204, body: '', accepted };
}

/** A stand-in for a customer's receiver of Standard Webhooks, with its secrets; it takes messages at any path. */
export const webhookStandin =
  (secrets: WebhookSecrets): PlatformStandin =>
  (options) => ({
    keyWindowMs: Number.POSITIVE_INFINITY,
    scopeOf: (request) => ({ scope: pathOf(request), token: null }),
    answer: (request, nowMs) => answer(secrets, options, request, nowMs),
  });

/** The same where no secret is known. */
export const standin: PlatformStandin = webhookStandin({});
