import type { MapContext } from '#pipelines/delivery/contract.ts';
import { isReservedEventName, NAME_CHARACTERS_MAX } from '#pipelines/delivery/ga4_names.ts';
import { keyMeaning } from '#pipelines/privacy/key_meaning.ts';

/** GA4's form of a name: letters, digits and underscores, a letter first, at most 40 characters; null when nothing is left. */
function nameOf(text: string): string | null {
  const name = text
    .trim()
    .replace(/[^a-zA-Z0-9_]+/g, '_')
    .replace(/^[^a-zA-Z]+/, '')
    .replace(/_+$/, '')
    .slice(0, NAME_CHARACTERS_MAX);
  return name === '' ? null : name;
}

/** An event's name as GA4 takes it, or why it takes none. The canonical names are GA4's own. */
export function eventName(
  context: Pick<MapContext<unknown>, 'name' | 'chosenName'>,
): { kind: 'name'; name: string } | { kind: 'skip'; reason: string } {
  const { canonical, given } = context.name;
  const name = context.chosenName ?? canonical ?? given;
  if (isReservedEventName(name)) return { kind: 'skip', reason: 'reserved_event_name' };
  const formed = nameOf(name);
  if (formed === null) return { kind: 'skip', reason: 'unusable_event_name' };
  return isReservedEventName(formed) ? { kind: 'skip', reason: 'reserved_event_name' } : { kind: 'name', name: formed };
}

/** Google's own click ids. */
const GOOGLE_CLICKS = new Set(['gclid', 'gbraid', 'wbraid', 'dclid']);
const OTHER_IDS = new Set(['subscription_id', 'page_id', 'lead_event_source']);

/**
 * Whether a property's name says that it holds an id of the visitor: a customer number, a device's or a lead's id, or
 * another platform's click. Google forbids what identifies a person, and has fields of its own for what it asks for.
 */
export const namesVisitor = (name: string): boolean =>
  OTHER_IDS.has(name) || (!GOOGLE_CLICKS.has(name) && keyMeaning(name).removal === 'if_anonymous');
