import type { MapContext, MapResult } from '#pipelines/delivery/contract.ts';
import { happenedAtMs } from '#pipelines/delivery/event_time.ts';
import type { Properties } from '#pipelines/delivery/properties.ts';
import { GTAG_LIBRARY } from '#pipelines/intake/ga4/hit_event.ts';
import type { Event, EventEntry } from '#schemas/event.ts';
import { visitorOf } from './ga4_visitor.ts';
import { eventName } from './names.ts';
import { parametersOf } from './parameters.ts';
import type { Ga4Settings } from './settings.ts';

/** What gtag has sent, whoever passed it on, the page sends to Google as well where it sends by itself. */
function isOfBrowser({ caller, action_source }: Event, properties: Properties): boolean {
  return (caller === 'browser' && action_source === 'website') || properties['$lib'] === GTAG_LIBRARY;
}

/**
 * An event in the form of the Measurement Protocol, or why it is not sent: `routed_in_browser` (the browser sends it
 * itself), `reserved_event_name` or `unusable_event_name`. The group is what the request says of the visitor, so that a
 * request holds events of one visitor.
 */
export function mapEvent(entry: EventEntry, context: MapContext<Ga4Settings>): MapResult {
  const { event } = entry;
  const { settings, properties } = context;
  if (settings.route === 'browser' && isOfBrowser(event, properties))
    return { kind: 'skip', reason: 'routed_in_browser' };
  const named = eventName(context);
  if (named.kind === 'skip') return named;
  const params = parametersOf(event, named.name, properties);
  const form = { name: named.name, timestamp_micros: happenedAtMs(event) * 1000, params };
  return { kind: 'mapped', form, group: JSON.stringify(visitorOf(event, context)) };
}
