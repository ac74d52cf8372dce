import { DESTINATIONS } from '#pipelines/delivery/registry.ts';
import type { AttemptItem, HealthItem } from '#services/control_api/destinations.ts';
import type { DeadLetterDetails, DeadLetterItem, ReplayItem } from '#services/control_api/redelivery.ts';
import type { KeyItem } from '#services/control_api/sites.ts';
import { DEAD_LETTER_FILTERS } from '#services/dashboard/src/pages/dead_letters/dead_letter_groups.ts';
import { refusal, type StubApi } from './stub_api.ts';

const HOUR_MS = 3_600_000;
const META = { version: 'v1', changed_at: 1_700_000_000_000, changed_by: 'ana' };

/** What a stranger may have written where it is shown. */
export const CANARY = '<img src=x onerror="document.title=1">';

const HEALTH: HealthItem = {
  ...{ site_id: 'shop', destination: 'webhook', state: 'delivering', reason: '', attempts: 4_812, delivered: 4_812 },
  ...{
    diverted: 0,
    dead: 0,
    failed: 0,
    paused: 0,
    waiting: 0,
    skipped: { not_in_destinations: 120, consent_denied: 40 },
  },
  ...{ delivered_at: Date.now() - 4_000, failed_at: null, failed_reason: '' },
  ...{ took_ms: { p50: 41, p99: 230 }, age_ms: { p50: 380, p99: 1_900 } },
};

const ATTEMPT: AttemptItem = {
  ...{ event_id: 'e-1', event: CANARY, attempt: 2, attempted_at: Date.now() - 60_000, outcome: 'diverted' },
  ...{ reason: 'http_503', took_ms: 210, answer: { status: 503, body: CANARY } },
};

/** Destinations of a shop, of which one fails and one waits for its credentials. */
export function withDestinations(api: StubApi): StubApi {
  const items = ['webhook', 'meta', 'ga4'].map((name) => ({
    ...{
      site_id: 'shop',
      name,
      kind: name,
      enabled: true,
      secrets: name === 'webhook' ? ['secret'] : ['access_token'],
    },
    ...{ settings: name === 'webhook' ? { url: 'https://hooks.shop.example/in' } : { pixel_id: '1234567890' } },
    ...{ rules: [], ...META },
  }));
  const failed = { failed_at: Date.now() - 30_000, failed_reason: 'http_503' };
  return api
    .on('GET', '/v1/admin/destination-kinds', {
      items: DESTINATIONS.map(({ name, title, schema }) => ({ name, title, schema })),
    })
    .on('GET', '/v1/admin/destinations', { items, next: null })
    .on('GET', /\/destinations\/meta\/attempts$/, { items: [ATTEMPT], as_of: Date.now() })
    .on('GET', '/v1/admin/delivery-health', {
      items: [
        HEALTH,
        {
          ...HEALTH,
          destination: 'meta',
          state: 'failing',
          reason: 'http_503',
          waiting: 812,
          dead: 3,
          failed: 2,
          ...failed,
        },
        {
          ...HEALTH,
          destination: 'ga4',
          state: 'waits_for_settings',
          reason: `secret ${CANARY}`,
          delivered: 0,
          ...failed,
        },
      ],
    });
}

const REFUSED = { event: { event_id: 'e-1', event: CANARY }, delivery: 'dead' } as const;

function deadLetterOf(offset: number, change: Partial<DeadLetterItem> = {}): DeadLetterItem {
  return {
    ...{
      id: `warehouse-0-${offset}`,
      stage: 'warehouse',
      destination: null,
      reason: 'transform_failed',
      detail: `Error ${CANARY}`,
    },
    ...{ topic: 'events.identified', partition: 0, offset, index: 0, died_at: Date.now() - offset * HOUR_MS },
    ...{ bytes_total: 812, cut: false, resendable: true, resent_at: null, resolved: null, events: 1 },
    ...{ site_ids: ['shop'], event: { event_id: `event-${offset}`, event: 'page_view' }, delivery: null },
    ...change,
  };
}

