import { type Problem, unless } from '#pipelines/settings/problem.ts';
import type { EngageItem } from '#schemas/setting.ts';
import { AUDIENCE_EVENTS_MAX, parseDefinition } from './engage_definition.ts';

/** Every process holds the definitions of every site. */
const SITE_CHARACTERS_MAX = 1024 * 1024;

/** What the definitions of one site must keep together. */
export function siteEngageProblems(items: readonly EngageItem[]): Problem[] {
  const characters = items.reduce((total, { definition }) => total + definition.length, 0);
  const events = new Set(items.flatMap(audienceEvents));
  return [
    ...unless(
      characters <= SITE_CHARACTERS_MAX,
      'too_large',
      '',
      `the definitions of the site would have more than ${SITE_CHARACTERS_MAX} characters of JSON together`,
    ),
    ...unless(
      events.size <= AUDIENCE_EVENTS_MAX,
      'too_many',
      'targeting.audience',
      `the definitions of the site would name more than ${AUDIENCE_EVENTS_MAX} events together`,
    ),
  ];
}

/** Names of the events that a definition's audience asks for. */
function audienceEvents({ kind, definition }: EngageItem): string[] {
  return parseDefinition(kind, definition)?.targeting.audience.map(({ event }) => event) ?? [];
}
