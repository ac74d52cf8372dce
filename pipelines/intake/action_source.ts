import { ACTION_SOURCES, type ActionSource } from '#schemas/event.ts';

const KNOWN: ReadonlySet<unknown> = new Set(ACTION_SOURCES);

/** The event's action source, `website` when none was sent; null when it is none of the six. */
export function readActionSource(properties: Readonly<Record<string, unknown>>): ActionSource | null {
  if (!Object.hasOwn(properties, '$action_source')) return 'website';
  const { $action_source: sent } = properties;
  if (sent === undefined || sent === null) return 'website';
  return isActionSource(sent) ? sent : null;
}

function isActionSource(value: unknown): value is ActionSource {
  return KNOWN.has(value);
}
