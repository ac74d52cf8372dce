import { pageUrl } from '#pipelines/delivery/properties.ts';
import { ACTION_SOURCES, type ActionSource, type Caller } from '#schemas/event.ts';

type Properties = Readonly<Record<string, unknown>>;

const KNOWN: ReadonlySet<unknown> = new Set(ACTION_SOURCES);

/** What an event says of where it happened, or what follows from who sent it. */
export interface StatedSource {
  actionSource: ActionSource;
  /** Whether the event says it itself. */
  isStated: boolean;
}

/**
 * The event's action source; null when it is none of the six. Where none was sent it is `website`, but for an event that a
 * server's library made by itself: of no page and no shopper's device there is nothing that happened on a website.
 */
export function readActionSource(properties: Properties, caller: Caller): StatedSource | null {
  const sent = own(properties, '$action_source');
  if (sent === undefined || sent === null) return { actionSource: unstatedSource(properties, caller), isStated: false };
  return isActionSource(sent) ? { actionSource: sent, isStated: true } : null;
}

function unstatedSource(properties: Properties, caller: Caller): ActionSource {
  const isOfServer = caller === 'server' && saysServer(properties) && !hasAddress(properties);
  return isOfServer ? 'system_generated' : 'website';
}

/** Where destinations find the address of a page, there is one. */
function hasAddress(properties: Properties): boolean {
  return ADDRESSES.some((name) => isGiven(properties, name)) || pageUrl(properties) !== null;
}

/** Properties that name a page or the device of a shopper, in the words of Segment's, PostHog's and our own senders. */
const ADDRESSES = [
  'url',
  'page_url',
  'page_location',
  '$current_url',
  'client_ip_address',
  'client_user_agent',
  '$ip',
  'ip',
  '$raw_user_agent',
  '$user_agent',
];

/** Names of Segment's, RudderStack's and PostHog's libraries for servers. */
const SERVER_LIBRARY = new RegExp(
  [
    '^(?:@segment/)?analytics-(?:node|python|ruby|go|java|php|net|csharp|\\.net|rust|clojure)\\b',
    '^@?rudder(?:stack)?[-/.].*\\b(?:node|python|ruby|go|java|php|net|rust)\\b',
    '^rudder-analytics-(?:node|python|ruby|go|java|php)\\b',
    '^posthog-(?:node|python|ruby|go|java|php|dotnet|elixir|rs|rust|server)\\b',
  ].join('|'),
  'i',
);

function saysServer(properties: Properties): boolean {
  if (own(properties, '$is_server') === true) return true;
  const library = own(properties, '$lib');
  return typeof library === 'string' && library.length <= 100 && SERVER_LIBRARY.test(library);
}

function isGiven(properties: Properties, name: string): boolean {
  const value = own(properties, name);
  return value !== undefined && value !== null && value !== '';
}

function own(properties: Properties, name: string): unknown {
  return Object.hasOwn(properties, name) ? properties[name] : undefined;
}

function isActionSource(value: unknown): value is ActionSource {
  return KNOWN.has(value);
}
