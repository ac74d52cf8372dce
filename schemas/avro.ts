// Avro schemas in TypeScript: each record is described once, for the registry and for the compiler.

/** A field of a record, or what one may hold: its Avro type, and by `T` that of its values in TypeScript. */
export interface Field<T> {
  readonly type: unknown;
  readonly doc: string | undefined;
  /** What is read of records that were written without the field; undefined: all have it. */
  readonly fallback: T | undefined;
}

interface Optional {
  readonly isOptional: true;
}

type Fields = Readonly<Record<string, Field<unknown>>>;
type OptionalName<F> = { [Name in keyof F]: F[Name] extends Optional ? Name : never }[keyof F];
type Flat<T> = { [Name in keyof T]: T[Name] };
type RecordOf<F extends Fields> = Flat<
  { [Name in Exclude<keyof F, OptionalName<F>>]: ValueOf<F[Name]> } & { [Name in OptionalName<F>]?: ValueOf<F[Name]> }
>;

/** The values of a field, or of a record. */
export type ValueOf<F> = F extends Field<infer T> ? T : never;

const field = <T>(type: unknown, doc?: string, fallback?: T): Field<T> => ({ type, doc, fallback });

export const string = (doc?: string, fallback?: string) => field<string>('string', doc, fallback);
export const boolean = (doc?: string, fallback?: boolean) => field<boolean>('boolean', doc, fallback);
export const int = (doc?: string, fallback?: number) => field<number>('int', doc, fallback);
export const long = (doc?: string, fallback?: number) => field<number>('long', doc, fallback);
export const double = (doc?: string) => field<number>('double', doc);
export const bytes = (doc?: string) => field<Buffer>('bytes', doc);

export const symbols = <const S extends string>(name: string, all: readonly S[], doc?: string, fallback?: S) =>
  field<S>({ type: 'enum', name, symbols: all }, doc, fallback);

export const list = <T>(items: Field<T>, doc?: string, fallback?: T[]) =>
  field<T[]>({ type: 'array', items: items.type }, doc, fallback);

/** By text. */
export const map = <T>(values: Field<T>, doc?: string, fallback?: Record<string, T>) =>
  field<Record<string, T>>({ type: 'map', values: values.type }, doc, fallback);

/** The value or null, which is also read where the field was not written. */
export const nullable = <T>({ type }: Field<T>, doc?: string) => field<T | null>(['null', type], doc, null);

/** A field that may be left out of what is written: then it is written as its fallback. */
export const optional = <T>(of: Field<T>): Field<T> & Optional => ({ ...of, isOptional: true });

/** @param fullName With the namespace before a dot, where it is not that of the record around it. */
export function record<const F extends Fields>(fullName: string, doc: string, fields: F): Field<RecordOf<F>> {
  const [name, ...spaces] = fullName.split('.').reverse();
  const namespace = spaces.length === 0 ? undefined : spaces.reverse().join('.');
  const described = Object.entries(fields).map(([name, { type, doc, fallback }]) => {
    return { name, type, default: fallback, doc };
  });
  return field<RecordOf<F>>({ type: 'record', name, namespace, doc, fields: described });
}

/** The schema as it is registered. What is in it a second time stands there by its name. */
export function schemaJson({ type }: Field<unknown>): string {
  const named = new Set<string>();
  return JSON.stringify(type, (_key, value: unknown) => {
    const { type, name } = (value ?? {}) as { type?: unknown; name?: string };
    if (name === undefined || (type !== 'record' && type !== 'enum')) return value;
    if (named.has(name)) return name;
    named.add(name);
    return value;
  });
}
