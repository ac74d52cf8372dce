import type { Site } from '#schemas/setting.ts';

/** What the site's event definitions say of one event name. */
export interface EventRule {
  /** The conversion the event stands for; null where no definition names one. */
  conversionEvent: string | null;
  /** Destinations that every definition of the name switches off. */
  switchedOff: ReadonlySet<string>;
}

interface Definition {
  name: string;
  conversionEvent: string | null;
  off: string[];
}

const NO_RULE: EventRule = { conversionEvent: null, switchedOff: new Set() };

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function readDefinition(text: string): Definition[] {
  const definition: unknown = JSON.parse(text);
  if (!isRecord(definition) || definition['enabled'] === false || typeof definition['name'] !== 'string') return [];
  const conversion = definition['conversion_event'];
  const flags = isRecord(definition['destinations']) ? definition['destinations'] : {};
  return [
    {
      name: definition['name'].trim(),
      conversionEvent: typeof conversion === 'string' && conversion.trim() !== '' ? conversion.trim() : null,
      off: Object.keys(flags).filter((destination) => flags[destination] === false),
    },
  ];
}

function joinRules(rule: EventRule | undefined, definition: Definition): EventRule {
  const off = new Set(definition.off);
  if (rule === undefined) return { conversionEvent: definition.conversionEvent, switchedOff: off };
  return {
    conversionEvent: rule.conversionEvent ?? definition.conversionEvent,
    switchedOff: new Set([...rule.switchedOff].filter((destination) => off.has(destination))),
  };
}

function readRules(site: Site): ReadonlyMap<string, EventRule> {
  const rules = new Map<string, EventRule>();
  for (const definition of site.event_definitions.flatMap(readDefinition)) {
    rules.set(definition.name, joinRules(rules.get(definition.name), definition));
  }
  return rules;
}

const rulesOfSite = new WeakMap<Site, ReadonlyMap<string, EventRule>>();

/**
 * The rule for an event name: a destination flag that is absent means send, and where several active definitions share a
 * name, one that sends is enough. Rules are read once per Site value.
 *
 * @throws SyntaxError when a stored definition is not JSON, which the control service does not let through.
 */
export function eventRule(site: Site, eventName: string): EventRule {
  const rules = rulesOfSite.get(site) ?? readRules(site);
  rulesOfSite.set(site, rules);
  return rules.get(eventName) ?? NO_RULE;
}
