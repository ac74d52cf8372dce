import { eventCountries } from '#pipelines/intake/call.ts';
import { cleanEventName, readEventName } from '#pipelines/intake/field_rules.ts';
import { isObject, type JsonObject } from '#pipelines/privacy/clean_properties.ts';
import { looksLikePhone } from '#pipelines/privacy/key_meaning.ts';
import { createWorkBudget, REDACTED, type WorkBudget } from '#pipelines/privacy/normalise_text.ts';
import { redactText } from '#pipelines/privacy/redact_text.ts';

/** How names are cleaned before they are shown. */
export interface NameCleaning {
  /** For a name that is an address. */
  secret: Buffer;
  /** The site's; null where it has none. */
  defaultCountry: string | null;
}

/** What may be shown of an event that was not accepted. */
export interface ShownNames {
  /** Null where it has no name that an event could be stored under. */
  event: string | null;
  /** Of its fields, and of its properties as `properties.value`. */
  fields: string[];
}

const FIELDS_MAX = 20;
const CHARACTERS_MAX = 200;
const TOO_LONG = '(longer than 200 characters)';
/** Keys of sites and tokens of this service. */
const CREDENTIALS = /svc_[a-z]{2}_[0-9A-Za-z]{32}/g;

/**
 * The names that an event has, and none of its values. They are cleaned as names of stored events and properties are, and
 * more strictly, as nothing depends on these names: what has as many digits as a phone number is redacted, and keys.
 */
export function shownNames(sent: unknown, { secret, defaultCountry }: NameCleaning): ShownNames {
  if (!isObject(sent)) return { event: null, fields: [] };
  const properties = isObject(sent['properties']) ? sent['properties'] : {};
  const countries = eventCountries(properties, defaultCountry === null ? [] : [defaultCountry]);
  const effort = createWorkBudget();
  const shown = (name: string): string => fieldName(name, countries, effort);
  const eventName = (name: string): string =>
    withoutNumbers(cleanEventName(withoutCredentials(name), secret, countries, effort));
  const own = firstKeys(sent, FIELDS_MAX).map(shown);
  const ofProperties = firstKeys(properties, FIELDS_MAX - own.length).map((name) => `properties.${shown(name)}`);
  const named = readEventName(sent['event']);
  return { event: named.ok ? eventName(named.name) : null, fields: [...own, ...ofProperties] };
}

function fieldName(name: string, countries: readonly string[], effort: WorkBudget): string {
  if (name.length > CHARACTERS_MAX) return TOO_LONG;
  return withoutNumbers(redactText(withoutCredentials(name), true, countries, effort));
}

const withoutCredentials = (name: string): string => name.replace(CREDENTIALS, REDACTED);

const withoutNumbers = (name: string): string => (looksLikePhone(name) ? REDACTED : name);

function firstKeys(object: JsonObject, max: number): string[] {
  const keys: string[] = [];
  for (const key in object) {
    if (keys.length >= max) break;
    if (Object.hasOwn(object, key)) keys.push(key);
  }
  return keys;
}
