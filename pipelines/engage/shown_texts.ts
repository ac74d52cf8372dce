/** Fields whose text visitors read, in whatever object they stand. */
const SHOWN: ReadonlySet<string> = new Set([
  'title',
  'text',
  'body',
  'description',
  'label',
  'low_label',
  'high_label',
  'button',
  'placeholder',
  'image_alt',
  'consent_text',
  'marketing_text',
  'message',
]);
/** Parts of a definition that visitors do not read. */
const UNSHOWN: ReadonlySet<string> = new Set(['theme', 'translations', 'targeting', 'frequency', 'show', 'spam']);

type Json = Record<string, unknown>;

/** Names of the texts that visitors read, as `questions.q1.choices.yes.label`: a list's items go by id or name. */
export function shownTextNames(definition: object): Set<string> {
  const names = new Set<string>();
  visit(definition as Json, '', (name) => void names.add(name));
  return names;
}

/** The definition with the texts that a translation has in the place of its own; the others stay. */
export function translated<Definition extends object>(
  definition: Definition,
  translation: Readonly<Record<string, string>>,
): Definition {
  const copy = structuredClone(definition);
  visit(copy as Json, '', (name, object, key) => {
    if (Object.hasOwn(translation, name)) object[key] = translation[name];
  });
  return copy;
}

function visit(object: Json, path: string, see: (name: string, object: Json, key: string) => void): void {
  for (const [key, value] of Object.entries(object)) {
    if (path === '' && UNSHOWN.has(key)) continue;
    if (typeof value === 'string') {
      if (SHOWN.has(key)) see(path + key, object, key);
    } else if (Array.isArray(value)) {
      for (const item of value) if (isObject(item)) visit(item, `${path}${key}.${itemName(item)}.`, see);
    } else if (isObject(value)) visit(value, `${path}${key}.`, see);
  }
}

/** What an item of a list is called in the names of its texts; empty where it has neither an id nor a name. */
export function itemName(item: Readonly<Json>): string {
  const name = item['id'] ?? item['name'];
  return typeof name === 'string' ? name : '';
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
