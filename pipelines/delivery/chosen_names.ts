import { folded } from './conversion_names.ts';
import { textField } from './setting_fields.ts';

const TEXT = '[^=,\\n]{1,200}';

/**
 * The setting by which a site chooses a platform's names for its events: pairs of an event's name and the platform's.
 *
 * @param namePattern what the platform's names look like.
 */
export function eventNamesField(title: string, description: string, example = 'quiz_done=Lead', namePattern = TEXT) {
  const pair = `${TEXT}=${namePattern}`;
  return textField({
    title,
    description: `${description} Pairs such as ${example}, separated by commas or lines; they go before standard names.`,
    pattern: `^${pair}([,\\n]${pair})*$`,
  });
}

const chosenBySettings = new WeakMap<object, ReadonlyMap<string, string>>();

function readPairs(text: string): ReadonlyMap<string, string> {
  const pairs = text.split(/[,\n]/).map((pair) => pair.split('='));
  return new Map(pairs.map(([event = '', platform = '']) => [folded(event), platform.trim()]));
}

/** The names that a site's setting `event_names` gives, by the event's, folded as it is compared. */
export function chosenNames(settings: object): ReadonlyMap<string, string> {
  const text: unknown = Reflect.get(settings, 'event_names');
  const names = chosenBySettings.get(settings) ?? (typeof text === 'string' ? readPairs(text) : new Map());
  chosenBySettings.set(settings, names);
  return names;
}

/**
 * The platform's name that a site's setting `event_names` gives to an event; null when it gives none. Case and separators
 * do not matter. The pairs are read once per settings value.
 *
 * @param names of the event, the most particular first.
 */
export function chosenName(settings: unknown, names: readonly (string | null)[]): string | null {
  if (typeof settings !== 'object' || settings === null) return null;
  const chosen = chosenNames(settings);
  if (chosen.size === 0) return null;
  for (const name of names) {
    const platform = name === null ? undefined : chosen.get(folded(name));
    if (platform !== undefined) return platform;
  }
  return null;
}
