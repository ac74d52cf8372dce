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

/** The page shows what it did not show before, for which what it showed up to now is the page before. */
export function turnPage(): void {
  referrer = href || document.referrer;
  href = location.href;
}

/**
 * @param statedUuid the page's own id for the event.
 * @param as another id of the visitor that the event is told under.
 */
export function draftOf(
  event?: string,
  given?: Properties,
  statedUuid?: string,
  as_?: string | number,
  definition_?: EventDefinition,
): Draft {
  const atMs_ = Date.now();
  // Also of one millisecond, later events have later keys.
  keyMs = Math.max(atMs_, keyMs + 1);
  const key_ = uuid7(keyMs);
  const properties = {
    ...given,
    $current_url: location.href,
    $referrer: referrer || undefined,
    $title: document.title,
  };
  return { key_, event, uuid: `${statedUuid || key_}`, atMs_, properties, as_, definition_ };
}
