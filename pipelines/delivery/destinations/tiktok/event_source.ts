import { deadlineOfAge } from '#pipelines/delivery/event_time.ts';
import { firstText, type Properties } from '#pipelines/delivery/properties.ts';
import type { Event } from '#schemas/event.ts';
import type { TiktokSettings } from './settings.ts';

/** Where TikTok files an event: a kind of source, and the id of the pixel or event set. */
export interface EventSource {
  kind: 'web' | 'offline' | 'crm';
  id: string;
}

const DAY_MS = 86_400_000;
/** TikTok attributes events of a pixel up to 7 days back, those of an event set up to 28. */
const PIXEL_AGE_MAX_MS = 7 * DAY_MS;
const EVENT_SET_AGE_MAX_MS = 28 * DAY_MS;

/** How old an event may be; one of a back office may go to an event set. */
export const ageMaxMs = (event: Event): number =>
  event.action_source === 'website' ? PIXEL_AGE_MAX_MS : EVENT_SET_AGE_MAX_MS;

/** Whether the source no longer takes the event, whatever another would. */
export const isTooOldFor = ({ kind }: EventSource, event: Event, nowMs: number): boolean =>
  kind === 'web' && nowMs >= deadlineOfAge(event, PIXEL_AGE_MAX_MS);

/**
 * Events of the website belong to the pixel, back-office events of a lead to the CRM event set, all others to the offline
 * event set. Where the site has no such set, what a system made by itself goes to the pixel: a server's library that
 * reports a sale of the website says no more than that. Sales in shops, by telephone, chat and e-mail do not: null.
 */
export function sourceOf(event: Event, settings: TiktokSettings, properties: Properties): EventSource | null {
  const pixel = { kind: 'web', id: settings.pixel_code } as const;
  if (event.action_source === 'website') return pixel;
  const isOfSystem = event.action_source === 'system_generated';
  const { crm_event_set_id: crm, offline_event_set_id: offline } = settings;
  if (isOfSystem && crm !== undefined && firstText(properties, ['lead_id']) !== null) return { kind: 'crm', id: crm };
  if (offline !== undefined) return { kind: 'offline', id: offline };
  return isOfSystem ? pixel : null;
}

/** A source as the group of a request, which holds events of one source only. */
export const groupOf = ({ kind, id }: EventSource): string => `${kind}:${id}`;

export function sourceOfGroup(group: string): { event_source: string; event_source_id: string } {
  const [event_source = '', event_source_id = ''] = group.split(':');
  return { event_source, event_source_id };
}
