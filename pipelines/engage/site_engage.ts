import type { EngageItem } from '#schemas/setting.ts';
import { contentOf } from './content.ts';
import type { EngageKind } from './definition_fields.ts';
import type { Definition } from './definition_problems.ts';
import { parseDefinition } from './engage_definition.ts';
import { type ItemName, itemName } from './visitor_memory.ts';

/** A definition, ready to be decided about. */
export interface ReadyItem {
  kind: EngageKind;
  id: string;
  name: ItemName;
  version: number;
  definition: Definition;
  /** Its answer to a visitor up to the token, as JSON without the closing brace; by the language asked for. */
  answerIn(locale: string | null): string;
}

/** The definitions of one site. */
export interface SiteEngage {
  /** Those that are enabled, the most important first. */
  items: readonly ReadyItem[];
  byName: ReadonlyMap<string, ReadyItem>;
  /** By the name of an event that audiences ask for: how many days back the one looks that looks back most. */
  audienceEvents: ReadonlyMap<string, number>;
}

const ready = new WeakMap<readonly EngageItem[], SiteEngage>();

/** A site's definitions, read once for each state of them; one that cannot be read is left out. */
export function siteEngage(items: readonly EngageItem[]): SiteEngage {
  const known = ready.get(items);
  if (known !== undefined) return known;
  const all = items.flatMap(readyItem);
  const enabled = all.filter(({ definition }) => definition.enabled).sort(byPriority);
  const made = {
    items: enabled,
    byName: new Map(all.map((item) => [item.name, item])),
    audienceEvents: daysByEvent(enabled.flatMap(({ definition }) => definition.targeting.audience)),
  };
  ready.set(items, made);
  return made;
}

function daysByEvent(asked: Definition['targeting']['audience']): Map<string, number> {
  const days = new Map<string, number>();
  for (const { event, within_days } of asked) days.set(event, Math.max(within_days, days.get(event) ?? 0));
  return days;
}

function readyItem({ kind, id, version, definition: text }: EngageItem): ReadyItem[] {
  const definition = parseDefinition(kind, text);
  if (definition === null) return [];
  const answers = new Map<string, string>();
  return [
    {
      kind,
      id,
      name: itemName(kind, id),
      version,
      definition,
      answerIn(locale) {
        const language = languageOf(definition, locale);
        const known = answers.get(language) ?? contentOf(kind, version, definition, language);
        answers.set(language, known);
        return known;
      },
    },
  ];
}

/** The language of the texts that a visitor gets: one of the definition's own. */
function languageOf({ translations, locale: own }: Definition, asked: string | null): string {
  if (asked === null) return own;
  if (Object.hasOwn(translations, asked)) return asked;
  const [language = ''] = asked.split('-');
  return Object.hasOwn(translations, language) ? language : own;
}

function byPriority(a: ReadyItem, b: ReadyItem): number {
  return b.definition.priority - a.definition.priority || (a.name < b.name ? -1 : 1);
}
