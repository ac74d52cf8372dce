import { firstText, type Properties } from '#pipelines/delivery/properties.ts';
import type { Event } from '#schemas/event.ts';
import type { TiktokSettings } from './settings.ts';

/** Where TikTok files an event: a kind of source, and the id of the pixel or event set. */
export interface EventSource {
  kind: 'web' | 'offline' | 'crm';
  id: string;
}

/**
 * Events of the website belong to the pixel, back-office events of a lead to the CRM event set, all others to the offline
 * event set; null where the site has no such set.
 */
export function sourceOf(event: Event, settings: TiktokSettings, properties: Properties): EventSource | null {
  if (event.action_source === 'website') return { kind: 'web', id: settings.pixel_code };
  const isLead = event.action_source === 'system_generated' && firstText(properties, ['lead_id']) !== null;
  if (isLead && settings.crm_event_set_id !== undefined) return { kind: 'crm', id: settings.crm_event_set_id };
  const { offline_event_set_id: id } = settings;
  return id === undefined ? null : { kind: 'offline', id };
}

/** A source as the group of a request, which holds events of one source only. */
export const groupOf = ({ kind, id }: EventSource): string => `${kind}:${id}`;

export function sourceOfGroup(group: string): { event_source: string; event_source_id: string } {
  const [event_source = '', event_source_id = ''] = group.split(':');
  return { event_source, event_source_id };
}
