import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { holdsPersonalText } from '#pipelines/privacy/redact_text.ts';
import type { Site } from '#schemas/setting.ts';
import { ID_PATTERN, isEventName, isReservedName } from './problems.ts';

/** What makes the browser tag fire an event. */
export const TRIGGERS = ['pageview', 'click', 'submit', 'change', 'visible', 'scroll', 'timer', 'custom'] as const;

const PROPERTIES_CHARACTERS_MAX = 8192;
/** What a trigger reads from the properties, which are sent too: a percentage of the page, and seconds. */
const TRIGGER_NUMBERS = { scroll: ['scroll_percent', 100], timer: ['timer_seconds', 3600] } as const;
const shortText = Type.String({ maxLength: 1000 });

/** The shape of the API; what has a default may be left out when a definition is written. */
export const eventDefinitionSchema = Type.Object(
  {
    id: Type.String({ pattern: ID_PATTERN.source }),
    name: Type.String({ minLength: 1, maxLength: 200 }),
    trigger: Type.Enum([...TRIGGERS]),
    selector: shortText,
    url_pattern: shortText,
    text_contains: shortText,
    properties: Type.Record(Type.String(), Type.Unknown()),
    conversion_event: Type.String({ maxLength: 200 }),
    destinations: Type.Record(Type.String({ pattern: ID_PATTERN.source }), Type.Boolean()),
    value_selector: shortText,
    field_selectors: Type.Record(Type.String({ minLength: 1, maxLength: 200 }), shortText),
    enabled: Type.Boolean(),
  },
  { additionalProperties: false },
);
export type EventDefinition = Static<typeof eventDefinitionSchema>;

export type DefinitionResult = { ok: true; definition: EventDefinition } | { ok: false; message: string };

const DEFAULTS = {
  selector: '',
  url_pattern: '',
  text_contains: '',
  properties: {},
  conversion_event: '',
  destinations: {},
  value_selector: '',
  field_selectors: {},
  enabled: true,
};
const validator = Compile(eventDefinitionSchema);

/** Reads a definition from JSON values, adding what was left out. The message names the field at fault. */
export function readEventDefinition(input: unknown): DefinitionResult {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return refuse('is not an object');
  const definition = { ...DEFAULTS, ...input };
  if (!validator.Check(definition)) return refuse(firstError(definition));
  if (!isEventName(definition.name)) return refuse('name has spaces around it or control characters');
  if (definition.conversion_event !== '' && !isEventName(definition.conversion_event)) {
    return refuse('conversion_event has spaces around it or control characters');
  }
  const { id, destinations, field_selectors: selectors, properties } = definition;
  if ([id, ...keysOf(destinations), ...keysOf(selectors), ...keysOf(properties)].some(isReservedName)) {
    return refuse('has a name that every object has by itself, such as constructor');
  }
  if (holdsPersonalText(definition.name) || holdsPersonalText(definition.conversion_event)) {
    return refuse('name or conversion_event holds an e-mail address or a phone number');
  }
  if (JSON.stringify(definition.properties).length > PROPERTIES_CHARACTERS_MAX) {
    return refuse(`properties are longer than ${PROPERTIES_CHARACTERS_MAX} characters of JSON`);
  }
  const problem = triggerProblem(definition);
  return problem === null ? { ok: true, definition } : refuse(problem);
}

/** What is wrong with the number that the trigger reads; one that is absent has a default in the tag. */
function triggerProblem({ trigger, properties }: EventDefinition): string | null {
  if (trigger !== 'scroll' && trigger !== 'timer') return null;
  const [name, most] = TRIGGER_NUMBERS[trigger];
  const given = properties[name];
  if (given === undefined || (typeof given === 'number' && given > 0 && given <= most)) return null;
  return `properties.${name} is not a number above 0 and at most ${most}`;
}

/** The names of an object's members, at every depth. */
function keysOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [key, ...keysOf(inner)]);
}

/** Reads a definition as a site stores it. */
export function parseEventDefinition(text: string): DefinitionResult {
  try {
    return readEventDefinition(JSON.parse(text));
  } catch (error) {
    if (error instanceof SyntaxError) return refuse('is not JSON');
    throw error;
  }
}

/** A site's definitions, without those that cannot be read. */
export const definitionsOf = ({ event_definitions }: Pick<Site, 'event_definitions'>): EventDefinition[] =>
  event_definitions.map(parseEventDefinition).flatMap((read) => (read.ok ? [read.definition] : []));

function firstError(definition: unknown): string {
  const [error] = validator.Errors(definition);
  if (error === undefined) return 'is malformed';
  if (error.keyword === 'required') return `lacks ${error.params.requiredProperties.join(', ')}`;
  if (error.keyword === 'additionalProperties') return `has unknown ${error.params.additionalProperties.join(', ')}`;
  return `${error.instancePath.slice(1).replaceAll('/', '.')} ${error.message}`;
}

function refuse(message: string): DefinitionResult {
  return { ok: false, message };
}
