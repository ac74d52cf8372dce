import type { Event, EventEntry } from '#schemas/event.ts';
import type { Site } from '#schemas/setting.ts';
import { chosenName } from './chosen_names.ts';
import type { Adapter, MapResult } from './contract.ts';
import { conversionName } from './conversion_names.ts';
import { type EventRule, eventRule } from './definitions.ts';
import { keepsItselfFrom } from './event_destinations.ts';
import { deadlineOfAge } from './event_time.ts';
import { matchingIdentifiers } from './matching_identifiers.ts';
import { isRestricted, type PrivacyChoices, privacyChoices } from './privacy_choices.ts';
import type { Properties } from './properties.ts';
import { type Stated, stated } from './stated.ts';

/** When the platform stops taking the event, milliseconds since 1970 UTC; null where age does not matter. */
export function deliveryDeadlineMs<Settings>(adapter: Adapter<Settings>, event: Event): number | null {
  const ageMaxMs = adapter.ageMaxMs(event);
  return ageMaxMs === null ? null : deadlineOfAge(event, ageMaxMs);
}

function skipReason<Settings>(adapter: Adapter<Settings>, event: Event, rule: EventRule, nowMs: number): string | null {
  if (rule.switchedOff.has(adapter.name)) return 'not_in_destinations';
  if (event.mode === 'offline' && adapter.anonymousEvents === 'skip') return 'anonymous_site';
  const deadlineMs = deliveryDeadlineMs(adapter, event);
  return deadlineMs !== null && nowMs >= deadlineMs ? 'too_old' : null;
}

/**
 * Decides whether an event goes to a destination, and in which form. Reasons to skip: `not_in_destinations`,
 * `anonymous_site`, `too_old`, `consent_denied`, `gpc`, and those of the destination's own `map`.
 *
 * @throws SyntaxError when `event.properties` is not JSON.
 */
export function prepare<Settings>(
  adapter: Adapter<Settings>,
  site: Site,
  settings: Settings,
  entry: EventEntry,
  nowMs: number,
): MapResult {
  const { event } = entry;
  const rule = eventRule(site, event.event);
  const reason = skipReason(adapter, event, rule, nowMs);
  if (reason !== null) return { kind: 'skip', reason };
  const properties = JSON.parse(event.properties) as Record<string, unknown>;
  if (keepsItselfFrom(properties, adapter.name)) return { kind: 'skip', reason: 'not_in_destinations' };
  if (isOptedOut(adapter, site, properties)) return { kind: 'skip', reason: 'gpc' };
  const choices = privacyChoices(properties, settings);
  if (isRefused(adapter, choices)) return { kind: 'skip', reason: 'consent_denied' };
  const name = conversionName(rule.conversionEvent ?? event.event);
  return adapter.map(entry, {
    settings,
    site,
    name,
    chosenName: chosenName(settings, [event.event, rule.conversionEvent, name.canonical]),
    identifiers: matchingIdentifiers(entry),
    further: event.mode === 'offline' ? [] : (event.further_identifiers ?? []),
    choices,
    properties,
    nowMs,
  });
}

/** What cannot be read counts as said. */
const SAID: ReadonlySet<Stated> = new Set(['yes', 'unreadable']);

/**
 * Global Privacy Control asks not to be sold or shared: where the site respects it, advertising platforms get nothing of an
 * event that the tag marked so. Measuring goes on.
 */
function isOptedOut({ advertising }: Pick<Adapter, 'advertising'>, { tag }: Site, properties: Properties): boolean {
  return advertising !== 'none' && tag.respect_gpc && SAID.has(stated(properties['$gpc']));
}

/**
 * The one rule for all advertising platforms: an event of somebody who does not want their data there is not sent, and one
 * that may be used in a limited way only is sent where the platform can be told so.
 */
function isRefused({ advertising }: Pick<Adapter, 'advertising'>, choices: PrivacyChoices): boolean {
  if (advertising === 'none') return false;
  return choices.adUserData === false || (advertising === 'unrestrictable' && isRestricted(choices));
}
