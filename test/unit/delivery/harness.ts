import {
  BREAKER_DEFAULTS,
  type Breakers,
  createBreakers,
  createRejectionTracker,
} from '#pipelines/delivery/breaker.ts';
import { createSiteConcurrencyLimiter } from '#pipelines/delivery/concurrency.ts';
import type { Answer, HttpRequest } from '#pipelines/delivery/contract.ts';
import {
  createTokens,
  type DeliveryJob,
  type DeliveryPorts,
  type PartialSuccess,
} from '#pipelines/delivery/delivery_run.ts';
import { meta } from '#pipelines/delivery/destinations/meta/adapter.ts';
import { webhook } from '#pipelines/delivery/destinations/webhook/adapter.ts';
import { manyEntries, NOW_MS, siteOf } from './entries.ts';

export const WEBHOOK_SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

export const answered = (status: number, body: unknown, headers: Record<string, string> = {}): Answer => ({
  kind: 'answered',
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: typeof body === 'string' ? body : JSON.stringify(body),
});

export const metaJob = (changes: Partial<DeliveryJob> = {}): DeliveryJob => ({
  adapter: meta,
  destination: 'meta',
  rules: [],
  site: siteOf(),
  settings: { pixel_id: '1234567890' },
  secrets: { access_token: 'token-1' },
  baseUrl: null,
  entries: manyEntries(1),
  attempt: 1,
  nowMs: NOW_MS,
  ...changes,
});

export const webhookJob = (changes: Partial<DeliveryJob> = {}): DeliveryJob => ({
  ...metaJob(),
  adapter: webhook,
  destination: 'webhook',
  settings: { url: 'https://hooks.example/in' },
  secrets: { secret: WEBHOOK_SECRET },
  ...changes,
});

export interface Recorded extends DeliveryPorts {
  shortfalls: PartialSuccess[];
  /** Lets time pass. */
  pass(ms: number): void;
  requests: HttpRequest[];
  breakers: Breakers;
}

/** Ports whose platform is a function from a request to an answer; each call takes 10 ms of the clock. */
export function portsOf(platform: (request: HttpRequest, call: number) => Answer | Promise<Answer>): Recorded {
  let clockMs = NOW_MS;
  const nowMs = (): number => clockMs;
  const requests: HttpRequest[] = [];
  const shortfalls: PartialSuccess[] = [];
  const rejections = createRejectionTracker(10, nowMs);
  const breakers = createBreakers(BREAKER_DEFAULTS, 100, nowMs);
  return {
    requests,
    breakers,
    nowMs,
    monotonicMs: nowMs,
    breaker: breakers.of('any', 'site_1'),
    turns: createSiteConcurrencyLimiter(100),
    tokens: createTokens(10),
    stopping: () => false,
    answered: () => undefined,
    rejections: rejections.of('site_1'),
    onPartialSuccess: (shortfall) => shortfalls.push(shortfall),
    shortfalls,
    pass: (ms) => {
      clockMs += ms;
    },
    send: async (request) => {
      clockMs += 10;
      requests.push(request);
      return platform(request, requests.length);
    },
  };
}

/** The event ids in a request to Meta. */
export const metaIds = (request: HttpRequest): string[] =>
  (JSON.parse(request.body) as { data: { event_id: string }[] }).data.map((event) => event.event_id);
