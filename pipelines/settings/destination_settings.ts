// A destination's settings as they are written, and pixels by route.

import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { Adapter } from '#pipelines/delivery/contract.ts';
import { isFirstOfKind, kindOfDestination } from '#pipelines/delivery/destination_id.ts';
import { readSettings, secretNames } from '#pipelines/delivery/setting_fields.ts';
import { type Problem, problem } from './problems.ts';

/** A destination's settings as they are about to be written. */
export interface SettingsDraft {
  /** The destination's id. */
  name: string;
  settings: Record<string, string>;
  /** Secrets given now, in clear. */
  secrets: Record<string, string>;
  /** Names of secrets that are stored already and stay as they are. */
  storedSecrets: readonly string[];
}

/** What only the first destination of a kind may have: the tag knows no other. */
const OF_FIRST: Readonly<Record<string, string>> = { route_pixels: '', route: 'server' };

interface TagSetting {
  isValid: (value: string) => boolean;
  says: string;
}

/** Settings that tell the browser tag something, and that sending does not need. */
const TAG_SETTINGS: Record<string, Record<string, TagSetting>> = {
  meta: {
    route_pixels: {
      isValid: (value) => readRoutePixels(value) !== null,
      says: 'is a JSON array of {"pixel_id", "url_pattern"}',
    },
  },
  ga4: {
    route: { isValid: (value) => value === 'browser' || value === 'server', says: 'is browser or server' },
  },
};

/** Checks settings and secrets against the destination's own schema. Messages never hold a value. */
export function destinationSettingProblems(adapter: Adapter, draft: SettingsDraft): Problem[] {
  const secrets = secretNames(adapter.schema);
  const misplaced = [...settingNameProblems(adapter, draft, secrets), ...secretNameProblems(adapter, draft, secrets)];
  if (misplaced.length > 0) return misplaced;
  return [...schemaProblems(adapter, draft), ...tagProblems(adapter, draft), ...browserProblems(draft)];
}

function settingNameProblems(adapter: Adapter, draft: SettingsDraft, secrets: string[]): Problem[] {
  const known = [...fieldNames(adapter).filter((name) => !secrets.includes(name)), ...tagSettingNames(adapter)];
  return Object.keys(draft.settings)
    .filter((name) => !known.includes(name))
    .map((name) =>
      secrets.includes(name)
        ? problem('destination_setting_secret', name, 'is a secret and is given as one')
        : problem('destination_setting_unknown', name, `${adapter.name} has ${known.join(', ')}`),
    );
}

function secretNameProblems(adapter: Adapter, draft: SettingsDraft, secrets: string[]): Problem[] {
  const known = secrets.length === 0 ? 'no secrets' : `the secrets ${secrets.join(', ')}`;
  return Object.keys(draft.secrets)
    .filter((name) => !secrets.includes(name))
    .map((name) => problem('destination_secret_unknown', name, `${adapter.name} has ${known}`));
}

/** A stored secret is not opened to be checked again: it was checked when it was given. */
function schemaProblems(adapter: Adapter, draft: SettingsDraft): Problem[] {
  const kept = draft.storedSecrets.filter((name) => draft.secrets[name] === undefined);
  const standIns = Object.fromEntries(kept.map((name) => [name, 'stored']));
  const result = readSettings(adapter, draft.settings, { ...draft.secrets, ...standIns });
  if (result.kind === 'settings') return [];
  return result.fields
    .filter((name) => !kept.includes(name))
    .map((name) =>
      problem('destination_setting_malformed', name, `is missing or malformed: ${describe(adapter, name)}`),
    );
}

function tagProblems(adapter: Adapter, draft: SettingsDraft): Problem[] {
  return tagSettingEntries(adapter).flatMap(([name, { isValid, says }]) => {
    const value = draft.settings[name];
    return value === undefined || isValid(value) ? [] : [problem('destination_setting_malformed', name, says)];
  });
}

/** A browser would be told nothing of it, and what is left to the browser would go nowhere. */
function browserProblems({ name, settings }: SettingsDraft): Problem[] {
  if (isFirstOfKind(name)) return [];
  return Object.entries(OF_FIRST).flatMap(([field, plain]) =>
    (settings[field] ?? plain) === plain
      ? []
      : [
          problem(
            'destination_setting_malformed',
            field,
            `is for ${kindOfDestination(name)} alone: the tag knows no other`,
          ),
        ],
  );
}

/** A setting that the adapter declares itself is the adapter's to check. */
function tagSettingEntries(adapter: Adapter): [string, TagSetting][] {
  const declared = fieldNames(adapter);
  return Object.entries(TAG_SETTINGS[adapter.name] ?? {}).filter(([name]) => !declared.includes(name));
}

const fieldNames = (adapter: Adapter): string[] => Object.keys(adapter.schema.properties);

const tagSettingNames = (adapter: Adapter): string[] => tagSettingEntries(adapter).map(([name]) => name);

function describe(adapter: Adapter, name: string): string {
  const field: object = adapter.schema.properties[name] ?? {};
  const texts = ['title', 'description'].map((word): unknown => Reflect.get(field, word));
  return texts.filter((text) => typeof text === 'string').join('. ');
}

const routePixelSchema = Type.Object({
  pixel_id: Type.String({ pattern: '^[0-9]{5,20}$' }),
  url_pattern: Type.String({ minLength: 1, maxLength: 1000 }),
});
/** A Meta pixel that takes the place of the site's own on pages that match. */
export type RoutePixel = Static<typeof routePixelSchema>;

const validator = Compile(Type.Array(routePixelSchema, { maxItems: 50 }));

/** Reads the setting `route_pixels` of a meta destination, a JSON array; empty text is none. Null when malformed. */
export function readRoutePixels(text: string): RoutePixel[] | null {
  if (text === '') return [];
  try {
    const value: unknown = JSON.parse(text);
    return validator.Check(value) ? value.map(({ pixel_id, url_pattern }) => ({ pixel_id, url_pattern })) : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
