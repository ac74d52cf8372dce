import { type IntakeContext, takeBatch } from '#pipelines/intake/take_batch.ts';
import type { Site } from '#schemas/setting.ts';

const ROUNDS = 7;
const EVENTS_PER_ROUND = 40_000;

const site: Site = {
  site_id: 'site_bench',
  account_id: 'account_bench',
  name: 'Bench',
  mode: 'online',
  business_category: 'ecommerce_retail',
  default_country: 'US',
  identify_events: null,
  clarity_project_id: null,
  gtm_container_id: null,
  domains: [],
  block_rules: [],
  event_definitions: [],
};

const context: IntakeContext = {
  site,
  caller: 'browser',
  receivedAtMs: Date.UTC(2026, 10, 10),
  clientIp: '203.0.113.9',
  userAgent:
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36',
  browserSigns: true,
  prefetch: false,
  country: 'DE',
  anonymousSalt: Buffer.alloc(32, 1),
  identitySecret: Buffer.alloc(32, 2),
  randomEventId: () => '01890a5d-ac96-774b-bcce-b302099a8057',
};

const page = {
  url: 'https://shop.example/shoes/runner-2?utm_source=google&utm_medium=cpc&utm_campaign=spring',
  referrer: 'https://www.google.com/',
  utm_source: 'google',
  utm_medium: 'cpc',
  utm_campaign: 'spring',
  title: 'Runner 2 - Shop',
  path: '/shoes/runner-2',
  language: 'en-US',
  screen: '1920x1080',
  viewport_width: 1280,
  logged_in: false,
  variant: 'B',
};

/** Kinds of events, each given its number so that no two are equal. */
const KINDS: Record<string, (number: number) => unknown> = {
  'page view': (number) => event('page_view', number, page),
  'page view, no distinct_id': (number) => ({ ...event('page_view', number, page), distinct_id: undefined }),
  'page view, no uuid': (number) => ({ ...event('page_view', number, page), uuid: undefined }),
  'with e-mail': (number) => event('sign_up', number, { ...page, email: `jane.doe${number}@example.com` }),
  'with e-mail and phone': (number) =>
    event('purchase', number, {
      ...page,
      value: 12.5,
      currency: 'usd',
      order_id: `o-${number}`,
      email: `jane.doe${number}@gmail.com`,
      phone: `+1415555${1000 + (number % 9000)}`,
    }),
};

function event(name: string, number: number, properties: Record<string, unknown>): Record<string, unknown> {
  return {
    event: name,
    uuid: `01890a5d-ac96-774b-bcce-${String(number).padStart(12, '0')}`,
    distinct_id: `visitor-${number % 1000}`,
    timestamp: '2026-11-09T23:59:58.123Z',
    properties,
  };
}

/** Nanoseconds per event, the best of the rounds, for requests of `perRequest` events as a JSON parser gives them. */
function measure(kind: (number: number) => unknown, perRequest: number): number {
  const texts = Array.from({ length: EVENTS_PER_ROUND }, (_, number) => JSON.stringify(kind(number)));
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round += 1) {
    const requests: unknown[][] = [];
    for (let at = 0; at < texts.length; at += perRequest) {
      requests.push(texts.slice(at, at + perRequest).map((text) => JSON.parse(text) as unknown));
    }
    const started = process.hrtime.bigint();
    let taken = 0;
    for (const request of requests) taken += takeBatch(request, context).taken.length;
    const tookNs = Number(process.hrtime.bigint() - started);
    if (taken !== EVENTS_PER_ROUND) throw new Error(`took ${taken} events of ${EVENTS_PER_ROUND}`);
    best = Math.min(best, tookNs / EVENTS_PER_ROUND);
  }
  return Math.round(best);
}

for (const [name, kind] of Object.entries(KINDS)) {
  console.log(`${name.padEnd(28)} ${measure(kind, 1)} ns per event alone, ${measure(kind, 50)} ns in requests of 50`);
}
