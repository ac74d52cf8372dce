import type { DestinationItem } from '#services/control_api/destinations.ts';

export interface Kind {
  name: string;
  title: string;
  schema: { properties?: Record<string, SchemaField>; required?: readonly string[] };
}

interface SchemaField {
  title?: string;
  description?: string;
  enum?: readonly string[];
  default?: string;
  secret?: boolean;
  pattern?: string;
}

export interface SettingField {
  name: string;
  title: string;
  description: string;
  choices: readonly string[] | null;
  isSecret: boolean;
  /** Whether it is a secret that the receiver is told, and that can be made here. */
  isSigning: boolean;
  /** Whether it must be given, as there is no default. */
  isNeeded: boolean;
  usual: string;
  isLong: boolean;
}

/** What a form holds: texts by the names of fields. Of secrets that are stored nothing is known, so theirs are empty. */
export type Draft = Readonly<Record<string, string>>;

const LONG = new Set(['event_names', 'route_pixels', 'service_account', 'private_key', 'headers']);

/** The fields of a kind, those that must be given first. */
export function settingFields({ schema }: Kind): SettingField[] {
  const required = new Set(schema.required ?? []);
  const fields = Object.entries(schema.properties ?? {}).map(([name, field]) => ({
    name,
    title: field.title ?? name,
    description: field.description ?? '',
    choices: field.enum ?? null,
    isSecret: field.secret === true,
    isSigning: name === 'secret' && field.pattern?.startsWith('^whsec_') === true,
    isNeeded: required.has(name) && field.default === undefined,
    usual: field.default ?? '',
    isLong: LONG.has(name),
  }));
  return [...fields.filter(({ isNeeded }) => isNeeded), ...fields.filter(({ isNeeded }) => !isNeeded)];
}

export const draftOf = (fields: readonly SettingField[], item: Pick<DestinationItem, 'settings'> | null): Draft =>
  Object.fromEntries(
    fields.map(({ name, isSecret, usual, choices }) => [
      name,
      isSecret ? '' : (item?.settings[name] ?? (choices === null ? '' : usual)),
    ]),
  );

export interface SettingChange {
  settings?: Record<string, string | null>;
  secrets?: Record<string, string | null>;
}

/** What is to be sent: what was changed, and null for a setting that was emptied. A secret left empty stays as it is. */
export function changeOf(
  fields: readonly SettingField[],
  draft: Draft,
  item: Pick<DestinationItem, 'settings'> | null,
): SettingChange {
  const settings: Record<string, string | null> = {};
  const secrets: Record<string, string | null> = {};
  for (const { name, isSecret, choices, usual } of fields) {
    const given = (draft[name] ?? '').trim();
    const before = item?.settings[name];
    if (isSecret) {
      if (given !== '') secrets[name] = given;
    } else if (given === '') {
      if (before !== undefined) settings[name] = null;
    } else if (given !== (before ?? (choices === null ? undefined : usual))) settings[name] = given;
  }
  return {
    ...(Object.keys(settings).length > 0 && { settings }),
    ...(Object.keys(secrets).length > 0 && { secrets }),
  };
}
