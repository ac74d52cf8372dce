import type { SurveyResults } from '#pipelines/analytics/engage_results.ts';
import { itemName } from '#pipelines/engage/content.ts';
import type { EngageKind } from '#pipelines/engage/definition_fields.ts';
import type { EngageView } from '#services/control_api/engage.ts';
import type { Meta } from '#services/control_api/fields.ts';
import type { Facts } from '../../editing/differences.ts';
import { isSame } from '../../format.ts';

/** What visitors can be shown: how each kind is called, where the API has it, and what a new one begins with. */
export const KINDS: readonly { kind: EngageKind; path: string; title: string; one: string; blank: object }[] = [
  {
    kind: 'survey',
    path: 'surveys',
    title: 'Surveys',
    one: 'survey',
    blank: {
      ...{ id: 'how-was-it', name: 'How was it', enabled: false, title: 'One question' },
      questions: [{ id: 'nps', type: 'rating', scale: 11, text: 'How likely is it that you recommend us?' }],
    },
  },
  {
    kind: 'promo',
    path: 'promos',
    title: 'Banners',
    one: 'banner',
    blank: {
      ...{ id: 'sale', name: 'Sale', enabled: false, place: 'banner', title: '20% off' },
      button: { text: 'See it', url: '/sale' },
    },
  },
  {
    kind: 'form',
    path: 'forms',
    title: 'Forms',
    one: 'form',
    blank: {
      ...{ id: 'quote', name: 'Ask for a quote', enabled: false, title: 'Ask for a quote' },
      fields: [{ name: 'email', type: 'email', label: 'E-mail', required: true, map: 'email' }],
    },
  },
];

export type KindSpec = (typeof KINDS)[number];

/** What was written of an item, without what the service adds. */
export function definitionText(item: EngageView): string {
  const { revision: _revision, version: _version, changed_at: _at, changed_by: _by, ...definition } = item;
  return textOf(definition);
}

/** An object in a text of JSON, or why it is none. */
export function readObject(text: string): { ok: true; value: object } | { ok: false; message: string } {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ok: true, value };
    return { ok: false, message: 'This is not a JSON object.' };
  } catch (error) {
    return { ok: false, message: error instanceof Error ? error.message : 'This is not JSON.' };
  }
}

export const textOf = (definition: unknown): string => JSON.stringify(definition, null, 2);

/** A text of JSON in which a field has another value; what is no object stays as it is. */
export function textWith(text: string, path: Path, value: unknown): string {
  const read = readObject(text);
  return read.ok ? textOf(withValue(read.value, path, value)) : text;
}

/** What is not stored yet. */
export type NewItem = Meta;
export const NEW_ITEM: NewItem = { version: '', changed_at: 0, changed_by: '' };

/** What a text of JSON says, field by field; nothing where it is no object. */
export function definitionFacts(text: string): Facts {
  const read = readObject(text);
  return read.ok ? { ...read.value } : {};
}

export function shownState(
  { enabled, starts_at, ends_at }: EngageView,
  nowMs: number,
): 'on' | 'off' | 'later' | 'over' {
  if (!enabled) return 'off';
  if (starts_at !== null && nowMs < starts_at) return 'later';
  return ends_at !== null && nowMs >= ends_at ? 'over' : 'on';
}

/**
 * What a question of a survey asks, and its choices by id, as the survey has them now; the id itself where it no longer
 * has the question.
 */
export function questionWords(item: EngageView, id: string): { text: string; choices: ReadonlyMap<string, string> } {
  const questions = 'questions' in item ? item.questions : [];
  const question = questions.find((one) => one.id === id);
  const choices = question !== undefined && 'choices' in question ? question.choices : [];
  return { text: question?.text ?? id, choices: new Map(choices.map((choice) => [choice.id, choice.label])) };
}

/**
 * Results of questions as the survey asks them, those that it does not ask any more last; answers on a scale are in the order
 * of the scale.
 */
export function asAsked(results: SurveyResults['questions'], item: EngageView): SurveyResults['questions'] {
  const ids = 'questions' in item ? item.questions.map(({ id }) => id) : [];
  const placeOf = (id: string): number => (ids.includes(id) ? ids.indexOf(id) : ids.length);
  return results
    .map((one) => (one.average === null ? one : { ...one, values: one.values.toSorted(byNumber) }))
    .toSorted((a, b) => placeOf(a.id) - placeOf(b.id));
}

const byNumber = (a: { value: string }, b: { value: string }): number => Number(b.value) - Number(a.value);

/** A place in a definition: `['questions', 0, 'text']`. */
export type Path = readonly (string | number)[];

type Json = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** As the service names a field: `questions[0].text`. */
export const pathName = (path: Path): string =>
  path.reduce<string>(
    (name, part) => (typeof part === 'number' ? `${name}[${part}]` : `${name}${name && '.'}${part}`),
    '',
  );

