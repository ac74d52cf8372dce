import { isSame } from '../../editing/differences.ts';
import { isObject, type Json, valueAt } from './definition_json.ts';
import { itemNames, nameOf, withoutTexts } from './definition_names.ts';

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
