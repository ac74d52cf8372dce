import type { Effort } from '#pipelines/privacy/effort.ts';
import { cleanDistinctId } from './distinct_id.ts';
import type { IntakeContext, SentEvent } from './intake_types.ts';
import { readShortText } from './short_text.ts';

/** The property that has the visitor's other id: PostHog's words. GA4's hits say theirs with events of any name. */
const PROPERTY = '$anon_distinct_id';
const PROPERTY_OF: ReadonlyMap<string, string> = new Map([
  ['$create_alias', 'alias'],
  ['$merge_dangerously', 'alias'],
]);

/** The other id of the visitor, as it may be stored; null where the event names none. */
export function previousIdOf(
  { name, properties, distinctId }: Pick<SentEvent, 'name' | 'properties' | 'distinctId'>,
  { identitySecret, site }: IntakeContext,
  effort?: Effort,
): string | null {
  const property = PROPERTY_OF.get(name) ?? PROPERTY;
  if (distinctId === null || !Object.hasOwn(properties, property)) return null;
  const sent = properties[property];
  const previousId = readShortText(typeof sent === 'number' && Number.isFinite(sent) ? String(sent) : sent);
  if (previousId === null || previousId === distinctId) return null;
  return cleanDistinctId(previousId, identitySecret, site, effort).distinctId;
}