/** What stands at a place; undefined where there is no such place. */
export const valueAt = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>(
    (at, part) =>
      typeof at === 'object' && at !== null && Object.hasOwn(at, part) ? Reflect.get(at, part) : undefined,
    value,
  );

/** The list at a place; what is none is an empty one. */
export function listAt(value: unknown, path: Path): readonly unknown[] {
  const list = valueAt(value, path);
  return Array.isArray(list) ? list : [];
}

export const textAt = (value: unknown, path: Path): string => {
  const found = valueAt(value, path);
  return typeof found === 'string' || typeof found === 'number' ? String(found) : '';
};

/** The definition with a value at a place, and everything else as it was. @param value Undefined: nothing is there any more. */
export function withValue(definition: unknown, [part, ...rest]: Path, value: unknown): unknown {
  if (part === undefined) return value;
  const inner = rest.length === 0 ? value : withValue(valueAt(definition, [part]), rest, value);
  if (typeof part === 'number') {
    const list: unknown[] = Array.isArray(definition) ? [...definition] : [];
    list[part] = inner;
    return list;
  }
  const fields = Object.entries(isObject(definition) ? definition : {});
  if (inner === undefined) return Object.fromEntries(fields.filter(([name]) => name !== part));
  return Object.fromEntries([...fields, [part, inner]]);
}

/** The first of `q2`, `q3`, ... that is not taken. @param from The number to begin with. */
export function freeId(prefix: string, from: number, isTaken: (id: string) => boolean): string {
  for (let number = from; ; number += 1) if (!isTaken(`${prefix}${number}`)) return `${prefix}${number}`;
}

/** Lists of texts that a form shows one on a line, where a line may be empty while somebody types. */
const LINES: readonly Path[] = [
  ['targeting', 'url_pattern'],
  ['targeting', 'url_exclude'],
  ['targeting', 'locale'],
  ['targeting', 'country'],
  ['spam', 'domains_blocked'],
];

/** What is sent of a definition as it was typed: without empty lines and what stands about texts in them. */
export const sentDefinition = (typed: object): object =>
  LINES.reduce<object>((definition, path) => {
    const list = valueAt(definition, path);
    if (!Array.isArray(list)) return definition;
    const full = list.map((line) => (typeof line === 'string' ? line.trim() : line)).filter((line) => line !== '');
    return withValue(definition, path, full) as object;
  }, typed);

const nameOf = (item: unknown): string => (isObject(item) ? itemName(item) : '');

/** A place as translations name it, where a list's items go by id or name: `questions.q1.choices`. */
export const textsName = (definition: unknown, path: Path): string =>
  path
    .map((part, depth) => (typeof part === 'number' ? nameOf(valueAt(definition, path.slice(0, depth + 1))) : part))
    .join('.');

/** Names of the items in all lists of a definition, as `questions.q1.choices.c1`. */
export function itemNames(definition: unknown, path = ''): string[] {
  if (!isObject(definition)) return [];
  return Object.entries(definition).flatMap(([key, value]) => {
    if (!Array.isArray(value)) return itemNames(value, `${path}${key}.`);
    return value.flatMap((item) => {
      const name = nameOf(item);
      return name === '' ? [] : [`${path}${key}.${name}`, ...itemNames(item, `${path}${key}.${name}.`)];
    });
  });
}

/** Names of the items that a definition has texts of in other languages, and of all that these are in. */
export function translatedNames(definition: unknown): string[] {
  const translations = valueAt(definition, ['translations']);
  const texts = isObject(translations) ? Object.values(translations).filter(isObject) : [];
  return texts.flatMap((of: Json) =>
    Object.keys(of).flatMap((key) => {
      const parts = key.split('.');
      return parts.map((_, depth) => parts.slice(0, depth + 1).join('.'));
    }),
  );
}

/**
 * The definition with a value at a place, and its translations after it: the texts of an item that gets another id go
 * along, and those of one that is taken out of a list go as well.
 */
export function withNames(definition: object, path: Path, value: unknown): object {
  const changed = withValue(definition, path, value) as object;
  if (Array.isArray(value)) {
    const left = new Set(value.map(nameOf));
    const gone = listAt(definition, path)
      .map(nameOf)
      .filter((name) => !left.has(name));
    const list = textsName(definition, path);
    return withoutTexts(
      changed,
      gone.map((name) => `${list}.${name}`),
    );
  }
  const item = path.slice(0, -1);
  const [from, to] = [textsName(definition, item), textsName(changed, item)];
  if (typeof item.at(-1) !== 'number' || from === to) return changed;
  const list = item.slice(0, -1);
  const others = listAt(definition, list).flatMap((_, at) => (at === item.at(-1) ? [] : [[...list, at]]));
  // Of two items with one id nobody can tell whose the texts are.
  if (others.some((other) => [from, to].includes(textsName(definition, other)))) return changed;
  return withKeys(changed, (key) => (key.startsWith(`${from}.`) ? `${to}${key.slice(from.length)}` : key));
}

