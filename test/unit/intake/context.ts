import type { IntakeContext } from '#pipelines/intake/call.ts';
import { processBatch } from '#pipelines/intake/take_event.ts';
import type { Event } from '#schemas/event.ts';
import { type Site, TAG_DEFAULTS } from '#schemas/setting.ts';

export const RECEIVED_AT_MS = Date.UTC(2026, 10, 10, 12);
export const CHROME =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36';
export const RANDOM_ID = '019a6a5d-ac96-774b-bcce-b302099a8057';
export const SECRET = Buffer.alloc(32, 2);

export function siteWith(changes: Partial<Site> = {}): Site {
  return {
    site_id: 'shop',
    account_id: 'acme',
    name: 'Shop',
    mode: 'online',
    business_category: 'other',
    default_country: 'US',
    identify_events: null,
    server_only_events: [],
    clarity_project_id: null,
    gtm_container_id: null,
    tag: TAG_DEFAULTS,
    domains: [],
    loader_prefix: null,
    block_rules: [],
    event_definitions: [],
    ...changes,
  };
}

/** A browser's request from a home address. */
export function browser(changes: Partial<IntakeContext> = {}): IntakeContext {
  return {
    site: siteWith(),
    caller: 'browser',
    keyId: 'c0ffee00c0ffee00',
    receivedAtMs: RECEIVED_AT_MS,
    clientIp: '203.0.113.9',
    userAgent: CHROME,
    browserSigns: true,
    prefetch: false,
    country: 'DE',
    anonymousSalt: Buffer.alloc(32, 1),
    identitySecret: SECRET,
    randomEventId: () => RANDOM_ID,
    ...changes,
  };
}

/** A shop server's request. */
export function server(changes: Partial<IntakeContext> = {}): IntakeContext {
  return browser({
    caller: 'server',
    clientIp: '198.51.100.7',
    userAgent: 'node',
    browserSigns: false,
    country: 'US',
    ...changes,
  });
}

/** The one event as it was taken; throws when it was not. */
export function take(event: unknown, context: IntakeContext = browser()): Event {
  const batch = processBatch([event], context);
  const [taken] = batch.taken;
  if (taken === undefined) throw new Error(`not taken: ${JSON.stringify(batch)}`);
  return taken;
}

/** Why the one event was not taken, or null. */
export function refusal(event: unknown, context: IntakeContext = browser()): string | null {
  const { rejected, dropped } = processBatch([event], context);
  return rejected[0]?.code ?? dropped[0]?.reason ?? null;
}
