import type { HealthItem } from '#services/control_api/destinations.ts';
import type { RejectionsItem, TagHealthItem } from '#services/control_api/operations.ts';
import type { StubApi } from './stub_api.ts';

/** A destination that does as it should, but for what a test says. */
export function healthOf(destination: string, more: Partial<HealthItem> = {}): HealthItem {
  const spread = { p50: 40, p99: 180 };
  return {
    ...{ site_id: 'shop', destination, state: 'delivering', reason: '', attempts: 100, delivered: 100, diverted: 0 },
    ...{ dead: 0, failed: 0, paused: 0, waiting: 0, skipped: {}, delivered_at: Date.now() - 60_000, failed_at: null },
    ...{ failed_reason: '', took_ms: spread, age_ms: spread },
    ...more,
  };
}

/** A tag that does as it should, but for what a test says. */
export function tagOf(more: Partial<TagHealthItem> = {}): TagHealthItem {
  return {
    ...{ site_id: 'shop', state: 'receiving', last_event_at: Date.now() - 2_000, known_since: 0 },
    ...{ last_hour: { now: 100, usual: 110 }, last_day: { now: 2_000, usual: 2_100 }, pages: [], definitions: [] },
    reported: { retried: 0, dropped: 0, rejected: 0, blocked: 0 },
    ...more,
  };
}

interface Conditions {
  health?: HealthItem[];
  tag?: TagHealthItem;
  usedThisMonth?: number;
  deadLetters?: object[];
  rejections?: RejectionsItem;
}

/** A site of which everything was accepted, but for what a test says. */
export function refusalsOf(more: Partial<RejectionsItem> = {}): RejectionsItem {
  const to = Date.now();
  return {
    ...{ site_id: 'shop', from: to - 7 * 86_400_000, to, interval: 'hour', known_since: to - 2 * 86_400_000 },
    ...{ totals: [], counts: [], samples: [] },
    ...more,
  };
}

/** What the overview looks at, all well but for what a test says. */
export function withConditions(
  api: StubApi,
  { health = [], tag = tagOf(), usedThisMonth = 10, deadLetters = [], rejections = refusalsOf() }: Conditions = {},
): StubApi {
  const account = { account_id: 'acme', name: 'Acme', monthly_allowance: 1_000_000, used_this_month: usedThisMonth };
  return api
    .on('GET', '/v1/admin/delivery-health', { items: health, as_of: Date.now() })
    .on('GET', '/v1/admin/sites/shop/tag-health', tag)
    .on('GET', '/v1/admin/sites/shop/refusals', rejections)
    .on('GET', '/v1/admin/accounts/acme', { ...account, version: 'v', changed_at: 0, changed_by: '' })
    .on('GET', '/v1/admin/dead-letters', { items: deadLetters, next: null });
}
