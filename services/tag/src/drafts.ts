import { attempt } from './guarded.ts';
import { OBJECTS_MAX } from './limits.ts';
import { momentNow } from './page_views.ts';
import type { EventDefinition, Properties } from './types.ts';
import { uuid7 } from './uuid7.ts';

/** An event as it happened, before it is known whether and as what it may be sent. */
export interface Draft {
  key_: string;
  /** Undefined: what comes after it is another visitor's. It keeps its place among what waits, and is not sent. */
  event: string | undefined;
  uuid: string;
  atMs_: number;
  properties: Properties;
  as_: string | number | undefined;
  definition_: EventDefinition | undefined;
  /** As it went out, once it did. */
  sent_?: { properties: Properties };
}

let keyMs = 0;
let referrer = '';
let href = '';

/**
 * The page shows what it did not show before, for which what it showed up to now is the page before. One that the browser had
 * kept has been left for another, of which it knows nothing.
 */
export const turnPage = (): void => {
  const [, next] = momentNow();
  if (next !== href) referrer = href || document.referrer;
  href = next;
};

/**
 * A copy as JSON has it. Of what it cannot take BigInts are their texts, an object that stands in itself is left out where it
 * stands again, and a value that cannot be read is left out: the event goes without.
 */
const plain = (given: Properties | undefined): Properties => {
  const copy: Properties = {};
  for (const name of Object.keys(given ?? {}))
    attempt(() => {
      const value = (given as Properties)[name];
      const seen = new Set();
      const once = (_: string, part: unknown): unknown => {
        // It refers to a whole application.
        if (seen.size > OBJECTS_MAX) throw part;
        if (part !== Object(part) || seen.size < seen.add(part).size)
          return typeof part === 'bigint' ? `${part}` : part;
        return undefined;
      };
      copy[name] = JSON.parse(attempt(() => JSON.stringify(value)) ?? JSON.stringify(value, once));
    });
  return copy;
};

/**
 * @param statedUuid the page's own id for the event.
 * @param as another id of the visitor that the event is told under.
 */
export const draftOf = (
  event?: string,
  given?: Properties,
  statedUuid?: string,
  as_?: string | number,
  definition_?: EventDefinition,
): Draft => {
  const [atMs_, $current_url, $title] = momentNow();
  // Also of one millisecond, later events have later keys.
  keyMs = Math.max(atMs_, keyMs + 1);
  const key_ = uuid7(keyMs);
  const properties = {
    ...plain(given),
    $current_url,
    $referrer: referrer || undefined,
    $title,
  };
  return { key_, event, uuid: statedUuid ? `${statedUuid}` : key_, atMs_, properties, as_, definition_ };
};
