import { comparableForm } from '#pipelines/privacy/comparable_form.ts';

/**
 * Names of events that may stitch identities unless the site lists its own: those of PostHog, Segment, Mixpanel,
 * Amplitude, GA4 and Meta by which a visitor says who they are.
 */
const IDENTIFY_EVENTS: readonly string[] = [
  '$identify',
  'identify',
  '$set',
  'alias',
  '$create_alias',
  '$merge_dangerously',
  'sign_up',
  'signed_up',
  'signup',
  'login',
  'lead',
  'generate_lead',
  'complete_registration',
  'subscribe',
  'purchase',
  'order_completed',
];

/** The names as they are compared: case and separators do not count. */
export function identifyNames(listed: readonly string[] | null): ReadonlySet<string> {
  return new Set((listed ?? IDENTIFY_EVENTS).map(comparableForm));
}

export function isIdentifyName(names: ReadonlySet<string>, event: string): boolean {
  return names.has(comparableName(event));
}

const NAMES_CACHED_MAX = 1024;
/** A name that may be an address or a number is not held in memory. */
const CACHEABLE = /^[A-Za-z_ $-]{1,64}$/;
const comparable = new Map<string, string>();

function comparableName(event: string): string {
  const known = comparable.get(event);
  if (known !== undefined) return known;
  const word = comparableForm(event);
  if (CACHEABLE.test(event)) {
    if (comparable.size >= NAMES_CACHED_MAX) comparable.clear();
    comparable.set(event, word);
  }
  return word;
}