function isAskedFor(deadLetter: DeadLetterItem, query: URLSearchParams): boolean {
  const is = (name: string, ...given: (string | null)[]): boolean =>
    !query.has(name) || given.includes(query.get(name));
  const state = DEAD_LETTER_FILTERS.find(({ value }) => value === query.get('state'));
  return (
    (state?.takes(deadLetter) ?? true) &&
    is('stage', deadLetter.stage) &&
    is('destination', deadLetter.destination) &&
    is('site_id', ...deadLetter.site_ids) &&
    deadLetter.died_at >= Number(query.get('since') ?? 0)
  );
}

/** Dead letters of two reasons; those that are sent in again say so. */
export function withDeadLetters(api: StubApi): StubApi {
  const resent = new Set<string>();
  const all = (): DeadLetterItem[] => [
    ...Array.from({ length: 24 }, (_, at) => deadLetterOf(at * 5 + 1)),
    ...Array.from({ length: 6 }, (_, at) =>
      deadLetterOf(at * 9, {
        id: `identity-1-${at}`,
        stage: 'identity',
        reason: CANARY,
        resendable: false,
        events: null,
      }),
    ),
    deadLetterOf(2, {
      ...{ id: 'delivery-0-2', stage: 'delivery', destination: 'meta', reason: 'http_400' },
      ...REFUSED,
    }),
  ];
  const items = (): DeadLetterItem[] =>
    all().map((one) => ({ ...one, resent_at: resent.has(one.id) ? Date.now() : one.resent_at }));
  return api
    .on('GET', '/v1/admin/dead-letters', (_body, url) => ({
      items: items().filter((one) => isAskedFor(one, url.searchParams)),
      next: null,
    }))
    .on('POST', '/v1/admin/dead-letters/resend', (body) => {
      const { ids } = body as { ids: string[] };
      for (const id of ids) resent.add(id);
      return { items: ids.map((id) => ({ id, outcome: 'resent' })) };
    })
    .on('GET', /\/dead-letters\/\w+-\d+-\d+$/, (_body, url) => {
      const deadLetter = items().find(({ id }) => url.pathname.endsWith(`/${id}`));
      if (deadLetter === undefined) return refusal(404, 'dead_letter_unknown');
      const content = { site_id: 'shop', event_id: 'e-1', distinct_id: CANARY, received_at: deadLetter.died_at };
      const contents = deadLetter.resendable ? [{ ...content, event: 'page_view' }] : null;
      const attempts = deadLetter.stage === 'delivery' ? [ATTEMPT] : null;
      const details: DeadLetterDetails = { ...deadLetter, sha256: 'ab'.repeat(32), contents, attempts };
      return details;
    });
}

/** Replays: counting is done at the second look. */
export function withReplays(api: StubApi): StubApi {
  const replays: ReplayItem[] = [];
  return withDestinations(api)
    .on('GET', '/v1/admin/replays', () => ({ items: replays, next: null }))
    .on('POST', '/v1/admin/replays', (body) => {
      const asked = body as Partial<ReplayItem>;
      const replay: ReplayItem = {
        ...{
          replay_id: `r${replays.length + 1}`,
          destination: 'meta',
          site_id: null,
          source: 'events',
          from: 0,
          to: 1,
        },
        ...{ rate: 500, dry_run: false, force: false, wanted: 'running', created_at: Date.now(), state: 'counting' },
        ...{
          detail: '',
          share_read: 0.4,
          seen: 900,
          delivered: 88,
          pending: 0,
          unreadable: 0,
          chosen: 812,
          skipped_before: 12,
          to_send: null,
          found: null,
        },
        ...{ estimate_ms: null, not_reached: 0, started_at: Date.now(), updated_at: Date.now(), ...META, ...asked },
      };
      replays.push(replay);
      return { status: 201, body: replay };
    })
    .on('GET', /\/replays\/r\d+$/, (_body, url) => {
      const replay = replays.find(({ replay_id }) => url.pathname.endsWith(replay_id));
      if (replay === undefined) return refusal(404, 'replay_unknown');
      const before = { ...replay };
      if (replay.dry_run) Object.assign(replay, { state: 'done', share_read: 1, to_send: 812, estimate_ms: 1_624 });
      return before;
    })
    .on('PATCH', /\/replays\/r\d+$/, (body, url) => {
      const replay = replays.find(({ replay_id }) => url.pathname.endsWith(replay_id));
      const { wanted } = body as Pick<ReplayItem, 'wanted'>;
      return Object.assign(replay ?? {}, { wanted, state: wanted === 'running' ? 'sending' : wanted });
    });
}