const withName = (name: string | null, text: unknown): [string, unknown][] => (name === null ? [] : [[name, text]]);

/** The definition without the texts of some of its items in other languages. @param items As `questions.q1`. */
const withoutTexts = (definition: object, items: readonly string[]): object =>
  withKeys(definition, (key) => (items.some((item) => key.startsWith(`${item}.`)) ? null : key));

/** The definition with other names in its translations. @param rename Answers null for a text that goes. */
function withKeys(definition: object, rename: (key: string) => string | null): object {
  const translations = valueAt(definition, ['translations']);
  if (!isObject(translations)) return definition;
  const renamed = Object.entries(translations).map(([locale, texts]) => [
    locale,
    isObject(texts)
      ? Object.fromEntries(Object.entries(texts).flatMap(([key, text]) => withName(rename(key), text)))
      : texts,
  ]);
  return withValue(definition, ['translations'], Object.fromEntries(renamed)) as object;
}

/** Something as it was loaded, as one has made it, and as somebody else has; undefined where it is not there. */
type Versions = readonly [loaded: unknown, mine: unknown, theirs: unknown];

/**
 * One's own changes of a definition over somebody else's: objects field by field, lists item by item, by id, name or value.
 * Where that cannot be told, mine is taken as a whole, and where that was is answered as well: as `questions.q1.branches`.
 */
export function mergedDefinition(loaded: object, mine: object, theirs: object): { merged: object; replaced: string[] } {
  if (isSame(theirs, loaded)) return { merged: mine, replaced: [] };
  const replaced: string[] = [];
  const merged = byField(loaded as Json, mine as Json, theirs as Json, '', replaced);
  const left = new Set(itemNames(merged));
  const gone = [mine, theirs].flatMap((one) => itemNames(one)).filter((name) => !left.has(name));
  return { merged: withoutTexts(merged, gone), replaced };
}

function mergedValue(versions: Versions, name: string, replaced: string[]): unknown {
  const [loaded, mine, theirs] = versions;
  if (isSame(mine, loaded)) return theirs;
  if (isSame(theirs, loaded) || isSame(mine, theirs)) return mine;
  if (isObject(mine) && isObject(theirs)) {
    return byField(isObject(loaded) ? loaded : {}, mine, theirs, `${name}.`, replaced);
  }
  if (!Array.isArray(mine) || !Array.isArray(theirs)) return mine;
  const list = byItem([Array.isArray(loaded) ? loaded : [], mine, theirs], name, replaced);
  if (list === null) replaced.push(name);
  return list ?? mine;
}

function byField(loaded: Json, mine: Json, theirs: Json, path: string, replaced: string[]): Json {
  const keys = [...new Set([...Object.keys(theirs), ...Object.keys(mine)])];
  const fields = keys.map((key): [string, unknown] => {
    const [was, own, other] = [loaded, mine, theirs].map((one) => valueAt(one, [key]));
    return [key, mergedValue([was, own, other], path + key, replaced)];
  });
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined));
}

/** Null where the items cannot be told apart, or both have put them in an order of their own. */
function byItem(lists: readonly [unknown[], unknown[], unknown[]], name: string, replaced: string[]): unknown[] | null {
  const [loaded, mine, theirs] = lists.map(itemsOf);
  if (!loaded || !mine || !theirs) return null;
  const order = mergedOrder([...loaded.keys()], [...mine.keys()], [...theirs.keys()]);
  const items = order?.map((key) => {
    const [was, own, other] = [loaded.get(key), mine.get(key), theirs.get(key)];
    const one = `${name}.${key}`;
    // Two that only happen to have been given one id are no two versions of one.
    if (was !== undefined || own === undefined || other === undefined)
      return mergedValue([was, own, other], one, replaced);
    if (!isSame(own, other)) replaced.push(one);
    return own;
  });
  return items?.filter((item) => item !== undefined) ?? null;
}

/** The items of a list by what tells them apart; null: nothing does. */
function itemsOf(list: readonly unknown[]): Map<string, unknown> | null {
  const items = new Map(list.map((item) => [typeof item === 'object' ? nameOf(item) : JSON.stringify(item), item]));
  return items.size < list.length || items.has('') ? null : items;
}

/** The order of whoever has changed it, and in it what the other has added, each below what it was below. */
function mergedOrder(loaded: string[], mine: string[], theirs: string[]): string[] | null {
  const isInAll = (key: string): boolean => [loaded, mine, theirs].every((keys) => keys.includes(key));
  const [was, own, other] = [loaded, mine, theirs].map((keys) => keys.filter(isInAll));
  const isMine = !isSame(own, was);
  if (isMine && !isSame(other, was) && !isSame(own, other)) return null;
  const order = isMine ? [...mine] : [...theirs];
  const added = isMine ? theirs : mine;
  for (const [at, key] of added.entries()) {
    if (!order.includes(key)) order.splice(order.indexOf(added[at - 1] ?? '') + 1, 0, key);
  }
  return order;
}
