/** A place in a definition: `['questions', 0, 'text']`. */
export type Path = readonly (string | number)[];

export type Json = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** As the service names a field: `questions[0].text`. */
export const pathName = (path: Path): string =>
  path.reduce<string>(
    (name, part) => (typeof part === 'number' ? `${name}[${part}]` : `${name}${name && '.'}${part}`),
    '',
  );

/** What stands at a place; undefined where there is no such place. */
export function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (at, part) =>
      typeof at === 'object' && at !== null && Object.hasOwn(at, part) ? Reflect.get(at, part) : undefined,
    value,
  );
}

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

/** A list in which one item has moved to another place. */
export function moved(list: readonly unknown[], from: number, to: number): unknown[] {
  const others = list.filter((_, index) => index !== from);
  return [...others.slice(0, to), list[from], ...others.slice(to)];
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
export function sentDefinition(typed: object): object {
  return LINES.reduce<object>((definition, path) => {
    const list = valueAt(definition, path);
    if (!Array.isArray(list)) return definition;
    const full = list.map((line) => (typeof line === 'string' ? line.trim() : line)).filter((line) => line !== '');
    return withValue(definition, path, full) as object;
  }, typed);
}