function keyOf(change: Partial<KeyItem>): KeyItem {
  return {
    ...{
      key_hash: 'a'.repeat(64),
      shown_prefix: 'svc_pk_4fGh2',
      site_id: 'shop',
      caller: 'browser',
      label: 'Web shop',
    },
    ...{ allowed_origins: ['https://shop.example', 'https://*.shop.example'], created_at: META.changed_at },
    ...{
      expires_at: null,
      revoked_at: null,
      rate_limit: null,
      public_key: null,
      last_used_at: Date.now() - 90_000,
      state: 'active',
    },
    ...META,
    ...change,
  };
}

/** Keys that can be issued, rotated and revoked. */
export function withKeys(api: StubApi): StubApi {
  const keys = [
    keyOf({ public_key: 'svc_pk_4fGh2SECRET' }),
    keyOf({ key_hash: 'f'.repeat(64), shown_prefix: 'svc_pk_0ld99', label: 'Of before' }),
    keyOf({
      key_hash: 'b'.repeat(64),
      shown_prefix: 'svc_sk_9aXk1',
      caller: 'server',
      label: CANARY,
      allowed_origins: [],
    }),
    keyOf({ key_hash: 'c'.repeat(64), shown_prefix: 'svc_pk_77aBc', state: 'revoked', revoked_at: META.changed_at }),
  ];
  const find = (url: URL): KeyItem => keys.find(({ key_hash }) => url.pathname.includes(key_hash)) ?? keyOf({});
  return api
    .on('GET', '/v1/admin/keys', () => ({ items: keys, next: null }))
    .on('POST', '/v1/admin/keys', (body) => {
      const key = keyOf({ ...(body as Partial<KeyItem>), key_hash: 'd'.repeat(64), shown_prefix: 'svc_pk_new01' });
      if (key.caller === 'browser') key.public_key = 'svc_pk_new01SECRET';
      keys.push(key);
      return { status: 201, body: { secret: 'svc_pk_new01SECRET', key } };
    })
    .on('POST', /\/rotate$/, (body, url) => {
      const previous = find(url);
      const { overlap_ms } = body as { overlap_ms: number };
      previous.expires_at = Date.now() + overlap_ms;
      const key = keyOf({ ...previous, key_hash: 'e'.repeat(64), shown_prefix: 'svc_pk_rot01', expires_at: null });
      if (key.caller === 'browser') key.public_key = 'svc_pk_rot01SECRET';
      keys.push(key);
      return { status: 201, body: { secret: 'svc_pk_rot01SECRET', key, previous } };
    })
    .on('POST', /\/revoke$/, (_body, url) => Object.assign(find(url), { state: 'revoked', revoked_at: Date.now() }));
}

/** Stages, of which one is behind and one does not run; and what a test event comes to. */
export function withStages(api: StubApi): StubApi {
  const item = { consumers: 2, lag: 0, waits_longer_than_ms: null, on_lanes: 0, rate: 41.5 };
  return api
    .on('GET', '/v1/admin/rates', { base: null, currencies: [] })
    .on('GET', '/v1/admin/stages', {
      items: [
        { stage: 'dedup', ...item },
        { stage: 'identity', ...item, lag: 12_400, waits_longer_than_ms: 600_000 },
        { stage: 'warehouse', ...item },
        { stage: 'delivery.meta', ...item, consumers: 0, on_lanes: 812, rate: null },
      ],
      ...{ as_of: 0, not_seen: ['edge: how many requests it takes is in its /metrics'] },
    })
    .on('POST', /\/destinations\/meta\/test$/, (body) => ({
      ...{ event_id: 'test-1', outcome: 'dead', reason: 'meta_190', detail: CANARY, took_ms: 210, as_test: true },
      ...{ answer: { status: 400, body: CANARY }, event: (body as { event: string }).event },
    }));
}
