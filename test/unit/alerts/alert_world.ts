import { type Alert, type AlertInput, filledAlert } from '#pipelines/alerts/alert.ts';
import type { Figure } from '#pipelines/alerts/judge.ts';
import type { Site } from '#schemas/setting.ts';
import { TAG_DEFAULTS } from '#schemas/setting.ts';

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;
/** A Monday at noon. */
export const NOON_MS = Date.UTC(2027, 2, 1, 12);

export function alertWith(changes: Partial<AlertInput> = {}): Alert {
  const input: AlertInput = {
    ...{ id: 'orders', name: 'Orders', kind: 'question', question: { series: [{ events: ['purchase'] }] } },
    ...{ interval: 'hour', condition: { is: 'below', value: 10 } },
    channels: [{ id: 'hook', kind: 'webhook', target: 'https://hook.example' }],
    ...changes,
  };
  return filledAlert(input, ({ kind }) => `${kind} of a test`);
}

/** The figure of the hour that begins so many hours after noon. */
export function figureAt(hour: number, value: number | null, more: Partial<Figure> = {}): Figure {
  const from = NOON_MS + hour * HOUR_MS;
  const events = value ?? 0;
  return { from, to: from + HOUR_MS, value, base: null, events, baseEvents: 0, hadEvents: true, ...more };
}

export const site: Site = {
  ...{ site_id: 'shop', account_id: 'acme', name: 'Shop', mode: 'online', business_category: 'other' },
  ...{ default_country: null, identify_events: null, server_only_events: [], clarity_project_id: null },
  ...{ gtm_container_id: null, domains: [], loader_prefix: null, block_rules: [], tag: TAG_DEFAULTS },
  event_definitions: [],
};
